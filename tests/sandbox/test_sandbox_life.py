"""Sandboxes are started, repaired and taken down, side by side, whatever was left behind."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox, SandboxError, cluster, processes
from sandbox.ports import find_free_ports
from sandbox.take_down import take_down
from tests.cluster.region import wait_until
from tests.sweeps import swept

pytestmark = pytest.mark.cluster


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for a sandbox named `life`, which is gone after the test."""
    directory = tmp_path / "life"
    yield directory
    if directory.exists():
        take_down("life", directory)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox for the tests that repair what they break."""
    directory = tmp_path_factory.mktemp("life") / "mended"
    yield Sandbox.up("mended", directory, private=True, timeout=300)
    take_down("mended", directory)


def up(place: Path, **options: str) -> Sandbox:
    return Sandbox.up("life", place, private=True, timeout=300, **options)  # type: ignore[arg-type]


def pids(box: Sandbox) -> dict[str, int]:
    return {one.name: one.pid for one in box.status()}


def node_names(box: Sandbox) -> list[str]:
    return box.kubectl("get", "nodes", "--output=name").split()


def all_healthy(box: Sandbox) -> bool:
    """Each says so, in the end: a busy machine may make one answer late."""
    return bool(wait_until("all healthy", lambda: all(one.healthy for one in box.status()), 120))


def test_one_comes_up_healthy_and_goes_without_a_trace(place: Path) -> None:
    box = up(place, profile="small")
    assert all_healthy(box)
    assert [one.name for one in box.status()] == [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kwok",
    ]
    assert len(node_names(box)) == 6
    began = list(pids(box).values())
    box.down()
    assert list(place.parent.iterdir()) == []
    assert [pid for pid in began if processes.observe_process(pid)] == []
    box.down()


def test_two_run_side_by_side(sandbox: Sandbox, box: Sandbox) -> None:
    box.kubectl("create", "namespace", "only-here")
    assert "only-here" not in sandbox.kubectl("get", "namespaces")
    assert not set(pids(box).values()) & set(pids(sandbox).values())


def test_up_gives_a_running_one_untouched(box: Sandbox) -> None:
    before = pids(box)
    again = Sandbox.up(box.name, box.layout.directory, private=True)
    assert pids(again) == before


def test_another_profile_is_refused_while_it_runs(box: Sandbox) -> None:
    with pytest.raises(SandboxError, match="to change it, take it down first"):
        Sandbox.up(box.name, box.layout.directory, profile="small")


@pytest.mark.parametrize(
    "victims",
    swept([["etcd"], ["apiserver", "kwok"], ["controller-manager", "scheduler"]], daily=[["etcd"]]),
)
def test_up_repairs_what_was_killed(box: Sandbox, victims: list[str]) -> None:
    box.kubectl("create", "namespace", f"kept-{victims[0]}")
    before = pids(box)
    for victim in victims:
        box.kill_component(victim)
    again = Sandbox.up(box.name, box.layout.directory, private=True)
    assert all_healthy(again)
    assert {name for name, pid in pids(again).items() if pid != before[name]} == {
        box._component(victim).name for victim in victims
    }
    assert f"kept-{victims[0]}" in again.kubectl("get", "namespaces")


def test_a_component_is_stopped_and_started_again(box: Sandbox) -> None:
    box.stop_component("apiserver")
    with pytest.raises(SandboxError, match="refused"):
        box.kubectl("get", "namespaces")
    box.start_component("apiserver")
    box.kubectl("get", "namespaces")


def test_a_component_that_cannot_start_is_reported_with_the_end_of_its_log(box: Sandbox) -> None:
    box.stop_component("scheduler")
    box.layout.client_kubeconfig("kube-scheduler").write_text("nonsense")
    with pytest.raises(
        SandboxError, match=r"kube-scheduler ended at start; the end of .*\n(.*\n)*.*couldn't get version"
    ):
        box.start_component("scheduler")


@pytest.mark.exhaustive
def test_a_start_that_was_killed_is_carried_on(place: Path) -> None:
    code = (
        f"from sandbox.cluster import Sandbox; Sandbox.up('life', __import__('pathlib').Path({str(place)!r}))"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    wait_until("the API server is started", (place / "pids" / "kube-apiserver.json").exists, 300)
    child.kill()
    child.wait()
    box = up(place)
    assert all_healthy(box)
    assert node_names(box) == ["node/node1"]


@pytest.mark.exhaustive
def test_stale_pid_files_end_no_process(place: Path) -> None:
    box = up(place)
    stranger = processes.observe_process(os.getpid())
    assert stranger is not None
    for name in box.component_names:
        box.kill_component(name)
    for name in box.component_names:
        stale = processes.ProcessIdentity(stranger.pid, stranger.started - 1, stranger.boot)
        processes.write_pid_file(box.layout.pid_file(name), stale)
    again = up(place)
    assert all_healthy(again)
    again.down()
    assert list(place.parent.iterdir()) == []


@pytest.mark.exhaustive
def test_a_taken_port_is_skipped_and_lost_pid_files_do_not_prevent_a_start(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = find_free_ports()
    answers = iter([chosen])
    monkeypatch.setattr(cluster, "find_free_ports", lambda: next(answers, None) or find_free_ports())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", chosen.apiserver))
        taken.listen(1)
        box = up(place)
        assert box.state.ports.apiserver != chosen.apiserver
        assert all_healthy(box)
    assert_ended_without_pid_files(box)


def assert_ended_without_pid_files(box: Sandbox) -> None:
    """Processes whose pid files are lost are still ended."""
    began = list(pids(box).values())
    shutil.rmtree(box.layout.directory / "pids")
    box.down()
    assert [pid for pid in began if processes.observe_process(pid)] == []


@pytest.mark.exhaustive
def test_a_port_taken_between_test_and_use_is_passed_over(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = find_free_ports()
    answers = iter([chosen])
    monkeypatch.setattr(cluster, "find_free_ports", lambda: next(answers, None) or find_free_ports())
    monkeypatch.setattr(cluster, "is_free", lambda _: True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", chosen.scheduler))
        taken.listen(1)
        box = up(place)
        assert box.state.ports.scheduler != chosen.scheduler
        assert all_healthy(box)
