"""What a node must leave as it found it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox.patience import patient

# They count what happens on the machine, or follow its memory: no one sets them.
_COUNTERS = re.compile(
    r"random|nr_inodes|dentry|file-nr|inode-|ns_last_pid|conntrack_count|pty\.nr|quota\.|perf_event_max_sample"
    r"|sched|keys\.|hostname|loadavg|cpu_byteorder|nr_open"
)


@dataclass(frozen=True)
class Machine:
    """Settings, links, routes, mounts and control groups, as text."""

    sysctls: frozenset[str]
    links: frozenset[str]
    routes: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]


def observe_machine() -> Machine:
    """The machine as it is now; of mounts and groups those that a sandbox could have made."""
    sysctls = _lines("sysctl", "-a")
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    groups = [path for path in Path("/sys/fs/cgroup").rglob("osctl-sandbox-*") if path.is_dir()]
    return Machine(
        sysctls=frozenset(line for line in sysctls if not _COUNTERS.search(line.split("=")[0])),
        links=frozenset(line.split(":")[1].strip() for line in _lines("ip", "-oneline", "link")),
        routes=frozenset(_lines("ip", "route", "show", "table", "all")),
        mounts=frozenset(path for path in mounts if "/sandboxes/" in path),
        groups=frozenset(str(path) for path in groups),
    )


def _lines(*command: str) -> list[str]:
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patient(60))
    return shown.stdout.splitlines()
