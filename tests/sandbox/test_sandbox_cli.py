"""What a person sees of the command: results on stdout, one line for a mistake, an exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.build import BuildProgress
from sandbox.cli import describe, main
from sandbox.patience import patient
from sandbox.ports import Ports
from sandbox.state import State, write_state


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Places of its own for state and cache."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@dataclass(frozen=True)
class Answer:
    """What the command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, run in this process."""

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["sandbox", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Answer(int(ended.value.code or 0), printed.out, printed.err)

    return call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("up", "--profile", "huge"), 'error: no node profile "huge": use none, single, small or large:N'),
        (("up", "--name", "../x"), 'error: "../x" cannot name a sandbox'),
        (("kubeconfig",), 'error: there is no sandbox "default"; start it with: python -m sandbox up'),
        (("logs", "kube-dns"), 'error: no component "kube-dns": one of etcd, apiserver'),
        (("logs", "etcd"), 'error: sandbox "default" has no log of etcd; is it up?'),
    ],
)
def test_a_mistake_is_one_message_without_a_traceback(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    answer = run(*arguments)
    assert answer.returncode == 1
    assert answer.stderr.startswith(message)
    assert "Traceback" not in answer.stderr


def test_down_without_a_sandbox_succeeds_and_leaves_nothing(run: Run, home: Path) -> None:
    answer = run("down")
    assert (answer.returncode, answer.stdout) == (0, 'there is no sandbox "default"\n')
    assert list(home.iterdir()) == []


def test_status_without_a_sandbox_says_so(run: Run) -> None:
    answer = run("status")
    assert (answer.returncode, answer.stdout) == (0, "no sandbox, and the binaries are not built yet\n")
    assert json.loads(run("status", "--json").stdout) == []


def test_status_of_a_named_sandbox_that_is_not_there_fails(run: Run) -> None:
    assert run("status", "--name", "one").returncode == 1


def test_a_state_file_of_someone_else_is_named(run: Run, home: Path) -> None:
    place = home / "box"
    place.mkdir()
    (place / "sandbox.json").write_text("{}")
    answer = run("up", "--dir", str(place))
    assert answer.returncode == 1
    assert "is not the state of a sandbox" in answer.stderr


def test_logs_shows_the_end_of_a_component_log(run: Run, home: Path) -> None:
    place = home / "box"
    write_state(place / "sandbox.json", State("default", "single", Ports(1, 2, 3, 4, 5, 6)))
    (place / "logs").mkdir()
    (place / "logs" / "kube-apiserver.log").write_text("one\ntwo\nthree\n")
    assert run("logs", "apiserver", "--dir", str(place), "--lines", "2").stdout == "two\nthree\n"


def test_a_build_is_described_in_one_line() -> None:
    assert describe(BuildProgress("fetching modules", 3, 0, 2.2)) == "fetching modules, 3, 2 s"
    assert describe(BuildProgress("compiling", 5, 10, 61)) == "compiling, 5 packages (of 10 at most), 61 s"


@pytest.mark.slow
def test_the_command_runs_as_a_module() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "sandbox", "status"],
        capture_output=True,
        text=True,
        timeout=patient(300),
        check=True,
    )
    assert answer.stdout.startswith("no sandbox")


def test_a_command_that_is_terminated_stops_what_it_has_started() -> None:
    program = """
import time
from sandbox import cli

def started():
    try:
        print("started", flush=True)
        time.sleep(60)
    finally:
        print("stopped", flush=True)

cli.app = started
cli.main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"started\n"
        run.terminate()
        assert run.stdout.read() == b"stopped\n"
