"""A chart's templates are code of others: whatever they do, rendering ends within bounds, at their charge."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controller.adapters.helm import process_bounds, workers
from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.conversation import processor_seconds
from controller.adapters.helm.process_bounds import MIB, HelmLimits
from controller.adapters.helm.program import find_program
from controller.errors import ChartInvalid
from controller.ports.helm import HelmRequest
from tests.fakes.kube import FakeKube

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="bounds are Linux's"),
]

ROOT = Path(__file__).parents[3]
NEVER_ENDS = "{{ range until 100000 }}{{ range until 1000000 }}{{ end }}{{ end }}\n"
TAKES_MEMORY = "{{ range $i := until 400000000 }}{{ end }}\n"
ONE_VALUE = 'kind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ repeat 1200000000 "a" | sha256sum }}}\n'
GIVES_MUCH = 'kind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ repeat 20000000 "a" }}}\n'
PANICS = 'kind: ConfigMap\nmetadata: {name: {{ repeat 9223372036854775807 "ab" }}}\n'
CALLS_ITSELF = '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}\n'
BLANKS = 'kind: ConfigMap\nmetadata: {name: a}\n{{ repeat 4000000 " \\n" }}\ndata: {a: b}\n'
GOOD = "kind: ConfigMap\nmetadata: {name: good}\n"


def chart(directory: Path, template: str) -> str:
    (directory / "templates").mkdir(parents=True, exist_ok=True)
    (directory / "Chart.yaml").write_text("apiVersion: v2\nname: bomb\nversion: 1.0.0\n", encoding="utf-8")
    (directory / "templates" / "a.yaml").write_text(template, encoding="utf-8")
    return str(directory)


def request(path: str, release: str = "bomb") -> HelmRequest:
    return HelmRequest(release, "openstack", path, {})


def helm(**limits: int) -> HelmProgram:
    return HelmProgram(FakeKube(), find_program(), limits=HelmLimits(**limits))


def at_work() -> list[int]:
    """Processes of Helm that this one has started and that still run."""
    found = []
    for pid in _children("self"):
        # A process may end between two looks.
        with suppress(FileNotFoundError, ProcessLookupError):
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            if state != "Z" and b"\0work\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def _children(pid: int | str) -> list[int]:
    """The processes that all threads of a process have started; a thread may end between two looks."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_bounds, "RENDER_PROCESSOR_SECONDS", 1.0)


@pytest.fixture
def none_left() -> Iterator[None]:
    before = set(at_work())
    yield
    assert set(at_work()) <= before


@pytest.mark.usefixtures("none_left")
@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (TAKES_MEMORY, "rendering needed more than 512 MiB of memory"),
        pytest.param(ONE_VALUE, "rendering needed more than 512 MiB of memory", marks=pytest.mark.exhaustive),
        (GIVES_MUCH, "rendering gave more than 12 MiB"),
    ],
    ids=["memory", "one value", "output"],
)
def test_what_passes_a_bound_is_ended_with_the_reason(tmp_path: Path, template: str, reason: str) -> None:
    _ends_with(tmp_path, template, reason)


@pytest.mark.usefixtures("short", "none_left")
def test_a_template_that_never_ends_is_ended_with_the_reason(tmp_path: Path) -> None:
    _ends_with(tmp_path, NEVER_ENDS, "rendering took more than 1 s of processor time")


def _ends_with(tmp_path: Path, template: str, reason: str) -> None:
    with pytest.raises(ChartInvalid, match=reason) as caught:
        helm().render(request(chart(tmp_path, template)))

    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("template", [PANICS, CALLS_ITSELF], ids=["panic", "recursion"])
def test_what_helm_itself_ends_is_the_charts_fault(tmp_path: Path, template: str) -> None:
    with pytest.raises(ChartInvalid):
        helm().render(request(chart(tmp_path, template)))


def test_a_long_run_of_blanks_is_read_in_linear_time(tmp_path: Path) -> None:
    began = time.process_time()
    [one] = helm().render(request(chart(tmp_path, BLANKS))).manifest

    assert one["data"] == {"a": "b"}
    assert time.process_time() - began < 10


@pytest.mark.usefixtures("short")
def test_others_are_rendered_beside_a_template_that_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_bounds, "RENDER_PROCESSOR_SECONDS", 1.0)
    one = helm()
    endless = request(chart(tmp_path / "endless", NEVER_ENDS))
    refused: list[BaseException] = []

    def render() -> None:
        try:
            one.render(endless)
        except ChartInvalid as error:
            refused.append(error)

    beside = threading.Thread(target=render)
    beside.start()
    good = chart(tmp_path / "good", GOOD)
    for number in range(3):
        assert one.render(request(good, f"good{number}")).manifest
    assert not refused
    beside.join(120)
    assert refused


@pytest.mark.usefixtures("short")
def test_what_was_refused_is_not_tried_again_until_the_chart_changes(tmp_path: Path) -> None:
    one = helm()
    path = chart(tmp_path, NEVER_ENDS)
    with pytest.raises(ChartInvalid):
        one.render(request(path))

    before = set(at_work())
    began = time.process_time()
    for _ in range(20):
        with pytest.raises(ChartInvalid, match="took more than"):
            one.render(request(path))
    assert set(at_work()) == before
    assert time.process_time() - began < 1

    chart(tmp_path, GOOD)
    assert one.render(request(path)).manifest


def test_all_together_hold_no_more_than_the_container_has(tmp_path: Path) -> None:
    grows = '{{ $x := list }}{{ range until 100000 }}{{ $x = append $x (repeat 100000 "a") }}{{ end }}\n'
    with pytest.raises(ChartInvalid, match="which together may use 128 MiB"):
        helm(together=128 * MIB).render(request(chart(tmp_path, grows)))


def test_a_worker_serves_many_requests(tmp_path: Path) -> None:
    one = helm()
    path = chart(tmp_path, GOOD)
    one.render(request(path, "first"))
    workers_of_before = set(at_work())
    for number in range(10):
        one.render(request(path, f"one{number}"))

    assert set(at_work()) == workers_of_before


def test_a_worker_that_was_killed_between_requests_is_replaced(tmp_path: Path) -> None:
    one = helm()
    path = chart(tmp_path, GOOD)
    before = set(at_work())
    one.render(request(path, "first"))
    for pid in set(at_work()) - before:
        os.kill(pid, signal.SIGKILL)

    assert one.render(request(path, "second")).manifest


def test_idle_workers_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.1)
    before = set(at_work())
    helm().render(request(chart(tmp_path, GOOD)))

    until = time.monotonic() + 60
    ended = threading.Event()
    while set(at_work()) - before and time.monotonic() < until:
        ended.wait(0.05)
    assert set(at_work()) <= before


PROGRAM = """
import sys
from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.program import find_program
from controller.ports.helm import HelmRequest
from tests.fakes.kube import FakeKube
HelmProgram(FakeKube(), find_program()).render(HelmRequest("bomb", "openstack", sys.argv[1], {}))
"""


def test_a_render_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    path = chart(tmp_path, NEVER_ENDS)
    asking = subprocess.Popen([sys.executable, "-c", PROGRAM, path], cwd=ROOT)
    try:
        worker = _child_at_work(asking.pid)
    finally:
        asking.kill()
        asking.wait()
    descriptor = os.pidfd_open(worker)
    try:
        signal.pidfd_send_signal(descriptor, 0)
    except ProcessLookupError:
        pass
    else:
        assert _ended(descriptor)
    finally:
        os.close(descriptor)


def _child_at_work(pid: int) -> int:
    """The worker of a process, once it renders."""
    until = time.monotonic() + 120
    pause = threading.Event()
    while time.monotonic() < until:
        for child in _children(pid):
            with suppress(FileNotFoundError, ProcessLookupError):
                if processor_seconds(child) > 0.3:
                    return child
        pause.wait(0.05)
    pytest.fail("no worker renders")


def _ended(descriptor: int) -> bool:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(30_000))
