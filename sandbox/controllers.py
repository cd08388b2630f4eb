"""Our controllers as real processes beside a cluster, each with the token of the chart's ServiceAccount.

KWOK's pods run nothing, so the pod that our chart installs is played by these processes: the same
commands, the same environment, the same rights.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.paths import SOURCE
from sandbox.patience import Patience
from sandbox.ports import find_free_port

SERVICE_ACCOUNT = "openstack-controller"
POD_NAME = "openstack-controller-0"
# Of our own environment, only what a process needs to run at all: no proxy, no kubeconfig of the user.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH")
HELM_HOMES = ("CACHE", "CONFIG", "DATA")
# With this code a container ends that lost its Lease, and counts on the kubelet to be started again: it does
# so whenever the machine stands still for longer than the Lease lasts (controller.operator).
LEASE_LOST = 70
CHECK_EVERY = 0.5
# The listen address of containers' ports here: in a cluster it is every address of their pod.
LOOPBACK = "127.0.0.1"


class Cluster(Protocol):
    """A cluster that the chart is installed in: a `Sandbox` or an `ExistingCluster`."""

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        """A kubeconfig in `directory` that is this ServiceAccount."""
        ...


class Controllers:
    """The containers of one installation of our chart.

    `namespace`: where the chart is installed, and where the Leases live; `region_namespace`: what it watches,
    the same by default. `directory` holds kubeconfig, token, logs and pid files, and marks the processes as
    this installation's; `owner` instead, where given: the directory of a sandbox that they shall end with.
    `containers`: the containers that run, and that settings name as deployed. `environment` is added to the
    environment of each process. `die_with_parent`: the kernel kills them when the thread that started them
    ends; for tests, which may be killed themselves.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        directory: Path,
        *,
        containers: Sequence[str] = ("core", "helmbundle", "secrets"),
        region_namespace: str = "",
        service_account: str = SERVICE_ACCOUNT,
        pod_name: str = POD_NAME,
        environment: Mapping[str, str] | None = None,
        owner: Path | None = None,
        die_with_parent: bool = False,
    ) -> None:
        self.containers = tuple(containers)
        self.namespace = namespace
        self.region_namespace = region_namespace or namespace
        self.directory = directory.resolve()
        self._owner = owner.resolve() if owner is not None else self.directory
        self._cluster = cluster
        self._service_account = service_account
        self._pod_name = pod_name
        self._environment = dict(environment or {})
        self._die_with_parent = die_with_parent
        # Those that were started, and neither stopped nor killed since.
        self._meant: set[str] = set()
        self._lock = threading.RLock()
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # -- life ---------------------------------------------------------------------------------------

    def start(self, *names: str) -> None:
        """Starts those that do not run (all by default), with a new token that is valid for a day."""
        with self._lock:
            kubeconfig = self._cluster.service_account_kubeconfig(
                self.namespace, self._service_account, self.directory
            )
            for name in self._chosen(names):
                self._meant.add(name)
                if self._identity(name) is None:
                    self._start(name, kubeconfig)

    def supervise(self) -> None:
        """Starts again, from now until all are stopped, each that ends as it has lost its Lease.

        What ends in any other way stays so: that is a defect, or was done by whom we serve.
        """
        self._over.clear()
        threading.Thread(target=self._supervise, name="kubelet", daemon=True).start()

    def stop(self, *names: str, grace: float = 10.0) -> None:
        """SIGTERM, and SIGKILL for what still runs after `grace` seconds; all by default.

        Without names, also those that an earlier run started here and never noted.
        """
        with self._lock:
            self._meant.difference_update(self._chosen(names))
            if not names:
                self._over.set()
            identities = [self._identity(name) for name in self._chosen(names)]
        running = [one for one in identities if one is not None]
        if not names and self._owner == self.directory:
            running += [one for one in processes.find_owned(self.directory) if one not in running]
        processes.stop_processes(running, grace=grace)

    def kill(self, name: str) -> None:
        """SIGKILL, as the kernel's out-of-memory killer would; nothing happens if it does not run."""
        with self._lock:
            self._meant.discard(self._known(name))
            identity = self._identity(name)
        if identity is not None:
            processes.kill_process(identity)

    def restart(self, name: str) -> None:
        """An orderly end and a new start."""
        self.stop(name)
        self.start(name)

    # -- what is seen of them -----------------------------------------------------------------------

    def pid(self, name: str) -> int:
        """The process id, 0 while it does not run."""
        identity = self._identity(self._known(name))
        return identity.pid if identity is not None else 0

    def running(self) -> tuple[str, ...]:
        """Names of those that run now."""
        return tuple(name for name in self.containers if self._identity(name) is not None)

    def log_file(self, name: str) -> Path:
        """The output of all its starts, one after the other; stdout and stderr together."""
        return self.directory / "logs" / f"{self._known(name)}.log"

    def log(self, name: str) -> str:
        """What it has written so far, empty before its first start."""
        path = self.log_file(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def pids(self, name: str) -> tuple[int, ...]:
        """Of all its processes: the one that keeps its Lease, and those below it."""
        found = [self.pid(name)] if self.pid(name) else []
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    found += map(int, task.read_text().split())
        return tuple(found)

    def rss(self, name: str) -> int:
        """Resident memory in bytes of the process that works, 0 while it does not run.

        The one that keeps its Lease shares nearly all of its own with it.
        """
        return max((_resident(pid) for pid in self.pids(name)), default=0)

    def healthy(self, name: str) -> bool:
        """Whether its liveness endpoint answers 200, as the kubelet would ask."""
        port = self._port(self._known(name))
        if port == 0 or self._identity(name) is None:
            return False
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (http.client.HTTPException, OSError):
            return False
        finally:
            connection.close()

    def metrics(self, name: str) -> str:
        """What its metrics endpoint answers, as Prometheus would ask. Raises SandboxError."""
        url = f"http://{LOOPBACK}:{self._port(self._known(name))}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return bytes(answer.read()).decode()
        except OSError as error:
            raise SandboxError(f"{name}: its metrics do not answer: {error}") from error

    def wait_healthy(self, timeout: float = 120.0) -> None:
        """Until all of them answer. Raises SandboxError with the end of the log of one that does not."""
        patience = Patience(timeout)
        for name in self.containers:
            pause = 0.05
            while not self.healthy(name):
                runs = not self._has_ended(name)
                if not runs or patience.is_over():
                    raise SandboxError(self._why(name, "does not answer" if runs else "ended at start"))
                time.sleep(pause)
                pause = min(pause * 1.5, 0.5)

    def check(self) -> None:
        """Raises SandboxError, with the end of its log, when one of them does not run any more."""
        for name in self.containers:
            if self._has_ended(name):
                raise SandboxError(self._why(name, "does not run any more"))

    # -- parts --------------------------------------------------------------------------------------

    def _supervise(self) -> None:
        while not self._over.wait(CHECK_EVERY):
            for name in self.containers:
                # No token to be had: the API server is away.
                with contextlib.suppress(SandboxError, subprocess.SubprocessError, OSError):
                    self._has_ended(name)

    def _has_ended(self, name: str) -> bool:
        """Whether it does not run; one that has lost its Lease is started again, and runs."""
        with self._lock:
            if self._identity(name) is not None:
                return False
            ended = processes.read_pid_file(self._pid_file(name))
            if ended is None or name not in self._meant or processes.exit_code(ended.pid) != LEASE_LOST:
                return True
            self.start(name)
            return False

    def _start(self, name: str, kubeconfig: Path) -> None:
        port = find_free_port([self._port(other) for other in self.containers])
        identity = processes.start_process(
            # -P: this checkout's packages, whatever lies in the directory that we were started in.
            [sys.executable, "-P", "-m", f"containers.{name}"],
            log=self.log_file(name),
            owner=self._owner,
            environment=self._process_environment(kubeconfig, port),
            die_with_parent=self._die_with_parent,
        )
        self._port_file(name).parent.mkdir(parents=True, exist_ok=True)
        self._port_file(name).write_text(str(port))
        processes.write_pid_file(self._pid_file(name), identity)

    def _process_environment(self, kubeconfig: Path, port: int) -> dict[str, str]:
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
        helm = {f"HELM_{kind}_HOME": str(self.directory / "helm" / kind.lower()) for kind in HELM_HOMES}
        return {
            **inherited,
            **helm,
            "PYTHONPATH": str(SOURCE.parent),
            "PYTHONUNBUFFERED": "1",
            "KUBECONFIG": str(kubeconfig),
            "REGION_NAMESPACE": self.region_namespace,
            "POD_NAMESPACE": self.namespace,
            "POD_NAME": self._pod_name,
            "CHARTS_SERVICE_ACCOUNT": f"{self._service_account}-charts",
            "DEPLOYED_CONTAINERS": ",".join(self.containers),
            "HEALTH_PORT": str(port),
            "HEALTH_ADDRESS": LOOPBACK,
            **self._environment,
        }

    def _pid_file(self, name: str) -> Path:
        return self.directory / "pids" / f"{name}.json"

    def _port_file(self, name: str) -> Path:
        return self.directory / "pids" / f"{name}.port"

    def _port(self, name: str) -> int:
        """The port of its liveness endpoint, 0 before its first start."""
        try:
            return int(self._port_file(name).read_text())
        except (FileNotFoundError, ValueError):
            return 0

    def _identity(self, name: str) -> processes.ProcessIdentity | None:
        identity = processes.read_pid_file(self._pid_file(name))
        return identity if identity is not None and processes.is_running(identity) else None

    def _known(self, name: str) -> str:
        if name not in self.containers:
            raise SandboxError(f'no container "{name}" here: one of {", ".join(self.containers)}')
        return name

    def _chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._known(name) for name in names) or self.containers

    def _why(self, name: str, state: str) -> str:
        tail = "\n".join(self.log(name).splitlines()[-12:])
        return f"the container {name} {state}; the end of {self.log_file(name)}:\n{tail}"


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(found[0]) * 1024 if found else 0
