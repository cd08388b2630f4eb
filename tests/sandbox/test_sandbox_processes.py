"""Only the sandbox's own processes are ever ended, and none of them stays."""

from __future__ import annotations

import dataclasses
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.patience import patient

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); "
    "time.sleep(600)",
]


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Path]:
    """A sandbox's directory, whose processes are gone after the test."""
    directory = tmp_path / "box"
    directory.mkdir()
    yield directory
    for identity in processes.find_owned(directory):
        processes.kill_process(identity)


def start(owner: Path, argv: list[str] = SLEEPER) -> processes.ProcessIdentity:
    return processes.start_process(argv, log=owner / "log", owner=owner)


def test_a_started_process_runs_until_it_is_stopped(owner: Path) -> None:
    identity = start(owner)
    assert processes.is_running(identity)
    processes.stop_processes([identity])
    assert not processes.is_running(identity)


def test_a_process_deaf_to_sigterm_is_killed_after_the_grace(owner: Path) -> None:
    identity = start(owner, STUBBORN)
    deadline = threading.Event()
    for _ in range(500):
        if "deaf" in (owner / "log").read_text():
            break
        deadline.wait(0.02)
    processes.stop_processes([identity], grace=0.1)
    assert not processes.is_running(identity)


def test_a_reused_pid_is_not_signalled(owner: Path) -> None:
    stranger = start(owner)
    stale = dataclasses.replace(stranger, started=stranger.started - 1)
    processes.kill_process(stale)
    processes.stop_processes([stale])
    assert processes.is_running(stranger)


def test_a_pid_file_of_an_earlier_boot_means_no_process(owner: Path) -> None:
    stranger = start(owner)
    assert not processes.is_running(dataclasses.replace(stranger, boot="another"))


def test_stopping_a_process_that_is_gone_does_nothing(owner: Path) -> None:
    identity = start(owner)
    processes.kill_process(identity)
    processes.kill_process(identity)
    processes.stop_processes([identity])


def test_a_dead_child_that_was_not_reaped_does_not_count_as_running(owner: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.observe_process(child.pid) is None
    child.wait()


@pytest.mark.parametrize("content", ["", "{", "12", '{"pid": 1}', '{"pid": 1, "other": 2}'])
def test_a_broken_pid_file_means_no_process(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pid.json"
    path.write_text(content)
    assert processes.read_pid_file(path) is None


def test_a_pid_file_gives_back_what_was_written(tmp_path: Path) -> None:
    identity = processes.ProcessIdentity(pid=4, started=5, boot="b")
    processes.write_pid_file(tmp_path / "pids" / "x.json", identity)
    assert processes.read_pid_file(tmp_path / "pids" / "x.json") == identity


def test_processes_without_a_pid_file_are_found_by_their_owner(owner: Path, tmp_path: Path) -> None:
    identity = start(owner)
    # The kernel shows a new program's environment a moment after it runs.
    deadline = time.monotonic() + 60
    while not (found := processes.find_owned(owner)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found == [identity]
    assert processes.find_owned(tmp_path / "bo") == []


@pytest.mark.slow
def test_a_private_process_dies_with_the_one_that_started_it(owner: Path) -> None:
    code = (
        "from pathlib import Path; from sandbox import processes; import sys\n"
        f"one = processes.start_process({SLEEPER!r}, log=Path({str(owner)!r}) / 'log', "
        f"owner=Path({str(owner)!r}), die_with_parent=True)\n"
        "print(one.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        descriptor = os.pidfd_open(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait(patient(60))
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    assert ended.poll(60_000), "still runs a minute after its parent was killed"
    os.close(descriptor)


def test_a_program_that_does_not_exist_is_named_in_the_error(owner: Path) -> None:
    with pytest.raises(SandboxError, match="cannot start /nonexistent/etcd"):
        start(owner, ["/nonexistent/etcd"])


def test_a_component_does_not_see_the_secrets_of_the_caller(
    owner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_PASSWORD", "planted-canary")
    identity = start(owner)
    assert b"planted-canary" not in Path(f"/proc/{identity.pid}/environ").read_bytes()
