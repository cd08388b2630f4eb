"""The demo's controllers are looked after as by a kubelet."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.keep_running import CALM, LIVENESS_FAILURES, LIVENESS_PERIOD, Keeper
from tests.sandbox.test_sandbox_controllers import made, package

__all__ = ["package"]


class Pod:
    """Two containers, on a clock of the test's own."""

    containers = ("core", "node")

    def __init__(self) -> None:
        self.now = 0.0
        self.there = {"core", "node"}
        self.well = {"core", "node"}
        self.started: list[tuple[float, str]] = []
        self.keeper = Keeper(self, monotonic=lambda: self.now, tell=lambda _: None)

    def running(self) -> tuple[str, ...]:
        return tuple(sorted(self.there))

    def healthy(self, name: str) -> bool:
        return name in self.well

    def start(self, *names: str) -> None:
        self.there.update(names)
        self.started += [(self.now, name) for name in names]

    def kill(self, name: str) -> None:
        self.there.discard(name)

    def live(self, seconds: int) -> None:
        for _ in range(seconds):
            self.keeper.look()
            self.now += 1.0


def test_one_that_was_killed_runs_again_at_once_and_the_others_are_let_be() -> None:
    pod = Pod()
    pod.live(5)
    pod.kill("core")
    pod.live(2)
    assert pod.started == [(5.0, "core")]


def test_one_that_keeps_ending_is_given_more_time_each_time() -> None:
    pod = Pod()
    for _ in range(400):
        pod.kill("core")
        pod.live(1)
    times = [when for when, _ in pod.started]
    assert [round(b - a) for a, b in itertools.pairwise(times)][:4] == [11, 21, 41, 81]


def test_after_a_long_life_it_begins_at_once_again() -> None:
    pod = Pod()
    for _ in range(3):
        pod.kill("core")
        pod.live(30)
    pod.live(int(CALM))
    pod.kill("core")
    began = pod.now
    pod.live(2)
    assert pod.started[-1] == (began, "core")


def test_one_that_runs_and_does_not_answer_is_killed_and_started() -> None:
    pod = Pod()
    pod.well.discard("node")
    pod.live(int(LIVENESS_PERIOD) * LIVENESS_FAILURES)
    assert pod.started == []
    pod.live(3)
    assert [name for _, name in pod.started] == ["node"]


@pytest.mark.slow
def test_a_process_that_gets_sigkill_is_another_one_soon(package: Path, tmp_path: Path) -> None:
    controllers = made(package, tmp_path, ("core",))
    with controllers:
        keeper = Keeper(controllers, tell=lambda _: None)
        keeper.look()
        before = controllers.pid("core")
        controllers.kill("core")
        keeper.look()
        assert controllers.pid("core") not in (0, before)


def test_where_it_cannot_be_started_the_next_look_tries_again() -> None:
    pod = Pod()
    pod.live(1)
    pod.kill("core")

    def refuse(*_: str) -> None:
        raise SandboxError("the API server is away")

    pod.start, kept = refuse, pod.start  # type: ignore[method-assign]
    with pytest.raises(SandboxError):
        pod.keeper.look()
    pod.start = kept  # type: ignore[method-assign]
    pod.live(1)
    assert [name for _, name in pod.started] == ["core"]
