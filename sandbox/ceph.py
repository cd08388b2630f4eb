"""A monitor of Ceph as Debian has it, on loopback, for tests of keys and capabilities.

Nothing is installed: Debian's packages are unpacked into the cache, which needs apt and no privileges.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.debian import run_program, unpack_packages
from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.openstack.servers import Tell
from sandbox.paths import cache_root
from sandbox.ports import find_free_port

PACKAGES = ("ceph-mon", "ceph-common")
_WANTED = (
    "ceph-",
    "lib",
    "python3-ceph",
    "python3-rados",
    "python3-prettytable",
    "python3-wcwidth",
    "python3-yaml",
)
_PATIENCE = 60.0
_CALL = 60.0


@dataclass(frozen=True)
class CephPrograms:
    """Where Debian's packages are unpacked."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        libraries = sorted([*self.root.glob("usr/lib/*-linux-gnu"), *self.root.glob("lib/*-linux-gnu")])
        places = [str(path) for library in libraries for path in (library, library / "ceph")]
        return {
            "LD_LIBRARY_PATH": ":".join(places),
            "PYTHONPATH": str(self.root / "usr/lib/python3/dist-packages"),
            "PATH": f"{self.root}/usr/bin:{os.environ.get('PATH', '')}",
        }

    @property
    def plugins(self) -> Path:
        """Where its libraries for erasure codes and compression are."""
        [found, *_] = sorted((self.root / "usr" / "lib").glob("*-linux-gnu/ceph"))
        return found

    def run(self, *command: str) -> str:
        """What a program of the packages prints. Raises SandboxError with its complaint."""
        done = subprocess.run(
            [str(self.root / "usr/bin" / command[0]), *command[1:]],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_CALL,
            check=False,
        )
        if done.returncode:
            raise SandboxError(f"{command[0]} failed: {done.stderr[-1000:].strip()}")
        return done.stdout


def ensure_ceph(tell: Tell) -> CephPrograms:
    """The programs, fetched first where they are missing. Raises SandboxError with cause and remedy."""
    root = cache_root() / f"ceph-{platform.machine()}"
    with locked(root.parent / "ceph.lock", timeout=900):
        if not root.is_dir():
            tell("fetching a monitor of Ceph from Debian's mirror (once; nothing is installed)")
            draft = root.with_name(f"{root.name}-draft")
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            unpack_packages(PACKAGES, lambda name: name.startswith(_WANTED), draft)
            if not (draft / "usr/bin/ceph-mon").exists():
                raise SandboxError("Debian's packages of Ceph do not hold what was expected of them")
            draft.rename(root)
    bindings = f"rados.cpython-{sys.version_info.major}{sys.version_info.minor}-*"
    if not list((root / "usr/lib/python3/dist-packages").glob(bindings)):
        raise SandboxError("Debian's ceph is for another Python than this one: use that of the same Debian")
    return CephPrograms(root)


@dataclass(frozen=True)
class Monitor:
    """One monitor that runs, with the administrator's keyring."""

    programs: CephPrograms
    directory: Path
    fsid: str
    v2: str
    v1: str

    def ceph(
        self, *command: str, conf: Path | None = None, user: str = "admin", keyring: Path | None = None
    ) -> str:
        """What `ceph` prints, as the administrator unless another is named. Raises SandboxError."""
        script = self.programs.root / "usr/bin/ceph"
        known = ["--conf", str(conf or self.directory / "ceph.conf"), "--name", f"client.{user}"]
        known += ["--keyring", str(keyring or self.directory / "keyring"), "--connect-timeout", "20"]
        call = [sys.executable, str(script), *known, *command]
        done = subprocess.run(
            call, env=self.programs.environment, capture_output=True, text=True, timeout=_CALL, check=False
        )
        if done.returncode:
            raise SandboxError(f"ceph {command[0]} failed: {done.stderr[-1000:].strip()}")
        return done.stdout


@contextmanager
def running_monitor(programs: CephPrograms, directory: Path, fsid: str) -> Iterator[Monitor]:
    """A cluster of one monitor on loopback; it ends with the block."""
    second = find_free_port()
    first = find_free_port((second,))
    monitor = Monitor(programs, directory, fsid, f"127.0.0.1:{second}", f"127.0.0.1:{first}")
    _prepare(monitor)
    with (directory / "mon.log").open("wb") as log:
        server = subprocess.Popen(
            [*_server(monitor), "--foreground"], env=programs.environment, stdout=log, stderr=log
        )
        try:
            _wait(monitor, server)
            yield monitor
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _server(monitor: Monitor) -> list[str]:
    return [
        str(monitor.programs.root / "usr/bin/ceph-mon"),
        *("--id", "a", "--conf", str(monitor.directory / "ceph.conf")),
        *("--mon-data", str(monitor.directory / "mon")),
        *("--public-addrv", f"[v2:{monitor.v2},v1:{monitor.v1}]"),
    ]


def _prepare(monitor: Monitor) -> None:
    directory, programs = monitor.directory, monitor.programs
    (directory / "mon").mkdir(parents=True)
    settings: Mapping[str, object] = {
        "fsid": monitor.fsid,
        "mon_host": f"[v2:{monitor.v2},v1:{monitor.v1}]",
        "plugin_dir": programs.plugins,
        "erasure_code_dir": programs.plugins / "erasure-code",
        "mon_data_avail_crit": 1,
        "admin_socket": directory / "$name.asok",
        "run_dir": directory,
        "pid_file": "",
        "log_file": "",
        "mon_cluster_log_file": "/dev/null",
        "auth_allow_insecure_global_id_reclaim": "false",
    }
    lines = [f"{name} = {value}" for name, value in settings.items()]
    (directory / "ceph.conf").write_text("\n".join(["[global]", *lines, ""]))
    keys = directory / "keyring"
    every = [argument for kind in ("mon", "osd", "mgr", "mds") for argument in ("--cap", kind, "allow *")]
    programs.run("ceph-authtool", "--create-keyring", str(keys), "--gen-key", "-n", "client.admin", *every)
    programs.run("ceph-authtool", str(keys), "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
    monmap = directory / "monmap"
    place = f"[v2:{monitor.v2},v1:{monitor.v1}]"
    programs.run("monmaptool", "--create", "--fsid", monitor.fsid, "--addv", "a", place, str(monmap))
    made = [*_server(monitor), "--mkfs", "--monmap", str(monmap), "--keyring", str(keys)]
    run_program(["env", *(f"{name}={value}" for name, value in programs.environment.items()), *made])


def _wait(monitor: Monitor, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            monitor.ceph("mon", "dump")
            return
        except (SandboxError, subprocess.TimeoutExpired) as error:
            if server.poll() is not None or time.monotonic() > deadline:
                tail = (monitor.directory / "mon.log").read_text(errors="replace")[-1500:]
                raise SandboxError(f"the monitor of Ceph does not answer: {error}\n{tail}") from None
            time.sleep(0.5)
