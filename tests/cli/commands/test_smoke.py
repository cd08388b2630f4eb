"""osctl smoke: a region is used as by a user of it; nothing is left, whatever happens."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import controller.cli.commands.smoke as commands
from controller.cli import smoke_steps
from controller.cli.cluster import Cluster
from controller.domain.region.smoke import project_tags
from sandbox.patience import patient
from tests.cli.objects import EXAMPLE, ROOT, osctl, region
from tests.fakes.kube import FakeKube
from tests.fakes.smoke_server import SmokeServer, served_smoke
from tests.sweeps import swept

pytestmark = pytest.mark.slow

STEPS = ["token", "leftovers", "project", "image", "network", "port", "volume", "flavor", "server"]
ALL = [*STEPS, "attachment", "removal"]
PASSWORD = "of-the-administrator"


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmokeServer]:
    monkeypatch.setattr(smoke_steps, "POLL_SECONDS", 0.01)
    with served_smoke() as server:
        yield server


@pytest.fixture
def clouds(cloud: SmokeServer, tmp_path: Path) -> str:
    file = tmp_path / "clouds.yaml"
    file.write_bytes(cloud.clouds())
    return str(file)


def outcomes(text: str) -> dict[str, str]:
    return {one["step"]: one["outcome"] for one in json.loads(text)["steps"]}


def test_each_step_is_reported_with_its_time_and_nothing_is_left(cloud: SmokeServer, clouds: str) -> None:
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 0, found.output
    lines = [line.split() for line in found.stdout.splitlines()]
    assert [line[:2] for line in lines[:-1]] == [["passed", step] for step in ALL]
    assert all(line[3] == "s" and float(line[2]) >= 0 for line in lines[:-1])
    assert "the region serves: 11 steps" in found.stdout
    assert cloud.left() == {}


def test_a_region_is_used_by_an_ordinary_member_of_a_project_of_its_own(
    cloud: SmokeServer, clouds: str
) -> None:
    assert osctl("smoke", "--clouds", clouds).exit_code == 0
    [(project, user)] = cloud.members
    assert project.startswith("project-") and user == "admin"


def test_the_region_is_named_or_taken_from_its_file(
    cloud: SmokeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube = FakeKube()
    kube.create(region())
    data = {"clouds.yaml": base64.b64encode(cloud.clouds()).decode()}
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data}
    kube.create({**secret, "metadata": {"name": "openstack-clouds", "namespace": "openstack"}})
    monkeypatch.setattr(commands, "open_cluster", lambda *given: Cluster(kube, given[-1]))
    for arguments in (["region-one"], ["-f", str(EXAMPLE)], []):
        found = osctl("smoke", *arguments)
        assert found.exit_code == 0, found.output
        assert "region-one: the region serves" in found.stdout
    assert osctl("smoke", "region-one", "-f", str(EXAMPLE)).exit_code == 2


def test_a_region_without_credentials_yet_is_refused_with_that_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    kube = FakeKube()
    kube.create(region())
    monkeypatch.setattr(commands, "open_cluster", lambda *given: Cluster(kube, given[-1]))
    found = osctl("smoke")
    assert found.exit_code == 9
    assert 'there is no Secret "openstack-clouds" with a clouds.yaml yet' in found.stderr


def test_without_block_storage_there_is_no_volume(cloud: SmokeServer, clouds: str) -> None:
    cloud.without = {"block-storage"}
    found = osctl("smoke", "--clouds", clouds, "-o", "json")
    assert found.exit_code == 0
    assert list(outcomes(found.stdout)) == [one for one in ALL if one not in ("volume", "attachment")]


def test_without_compute_in_the_catalogue_nothing_is_made(cloud: SmokeServer, clouds: str) -> None:
    cloud.without = {"compute"}
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9
    assert "the catalogue has no compute" in found.stdout
    assert cloud.members == [] and cloud.left() == {}


def test_a_server_that_fails_is_reported_in_novas_words_and_removed(cloud: SmokeServer, clouds: str) -> None:
    cloud.server_ends = {"status": "ERROR", "fault": "No valid host was found."}
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9
    assert "the server is ERROR: No valid host was found." in found.stdout
    assert "failed: server, attachment" in found.stdout
    assert cloud.left() == {}


def test_what_needs_a_step_that_failed_is_not_tried_and_the_rest_is(cloud: SmokeServer, clouds: str) -> None:
    quota = {"NeutronError": {"type": "OverQuota", "message": "Quota exceeded", "detail": ""}}
    cloud.fail = lambda method, path: (
        (409, quota) if (method, path) == ("POST", "/network/v2.0/networks") else None
    )
    found = osctl("smoke", "--clouds", clouds, "-o", "json")
    assert found.exit_code == 9
    seen = outcomes(found.stdout)
    assert [step for step, outcome in seen.items() if outcome == "failed"] == ["network"]
    assert [step for step, outcome in seen.items() if outcome == "not tried"] == [
        *("port", "server", "attachment")
    ]
    details = {one["step"]: one["detail"] for one in json.loads(found.stdout)["steps"]}
    assert "409 Quota exceeded" in details["network"] and details["port"] == "the step needs network"
    assert cloud.left() == {}


def test_content_that_is_not_what_was_uploaded_is_a_failure(cloud: SmokeServer, clouds: str) -> None:
    cloud.fail = lambda method, path: (
        (200, b"something else") if method == "GET" and path.endswith("/file") else None
    )
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9 and "the download differs from the upload" in found.stdout


@pytest.mark.slow
def test_a_server_that_never_starts_ends_with_the_time(cloud: SmokeServer, clouds: str) -> None:
    cloud.server_ends = {"status": "", "fault": ""}
    found = osctl("smoke", "--clouds", clouds, "--timeout", "3s")
    assert found.exit_code == 9
    assert "the server is BUILD, not ACTIVE, when the time was over" in found.stdout
    assert "not tried" in found.stdout  # the attachment
    assert cloud.left() == {}


@pytest.mark.slow
def test_what_cannot_be_removed_is_a_failure_and_named(
    cloud: SmokeServer, clouds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoke_steps, "REMOVE_SECONDS", 0.5)
    cloud.stuck = True
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9
    assert "could not be removed, flavor, image, network, port, server, volume remain" in found.stdout
    # A project without which no one would find them.
    assert cloud.left()["projects"]


def test_a_project_whose_answer_was_lost_is_removed_anyway(cloud: SmokeServer, clouds: str) -> None:
    cloud.lose = ("POST", "/identity/v3/projects")
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9 and "identity POST /projects: 504" in found.stdout
    assert cloud.left() == {}


def test_what_a_run_left_whose_time_is_over_goes_with_the_next(cloud: SmokeServer, clouds: str) -> None:
    leave(cloud, "osctl-smoke-killed", time.time() - 1)
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 0, found.output
    assert "1 removed" in found.stdout and cloud.left() == {}


@pytest.mark.slow
def test_a_run_whose_time_is_not_over_is_let_be_unless_it_is_swept(cloud: SmokeServer, clouds: str) -> None:
    leave(cloud, "osctl-smoke-beside", time.time() + 100)
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 0 and "--sweep removes its objects" in found.stdout
    assert len(cloud.left()["projects"]) == 1
    assert osctl("smoke", "--clouds", clouds, "--sweep").exit_code == 0
    assert cloud.left() == {}


@pytest.mark.parametrize(
    ("name", "tags"),
    [("osctl-smoke-of-a-person", ()), ("production", project_tags(1.0)), ("osctl-smoke-x", ("osctl",))],
)
def test_a_project_of_others_is_never_touched(
    cloud: SmokeServer, clouds: str, name: str, tags: tuple[str, ...]
) -> None:
    cloud._make("projects", "project", {"name": name, "tags": list(tags)})
    cloud._make("servers", "server", {"name": name}, "project-1")
    assert osctl("smoke", "--clouds", clouds, "--sweep").exit_code == 0
    assert cloud.left() == {"projects": ["project-1"], "servers": ["server-2"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "listed", swept(["servers", "volumes", "ports", "networks", "images"], daily=["servers"])
)
def test_nothing_is_removed_where_a_service_lists_what_is_of_another_project(
    cloud: SmokeServer, clouds: str, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    """As one that ignores what it was asked for, or that a proxy takes the query from."""
    monkeypatch.setattr(smoke_steps, "REMOVE_SECONDS", 0.3)
    leave(cloud, "osctl-smoke-killed", time.time() - 1)
    _, made = cloud._make(listed, listed.removesuffix("s"), {"name": "somebodys"}, "of-somebody")
    cloud.deaf = {listed}
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9
    assert "the answer is not about one project alone" in found.stdout
    assert cloud.there[listed][next(iter(made.values()))["id"]]["name"] == "somebodys"


def test_no_secret_is_shown_where_the_login_is_refused(cloud: SmokeServer, clouds: str) -> None:
    refusal = {"error": {"code": 401, "message": f"not {PASSWORD}"}}
    cloud.fail = lambda method, path: (401, refusal) if path.endswith("/auth/tokens") else None
    found = osctl("smoke", "--clouds", clouds)
    assert found.exit_code == 9 and "the credentials are not accepted" in found.stdout
    assert PASSWORD not in found.output


def test_a_door_before_keystone_is_reported_as_such_and_not_waited_for(
    cloud: SmokeServer, clouds: str
) -> None:
    cloud.fail = lambda *_: (401, {})
    found = osctl("smoke", "--clouds", clouds)
    assert (
        found.exit_code == 9 and "401 at auth_url, and the answer does not come from Keystone" in found.stdout
    )


def test_an_address_of_the_cluster_is_reported_as_such(tmp_path: Path) -> None:
    file = tmp_path / "clouds.yaml"
    with served_smoke() as server:
        text = server.clouds().decode().replace(server.url, "http://keystone-api.openstack.svc.invalid:5000")
    file.write_text(text)
    found = osctl("smoke", "--clouds", str(file))
    assert found.exit_code == 9
    assert 'cannot resolve "keystone-api.openstack.svc.invalid"' in found.stderr
    assert "exec deploy/openstack-controller -c node -- osctl smoke" in found.stderr


class Running:
    """osctl as a process of its own, whose server stays in BUILD."""

    def __init__(self, cloud: SmokeServer, clouds: str) -> None:
        cloud.server_ends = {"status": "", "fault": ""}
        command = [sys.executable, "-P", "-m", "controller.cli.main", "smoke", "--clouds", clouds]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            # A shell's background jobs ignore it, and what they start as well: a terminal's do not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        deadline = time.monotonic() + 60
        while not cloud.there["servers"]:
            assert time.monotonic() < deadline and self.process.poll() is None, self.process.communicate()
            time.sleep(0.02)

    def end(self, how: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=patient(60))
        return self.process.returncode, errors


@pytest.mark.slow
@pytest.mark.parametrize("how", swept([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], daily=[signal.SIGINT]))
def test_a_run_that_is_interrupted_removes_what_it_made(
    cloud: SmokeServer, clouds: str, how: signal.Signals
) -> None:
    code, errors = Running(cloud, clouds).end(how)
    assert (code, errors.strip()) == (130, "interrupted; everything is removed")
    assert cloud.left() == {}


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed_by_a_later_one(cloud: SmokeServer, clouds: str) -> None:
    Running(cloud, clouds).end(signal.SIGKILL)
    assert {"projects", "servers", "ports", "networks", "images", "flavors"} <= set(cloud.left())
    cloud.server_ends = {"status": "ACTIVE", "fault": ""}
    # Its time is not over yet: who knows that it is dead need not wait for that.
    found = osctl("smoke", "--clouds", clouds, "--sweep")
    assert found.exit_code == 0, found.output
    assert "1 removed" in found.stdout and cloud.left() == {}


def leave(cloud: SmokeServer, name: str, until: float) -> None:
    """What a run made that was killed before it could remove it."""
    _, made = cloud._make("projects", "project", {"name": name, "tags": list(project_tags(until))})
    project = made["project"]["id"]
    _, network = cloud._make("networks", "network", {"name": name}, project)
    cloud._make("ports", "port", {"name": name, "network_id": network["network"]["id"]}, project)
    cloud._make("servers", "server", {"name": name}, project)
    cloud._make("flavors", "flavor", {"name": name}, "admin")


@pytest.mark.parametrize(
    ("service", "steps"),
    [
        ("identity", ["token", "leftovers", "project", "removal"]),
        ("image", ["token", "leftovers", "project", "image", "removal"]),
        ("placement", ["token", "leftovers", "project", "list", "removal"]),
        ("networking", ALL),
        ("messaging", ALL),
    ],
)
def test_one_service_is_used_by_the_steps_that_show_that_it_serves(
    cloud: SmokeServer, clouds: str, service: str, steps: list[str]
) -> None:
    found = osctl("smoke", "--clouds", clouds, "--service", service, "-o", "json")
    assert found.exit_code == 0, found.output
    assert [one["step"] for one in json.loads(found.stdout)["steps"]] == steps
    assert cloud.left() == {}


@pytest.mark.parametrize(
    ("service", "without", "steps"),
    [
        ("identity", {"compute", "network", "image", "block-storage"}, []),
        ("placement", {"compute", "network"}, ["list"]),
        ("image", {"compute", "network", "block-storage"}, ["image"]),
        ("networking", {"compute", "block-storage"}, ["image", "network", "port"]),
        ("block-storage", {"compute", "network"}, ["image", "volume"]),
        ("messaging", {"compute", "network", "block-storage"}, ["image"]),
    ],
)
def test_a_check_of_one_service_needs_no_service_that_it_does_not_use(
    cloud: SmokeServer, clouds: str, service: str, without: set[str], steps: list[str]
) -> None:
    cloud.without = without
    found = osctl("smoke", "--clouds", clouds, "--service", service, "-o", "json")
    assert found.exit_code == 0, found.output
    made = [one["step"] for one in json.loads(found.stdout)["steps"]]
    assert made == ["token", "leftovers", "project", *steps, "removal"]
    assert cloud.left() == {}


@pytest.mark.parametrize(
    ("service", "lacking"),
    [
        ("compute", "network"),
        ("networking", "network"),
        ("block-storage", "block-storage"),
        ("image", "image"),
    ],
)
def test_a_check_of_one_service_fails_if_the_catalogue_lacks_what_it_uses(
    cloud: SmokeServer, clouds: str, service: str, lacking: str
) -> None:
    cloud.without = {lacking}
    found = osctl("smoke", "--clouds", clouds, "--service", service)
    assert found.exit_code == 9
    assert f"the catalogue has no {lacking}" in found.stdout
    assert cloud.left() == {}


def test_a_list_that_does_not_come_fails_the_check_of_its_service(cloud: SmokeServer, clouds: str) -> None:
    cloud.fail = lambda method, path: (500, {}) if "resource_providers" in path else None
    found = osctl("smoke", "--clouds", clouds, "--service", "placement", "-o", "json")
    assert found.exit_code == 9
    assert outcomes(found.stdout)["list"] == "failed"
    assert osctl("smoke", "--clouds", clouds, "--service", "image").exit_code == 0


def test_a_service_that_there_is_not_is_refused(clouds: str) -> None:
    found = osctl("smoke", "--clouds", clouds, "--service", "glance")
    assert found.exit_code == 2
    assert 'glance is a chart of service "image"' in " ".join(found.stderr.split())


def test_an_authority_is_read_from_its_file_and_is_for_a_file_of_clouds(clouds: str, tmp_path: Path) -> None:
    missing = osctl("smoke", "--clouds", clouds, "--ca", str(tmp_path / "ca.crt"))
    assert (missing.exit_code, "No such file" in missing.stderr) == (2, True)
    alone = osctl("smoke", "--ca", clouds)
    assert (alone.exit_code, "is for --clouds FILE" in alone.stderr) == (2, True)
