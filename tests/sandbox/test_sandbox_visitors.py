"""A shared sandbox goes with its last visitor, and only if visitors had started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.paths import Layout
from sandbox.visitors import Visitors


class Box:
    """Stands for the sandbox: it is there while its state file is."""

    def __init__(self, directory: Path) -> None:
        self.layout = Layout(directory)
        self.visitors = Visitors(self.layout)
        self.ended = 0

    def start(self) -> str:
        self.layout.state.parent.mkdir(exist_ok=True)
        self.layout.state.touch()
        return "running"

    def end(self) -> None:
        self.ended += 1
        self.layout.state.unlink()
        self.layout.directory.rmdir()


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """A shared sandbox that does not run yet."""
    return Box(tmp_path / "tests")


@pytest.fixture
def people() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two processes that may visit."""
    started = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) for _ in range(2)]
    yield started
    for one in started:
        one.kill()
        one.wait()


def test_the_last_visitor_ends_what_visitors_started(box: Box, people: list[subprocess.Popen[bytes]]) -> None:
    first, second = people
    assert box.visitors.enter(first.pid, box.start) == "running"
    box.visitors.enter(second.pid, box.start)
    box.visitors.leave(first.pid, box.end)
    assert box.ended == 0
    box.visitors.leave(second.pid, box.end)
    assert box.ended == 1
    assert list(box.layout.directory.parent.iterdir()) == []


def test_a_sandbox_that_was_there_before_stays(box: Box, people: list[subprocess.Popen[bytes]]) -> None:
    box.start()
    box.visitors.enter(people[0].pid, box.start)
    box.visitors.leave(people[0].pid, box.end)
    assert box.ended == 0
    assert not box.visitors.directory.exists()


def test_a_visitor_that_died_does_not_keep_the_sandbox(
    box: Box, people: list[subprocess.Popen[bytes]]
) -> None:
    dead, alive = people
    box.visitors.enter(dead.pid, box.start)
    dead.kill()
    dead.wait()
    box.visitors.enter(alive.pid, box.start)
    box.visitors.leave(alive.pid, box.end)
    assert box.ended == 1


def test_a_sandbox_asked_to_be_kept_is_still_ended_by_the_next_session(
    box: Box, people: list[subprocess.Popen[bytes]]
) -> None:
    box.visitors.enter(people[0].pid, box.start)
    box.visitors.leave(people[0].pid, None)
    assert box.ended == 0
    box.visitors.enter(people[1].pid, box.start)
    box.visitors.leave(people[1].pid, box.end)
    assert box.ended == 1


def test_leaving_without_having_entered_leaves_no_trace(box: Box) -> None:
    box.visitors.leave(1, box.end)
    assert list(box.layout.directory.parent.iterdir()) == []
