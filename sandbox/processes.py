"""Processes that the sandbox started: started, found again by a pid file, and stopped; never any other.

A pid alone proves nothing: the kernel uses it again. A process is known by its pid, its start time and
the boot it belongs to, and it is signalled through a pidfd, which can never mean another process.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.paths import SOURCE

PR_SET_PDEATHSIG = 1
OWNER_VARIABLE = "OSCTL_SANDBOX_DIRECTORY"
"""Set in the environment of each component: tells whose it is, also when its pid file was never written."""

_PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "TZ")
"""What a component sees of the caller's environment: our secrets are not its own, and etcd reads ETCD_*."""

_children: dict[int, subprocess.Popen[bytes]] = {}
# How those of them ended that did.
_codes: dict[int, int] = {}


@dataclass(frozen=True)
class ProcessIdentity:
    """One process for all time: `started` is in clock ticks since `boot`, the kernel's boot id."""

    pid: int
    started: int
    boot: str


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def observe_process(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now; None when there is none, or it is dead and not yet reaped."""
    child = _children.get(pid)
    if child is not None and (code := child.poll()) is not None:
        _codes[pid] = code
        _children.pop(pid, None)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in brackets and may hold blanks and brackets itself.
    state, *rest = stat[stat.rindex(")") + 2 :].split()
    if state in {"Z", "X"}:
        return None
    return ProcessIdentity(pid=pid, started=int(rest[18]), boot=_boot_id())


def exit_code(pid: int) -> int | None:
    """With which code the child that we started last under this pid has ended, negative after a signal.

    None while it runs, and for a process that is no child of ours.
    """
    observe_process(pid)
    return _codes.get(pid)


def is_running(identity: ProcessIdentity) -> bool:
    """Whether that very process still runs (not merely one with the same pid)."""
    return observe_process(identity.pid) == identity


def read_pid_file(path: Path) -> ProcessIdentity | None:
    """The identity that was written; None when there is no file, or it is half-written."""
    try:
        return ProcessIdentity(**json.loads(path.read_text()))
    except (FileNotFoundError, json.JSONDecodeError, TypeError):
        return None


def write_pid_file(path: Path, identity: ProcessIdentity) -> None:
    """Writes the file in one step, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(asdict(identity)))
    draft.replace(path)


def die_with_caller() -> Callable[[], None]:
    """For `preexec_fn`: the kernel shall kill the child when the thread that starts it ends."""
    parent = os.getpid()
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def before_exec() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


def start_process(
    argv: Sequence[str],
    *,
    log: Path,
    owner: Path,
    environment: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
    die_with_parent: bool = False,
) -> ProcessIdentity:
    """Starts `argv` in a session of its own, its output appended to `log`.

    `owner` is the sandbox's directory, put in the environment for `find_owned`; `environment` is the
    whole environment besides (default: of ours, only what any program needs), and `more` is added to it.
    Raises SandboxError when
    the program cannot be started.
    """
    passed_on = environment
    if passed_on is None:
        passed_on = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
        # One of them is a module beside this one, and no installed package.
        passed_on["PYTHONPATH"] = str(SOURCE.parent)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**passed_on, **(more or {}), OWNER_VARIABLE: str(owner)},
                preexec_fn=die_with_caller() if die_with_parent else None,  # noqa: PLW1509
            )
        except OSError as error:
            raise SandboxError(f"cannot start {argv[0]}: {error.strerror}") from error
    _codes.pop(child.pid, None)
    _children[child.pid] = child
    identity = observe_process(child.pid)
    if identity is None:
        raise SandboxError(f"{argv[0]} ended at once; see {log}")
    return identity


def send_signal(identity: ProcessIdentity, number: signal.Signals) -> int | None:
    """Signals that very process; gives a pidfd to wait on (the caller closes it), None if it is gone."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    # Checked after the pidfd is open: from here on the descriptor and the identity mean the same.
    if not is_running(identity):
        os.close(descriptor)
        return None
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        os.close(descriptor)
        return None
    return descriptor


def _wait_ended(descriptor: int, deadline: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(max(0.0, deadline - time.monotonic()) * 1000))


def stop_processes(identities: Sequence[ProcessIdentity], *, grace: float = 5.0) -> None:
    """Ends these processes together: SIGTERM, and SIGKILL for what still runs after `grace` seconds."""
    deadline = time.monotonic() + grace
    waiting = [(one, send_signal(one, signal.SIGTERM)) for one in identities]
    for identity, descriptor in waiting:
        if descriptor is None:
            continue
        try:
            if not _wait_ended(descriptor, deadline):
                kill_process(identity)
        finally:
            os.close(descriptor)
        observe_process(identity.pid)


def kill_process(identity: ProcessIdentity) -> None:
    """Ends that very process with SIGKILL and waits until it is gone (a few seconds at most)."""
    descriptor = send_signal(identity, signal.SIGKILL)
    if descriptor is None:
        return
    try:
        if not _wait_ended(descriptor, time.monotonic() + 10):
            raise SandboxError(f"process {identity.pid} does not end after SIGKILL")
    finally:
        os.close(descriptor)
    observe_process(identity.pid)


def find_owned(owner: Path) -> list[ProcessIdentity]:
    """All running components of the sandbox in directory `owner`, with or without a pid file."""
    mark = f"{OWNER_VARIABLE}={owner}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue  # ended meanwhile, or another user's: none of ours
        if mark in environment.split(b"\0"):
            identity = observe_process(int(entry.name))
            if identity is not None:
                found.append(identity)
    return found
