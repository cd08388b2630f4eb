"""One running cloud: made from a golden copy, started, looked at, broken on purpose, stopped."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox import processes
from sandbox.errors import ComponentFailed
from sandbox.locks import locked
from sandbox.openstack.configuration import (
    COMPUTES,
    REGION,
    SERVICE_USERS,
    Configuration,
)
from sandbox.openstack.provision import ensure_provisions
from sandbox.openstack.schema import (
    create_databases,
    install_database,
    login_of,
    migrate_schemas,
    run_command,
    run_inside,
)
from sandbox.openstack.series import HOST, Places, Series, places_of
from sandbox.openstack.servers import Tell
from sandbox.openstack.services import (
    Process,
    infrastructure,
    services,
)

AGENTS = ("ovs", "l3", "dhcp", "metadata")
START_SECONDS = 600.0
LOCK_SECONDS = 1800.0
POLL_SECONDS = 0.1
_PATHS = {"placement": "", "nova": "/v2.1", "glance": "", "neutron": "", "cinder": "/v3"}
_DIRECTORIES = (
    "home",
    "tmp",
    "rabbit",
    "lock",
    "agents",
    "state/glance/images",
    "state/glance/staging",
    "state/glance/tasks",
    "state/neutron",
    "state/cinder",
    "state/nova",
)


@dataclass(frozen=True)
class ServiceStatus:
    """One process of the cloud: its pid, 0 while it does not run, and what it holds of memory."""

    name: str
    pid: int
    bytes: int


class Cloud:
    """The cloud of one series; there is at most one of each on a machine and user.

    It has computes cmp1, cmp2 and cmp3, an image `tiny`, a network `net0` and flavors `small`, `large` and,
    for servers that fit nowhere, `huge`.
    """

    def __init__(self, series: Series, configuration: Configuration) -> None:
        self.series = series
        self._configuration = configuration
        self._run = configuration.places.run
        self._processes = {
            one.name: one for one in [*infrastructure(configuration), *services(configuration)]
        }

    # -- life ---------------------------------------------------------------------------------------

    @classmethod
    def up(cls, series: Series, tell: Tell = lambda _: None, *, fresh: bool = False) -> Cloud:
        """The running cloud: started where it does not run, made first where it was never made.

        `fresh`: one that does not run starts without what was done to it before. Raises SandboxError.
        """
        places = places_of(series)
        with locked(places.lock, timeout=LOCK_SECONDS, on_wait=lambda: tell("waiting for another start")):
            cloud = cls._opened(series, places, tell)
            if not places.golden.exists():
                cloud._make_golden(tell)
            if cloud.running():
                cloud._start_missing(tell)
                return cloud
            if fresh or not places.run.exists() or cloud._setup() != places.setup:
                cloud._stop_all()
                shutil.rmtree(places.run, ignore_errors=True)
                _copy(places.golden, places.run)
            cloud._start(tell)
            return cloud

    @classmethod
    def prepare(cls, series: Series, tell: Tell = lambda _: None) -> None:
        """Everything that a start needs, made where it was never made (minutes). Starts nothing."""
        places = places_of(series)
        with locked(places.lock, timeout=LOCK_SECONDS, on_wait=lambda: tell("waiting for another start")):
            cloud = cls._opened(series, places, tell)
            if not places.golden.exists():
                cloud._make_golden(tell)

    @classmethod
    def find(cls, series: Series) -> Cloud | None:
        """The cloud as it is, None when it was never made."""
        places = places_of(series)
        if not places.golden.exists():
            return None
        return cls._opened(series, places, lambda _: None)

    @classmethod
    def _opened(cls, series: Series, places: Places, tell: Tell) -> Cloud:
        programs = ensure_provisions(series, places, tell)
        return cls(series, Configuration(places, series.ports(), programs))

    def down(self) -> None:
        """Ends every process; what it holds stays for the next start."""
        with locked(self._configuration.places.lock, timeout=LOCK_SECONDS):
            self._stop_all()

    # -- what tests do ------------------------------------------------------------------------------

    def credentials(self, user: str = "admin", project: str = "admin") -> dict[str, str]:
        """An `auth` section of clouds.yaml."""
        return login_of(self._configuration, user, project)

    def clouds(self, identity_url: str = "") -> dict[str, object]:
        """A clouds.yaml with one cloud, `default`; `identity_url` instead of the real one, where given."""
        auth = self.credentials() | ({"auth_url": identity_url} if identity_url else {})
        return {"clouds": {"default": {"auth": auth, "region_name": REGION, "interface": "internal"}}}

    def url(self, service: str) -> str:
        """The address of a service of the catalogue, without a path."""
        return self._configuration.url(service)

    def start(self, *names: str) -> None:
        """Starts these processes, by name, where they do not run."""
        for name in names:
            if self.pid(name) == 0:
                self._spawn(self._processes[name])

    def kill(self, *names: str) -> None:
        """SIGKILL, with every child."""
        for name in names:
            identity = self._identity(name)
            if identity is not None:
                processes.kill_process(identity)

    def stop(self, *names: str) -> None:
        """An orderly end."""
        found = [one for one in map(self._identity, names) if one is not None]
        processes.stop_processes(found, grace=15)

    @contextlib.contextmanager
    def nova_api_with(self, **options: object) -> Iterator[None]:
        """Nova's API runs with these options of [DEFAULT], and then again without them."""
        path = self._run / "etc/nova/nova.conf"
        before = path.read_text()
        lines = [f"{key} = {value}" for key, value in options.items()]
        try:
            path.write_text("\n".join([before, "[DEFAULT]", *lines, ""]))
            self._restart_nova_api()
            yield
        finally:
            path.write_text(before)
            self._restart_nova_api()

    @contextlib.contextmanager
    def cell_down(self) -> Iterator[None]:
        """Nova's API does not reach the database of the one cell, and so none of what lies in it."""
        known = self._configuration.database("nova")
        try:
            self._point_cell_to(self._configuration.database("absent"))
            yield
        finally:
            self._point_cell_to(known)

    def _point_cell_to(self, database: str) -> None:
        client = [str(self._configuration.programs.mariadb), f"--socket={self._run}/mysql.sock", "-uroot"]
        changed = f"UPDATE nova_api.cell_mappings SET database_connection = '{database}'"  # noqa: S608 - our own
        run_command(self._configuration, [*client, "-e", f"{changed} WHERE name = 'cell1'"])
        # It remembers where its cells are.
        self._restart_nova_api()

    def _restart_nova_api(self) -> None:
        self.stop("nova")
        self.start("nova")
        url = self._processes["nova"].health
        self._wait("nova", lambda: _answers(url), time.monotonic() + START_SECONDS)

    def forget_identity(self, host: str) -> None:
        """What a compute kept on its disk is gone, as on a new machine of the same name."""
        state = self._run / "state" / f"nova-{host}"
        shutil.rmtree(state, ignore_errors=True)
        (state / "instances").mkdir(parents=True)

    def set_agents(self, host: str, *kinds: str) -> None:
        """Which network agents of the host live from now on; the others fall silent."""
        for kind in AGENTS:
            mark = self._run / "agents" / f"{host}.{kind}"
            if kind in kinds:
                mark.touch()
            else:
                mark.unlink(missing_ok=True)

    def pid(self, name: str) -> int:
        """The process id, 0 while it does not run."""
        identity = self._identity(name)
        return identity.pid if identity is not None else 0

    def running(self) -> bool:
        """Whether any of it runs."""
        return any(self._identity(name) is not None for name in self._processes)

    def status(self) -> tuple[ServiceStatus, ...]:
        """Each process with its memory (proportional set size)."""
        found = {one.pid: one for one in processes.find_owned(self._run)}
        sessions = {pid: os.getsid(pid) for pid in found if _exists(pid)}
        result = []
        for name in self._processes:
            pid = self.pid(name)
            members = [member for member, session in sessions.items() if pid and session == pid]
            result.append(ServiceStatus(name, pid, sum(map(_memory, members))))
        return tuple(result)

    def log(self, name: str) -> str:
        """What the process wrote so far."""
        path = self._run / "log" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    # -- parts --------------------------------------------------------------------------------------

    def _setup(self) -> str:
        """By what key the cloud in the directory was set up."""
        path = self._run / "setup"
        return path.read_text() if path.exists() else ""

    def _identity(self, name: str) -> processes.ProcessIdentity | None:
        identity = processes.read_pid_file(self._run / "pids" / f"{name}.json")
        return identity if identity is not None and processes.is_running(identity) else None

    def _spawn(self, process: Process) -> None:
        identity = processes.start_process(
            process.command,
            log=self._run / "log" / f"{process.name}.log",
            owner=self._run,
            environment=process.environment,
        )
        processes.write_pid_file(self._run / "pids" / f"{process.name}.json", identity)

    def _stop_all(self) -> None:
        first = [name for name in self._processes if name not in ("mariadb", "epmd", "rabbit")]
        self.stop(*first)
        self.stop("rabbit")
        self.stop("mariadb", "epmd")
        processes.stop_processes(processes.find_owned(self._run), grace=2)

    def _start(self, tell: Tell) -> None:
        tell(f"starting OpenStack {self.series.name}")
        try:
            self._start_missing(tell)
        except BaseException:
            self._stop_all()
            raise

    def _start_missing(self, tell: Tell) -> None:
        deadline = time.monotonic() + START_SECONDS
        self._start_infrastructure(deadline)
        asked = [one for one in self._processes.values() if one.health]
        self.start(*self._processes)
        for process in asked:
            self._wait(process.name, lambda url=process.health: _answers(url), deadline)  # type: ignore[misc]
        run_inside(self._configuration, "seed.py", "ready", ",".join(COMPUTES))
        tell(f"OpenStack {self.series.name} is up: {self._configuration.identity_url}")

    def _start_infrastructure(self, deadline: float) -> None:
        for name in ("mariadb", "epmd", "rabbit"):
            self.start(name)
            if name == "epmd":
                self._wait(name, lambda: self._listens("epmd"), deadline)
        for name in ("mariadb", "rabbit"):
            self._wait(name, lambda name=name: self._listens(name), deadline)  # type: ignore[misc]

    def _listens(self, service: str) -> bool:
        with socket.socket() as connection:
            connection.settimeout(1)
            return connection.connect_ex((HOST, self._configuration.ports[service])) == 0

    def _wait(self, name: str, check: Callable[[], bool], deadline: float) -> None:
        while not check():
            runs = self._identity(name) is not None
            if not runs or time.monotonic() > deadline:
                tail = "\n".join(self.log(name).splitlines()[-15:])
                what = "does not answer in time" if runs else "ended at start"
                raise ComponentFailed(f"{name} {what}; the end of its log:\n{tail}")
            time.sleep(POLL_SECONDS)

    # -- the golden copy ----------------------------------------------------------------------------

    def _make_golden(self, tell: Tell) -> None:
        tell(f"setting up OpenStack {self.series.name} (about a minute, once)")
        self._stop_all()
        shutil.rmtree(self._run, ignore_errors=True)
        for name in _DIRECTORIES:
            (self._run / name).mkdir(parents=True)
        try:
            self._configuration.write()
            install_database(self._configuration)
            self._start_infrastructure(time.monotonic() + START_SECONDS)
            create_databases(self._configuration)
            migrate_schemas(self._configuration)
            self.start("keystone")
            self._wait(
                "keystone", lambda: _answers(self._processes["keystone"].health), time.monotonic() + 60
            )
            urls = {name: self._configuration.url(name, _PATHS[name]) for name in SERVICE_USERS}
            run_inside(self._configuration, "seed.py", "accounts", json.dumps(urls))
            for host in COMPUTES:
                self.set_agents(host, "ovs", "dhcp", "l3")
            self._start_missing(tell)
            run_inside(self._configuration, "seed.py", "fixtures")
        finally:
            self._stop_all()
        shutil.rmtree(self._run / "log")
        (self._run / "setup").write_text(self._configuration.places.setup)
        draft = self._configuration.places.root / "golden.draft"
        shutil.rmtree(draft, ignore_errors=True)
        _copy(self._run, draft)
        draft.rename(self._configuration.places.golden)


def _copy(source: os.PathLike[str], target: os.PathLike[str]) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=_not_sockets)


def _not_sockets(directory: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith((".sock", ".pid")) or name == "pids"]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):  # noqa: S310 - our own loopback
            return True
    except urllib.error.HTTPError as error:
        return error.code in (300, 401)
    except OSError:
        return False


def _exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _memory(pid: int) -> int:
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/smaps_rollup").open() as file:
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    return 0
