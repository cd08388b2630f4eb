"""The first process of a node's namespaces: makes mounts and a network, runs programs, reaps what ends.

    python sandbox/node/init.py PLAN

Everything of it ends with it: it is process 1 of the PID namespace. After the change of root nothing more can
be imported; so everything is, before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RESTART_SECONDS = 1.0
BUSY_TRIES = 50
LINK_SECONDS = 60.0
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "kmsg", "net/tun", "fuse")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class InitPlan:
    """The arguments of `main`, in a file: paths of the machine, and of the node.

    `lower`: layers of the root file system, the highest first. `binds`: path of the machine by path in the
    node. `own_sysctls`: those of the machine that are shadowed. `links`: addresses by the link they are of;
    `routes`: the next hop by the range behind it. `commands`: of each program, by name;
    `before_restart`: what is done before one is started again, whether it succeeds or not.
    """

    hostname: str
    lower: Sequence[str]
    changes: str
    work: str
    root: str
    binds: Mapping[str, str]
    own_sysctls: Sequence[str]
    links: Mapping[str, str]
    routes: Mapping[str, str]
    path: str
    commands: Mapping[str, Sequence[str]]
    before_restart: Mapping[str, Sequence[Sequence[str]]]


def _run(*command: str) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": _PATH})
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: {answer.stderr.strip()}")


def make_mounts(plan: InitPlan) -> None:
    """The node's root file system and all that is mounted in it; ends in it."""
    root = Path(plan.root)
    _run("mount", "--make-rprivate", "/")
    options = f"lowerdir={':'.join(plan.lower)},upperdir={plan.changes},workdir={plan.work}"
    _mount_when_free(root, options)
    _run("mount", "-t", "proc", "proc", str(root / "proc"))
    _run("mount", "-t", "sysfs", "sysfs", str(root / "sys"))
    _run("mount", "--rbind", "/sys/fs/cgroup", str(root / "sys/fs/cgroup"))
    for place in ("run", "tmp"):
        _run("mount", "-t", "tmpfs", "tmpfs", str(root / place))
    _make_devices(root / "dev")
    for inside, outside in plan.binds.items():
        target = root / inside.lstrip("/")
        if Path(outside).is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        _run("mount", "--bind", outside, str(target))
    _shadow_sysctls(root, plan.own_sysctls)
    old = root / "mnt"
    os.chdir(root)
    _run("pivot_root", str(root), str(old))
    os.chdir("/")
    _run("umount", "--lazy", "/mnt")
    # Mounts that a pod makes for others are seen by them.
    _run("mount", "--make-rshared", "/")


def _mount_when_free(root: Path, options: str) -> None:
    """Mounts the root file system; one of an earlier life may be going just now."""
    for _ in range(BUSY_TRIES):
        answer = subprocess.run(
            ["mount", "-t", "overlay", "overlay", "-o", options, str(root)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": _PATH},
        )
        if answer.returncode == 0:
            return
        time.sleep(0.2)
    sys.exit(f"the root file system of the node: {answer.stderr.strip()}")


def _make_devices(devices: Path) -> None:
    """Those that every program expects, and none of the machine's disks."""
    _run("mount", "-t", "tmpfs", "tmpfs", str(devices), "-o", "mode=0755")
    for name in _DEVICES:
        if Path("/dev", name).exists():
            (devices / name).parent.mkdir(exist_ok=True)
            (devices / name).touch()
            _run("mount", "--bind", f"/dev/{name}", str(devices / name))
    for name, kind, options in (
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"),
        ("shm", "tmpfs", "mode=1777"),
        ("mqueue", "mqueue", "rw"),
    ):
        (devices / name).mkdir()
        _run("mount", "-t", kind, kind, str(devices / name), "-o", options)
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0")):
        (devices / name).symlink_to(target)
    for number, name in enumerate(("stdout", "stderr"), start=1):
        (devices / name).symlink_to(f"/proc/self/fd/{number}")


def _shadow_sysctls(root: Path, names: Sequence[str]) -> None:
    own = root / "run" / "sysctls"
    own.mkdir()
    for name in names:
        real = root / "proc/sys" / name
        if real.exists():
            copy = own / name.replace("/", ".")
            copy.write_text(real.read_text())
            _run("mount", "--bind", str(copy), str(real))


def make_network(plan: InitPlan) -> None:
    """The links that the node is given have their addresses, and ranges their routes."""
    _run("ip", "link", "set", "lo", "up")
    for name, address in plan.links.items():
        deadline = time.monotonic() + LINK_SECONDS
        while not Path("/sys/class/net", name).exists():
            if time.monotonic() > deadline:
                sys.exit(f"the node was given no link {name}")
            time.sleep(0.02)
        _run("ip", "address", "add", address, "dev", name)
        _run("ip", "link", "set", name, "up")
    for subnet, gateway in plan.routes.items():
        _run("ip", "route", "add", subnet, "via", gateway)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    _run("nft", "-f", "/run/node/configuration/reject.nft")


def run_programs(plan: InitPlan) -> None:
    """Starts every program, again whenever it ends, and reaps whatever ends in the node. Never returns."""
    environment = {"PATH": f"{plan.path}:{_PATH}", "HOME": "/root"}
    running: dict[int, str] = {}
    # Kept, for a Popen that is forgotten reaps on its own.
    processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(name: str) -> None:
        with Path(f"/run/node/logs/{name}.log").open("ab") as log:
            processes[name] = subprocess.Popen(
                list(plan.commands[name]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        running[processes[name].pid] = name

    for name in plan.commands:
        start(name)
    while True:
        pid, status = os.waitpid(-1, 0)
        ended = running.pop(pid, None)
        if ended is not None:
            processes[ended].returncode = os.waitstatus_to_exitcode(status)
            print(f"{ended} ended with {processes[ended].returncode}, and is started again", flush=True)
            time.sleep(RESTART_SECONDS)
            for command in plan.before_restart.get(ended, ()):
                subprocess.run(command, capture_output=True, check=False, env=environment)
            start(ended)


def main() -> None:
    """Reads the plan that the first argument names, and carries it out."""
    plan = InitPlan(**json.loads(Path(sys.argv[1]).read_text()))
    _run("hostname", plan.hostname)
    make_mounts(plan)
    make_network(plan)
    run_programs(plan)


if __name__ == "__main__":
    main()
