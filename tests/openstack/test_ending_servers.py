"""An API server of OpenStack-Helm that is to end: it serves on for seconds, and ends when all is answered."""

from __future__ import annotations

import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.openstack.cloud import Cloud
from sandbox.openstack.series import places_of
from sandbox.ports import find_free_port
from tests.cluster.region import wait_until
from tests.render.region import core_spec, render

pytestmark = [pytest.mark.openstack]

# Less than the alarm's seconds: nodes learn of a pod's end within one or two.
SERVES_ON = 10.0
# A request for `/slow` is answered when the file is there.
PROGRAM = """\
import os, time

def application(environ, start_response):
    while environ["PATH_INFO"] == "/slow" and not os.path.exists("answer"):
        time.sleep(0.1)
    start_response("200 OK", [])
    return [b"answered"]
"""
# What the charts give to uWSGI beside what the region does.
OPTIONS = {
    **dict.fromkeys(("master", "lazy-apps", "enable-threads", "die-on-term", "thunder-lock"), "true"),
    **{"add-header": "Connection: close", "exit-on-reload": "false", "worker-reload-mercy": "80"},
    **{"processes": "2", "module": "program:application"},
}


def hooks() -> dict[str, str]:
    bundles = render(core_spec()).bundles
    (glance,) = (one for each in bundles for one in each.releases if one.spec.name == "glance")
    found = glance.spec.values["conf"]["glance_api_uwsgi"]["uwsgi"]
    return {key: str(value) for key, value in found.items() if key.startswith("hook-")}


@pytest.fixture
def uwsgi(cloud: Cloud, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The running server, and its address."""
    url = f"127.0.0.1:{find_free_port()}"
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    options = {**OPTIONS, **hooks(), "http-socket": url, "chdir": str(tmp_path)}
    lines = (f"{key} = {value}\n" for key, value in options.items())
    (tmp_path / "uwsgi.ini").write_text("[uwsgi]\n" + "".join(lines), encoding="utf-8")
    command = [str(places_of(cloud.series).venv / "bin" / "uwsgi"), "--ini", str(tmp_path / "uwsgi.ini")]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path)
    try:
        wait_until("it serves", lambda: answers(url))
        yield process, url
    finally:
        (tmp_path / "answer").touch()
        process.terminate()
        process.wait(120)


def answers(url: str, path: str = "/") -> bool:
    try:
        with urllib.request.urlopen(f"http://{url}{path}", timeout=120) as answer:
            return bool(answer.read() == b"answered")
    except OSError:
        return False


def test_it_serves_on_and_answers_all_that_it_has_taken(
    uwsgi: tuple[subprocess.Popen[bytes], str], tmp_path: Path
) -> None:
    process, url = uwsgi
    slow: list[bool] = []
    asking = threading.Thread(target=lambda: slow.append(answers(url, "/slow")))
    asking.start()
    began = time.monotonic()
    process.terminate()
    process.terminate()  # as a hook of the chart's and the kubelet do
    while time.monotonic() - began < SERVES_ON:
        assert answers(url)
        time.sleep(0.1)
    wait_until("it begins to end", lambda: "graceful shutdown" in (tmp_path / "log").read_text())
    assert process.poll() is None, "a request is not answered yet"
    (tmp_path / "answer").touch()
    asking.join(60)
    assert slow == [True]
    wait_until("it has ended", lambda: process.poll() is not None)
