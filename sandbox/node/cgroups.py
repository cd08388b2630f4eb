"""The control group of a node: made beside those of the machine, removed with all below it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import SandboxError

MOUNT = Path("/sys/fs/cgroup")
NEEDED = ("cpu", "memory", "pids")
_COPIED = ("cpuset.cpus", "cpuset.mems")
# Of the processors, by the version of groups: what a group has by default.
_WEIGHTS = {"cpu.shares": 1024, "cpu.weight": 100}
REMOVE_SECONDS = 20.0


def hierarchies(mount: Path = MOUNT) -> Iterator[Path]:
    """The roots of the groups: one with cgroup v2, one for each controller with v1."""
    if (mount / "cgroup.controllers").exists():
        yield mount
        return
    yield from (entry for entry in sorted(mount.iterdir()) if (entry / "cgroup.procs").exists())


def missing_controllers(mount: Path = MOUNT) -> tuple[str, ...]:
    """Controllers that a kubelet needs and cannot have here."""
    if (mount / "cgroup.controllers").exists():
        given = (mount / "cgroup.subtree_control").read_text().split()
        return tuple(one for one in NEEDED if one not in given)
    return tuple(one for one in NEEDED if not (mount / one / "cgroup.procs").exists())


def make_cgroup(name: str, mount: Path = MOUNT) -> None:
    """Makes the group in every hierarchy, if it is not there. Raises SandboxError."""
    try:
        for root in hierarchies(mount):
            group = root / name
            group.mkdir(exist_ok=True)
            for setting in _COPIED:
                # With v1 a group has no processors until they are set.
                if (root / setting).exists() and (group / setting).exists() and root.name == "cpuset":
                    (group / setting).write_text((root / setting).read_text())
            # Without this, all pods together weigh as much as one command in a terminal.
            for setting, usual in _WEIGHTS.items():
                if (group / setting).exists():
                    (group / setting).write_text(str(usual * (os.cpu_count() or 1)))
    except OSError as error:
        raise SandboxError(f"cannot make a control group: {error}") from error


def remove_cgroup(name: str, mount: Path = MOUNT) -> None:
    """Removes the group and those below; their processes must have been ended. Raises SandboxError."""
    deadline = time.monotonic() + REMOVE_SECONDS
    for root in hierarchies(mount):
        group = root / name
        while group.exists():
            try:
                for directory, _, _ in os.walk(group, topdown=False):
                    Path(directory).rmdir()
            except OSError as error:
                # What was killed leaves its group a moment later.
                if time.monotonic() > deadline:
                    raise SandboxError(f"the control group {group} cannot be removed: {error}") from error
                time.sleep(0.1)
