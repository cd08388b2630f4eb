"""One sandbox: brought up, used, broken on purpose, taken down."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox import processes
from sandbox.api import ApiConnection
from sandbox.build import GIB, Binaries, Report, check_room, ensure_binaries, find_binaries
from sandbox.certificates import ensure_certificates
from sandbox.control_plane import (
    POD_RANGE,
    SERVICE_RANGE,
    Component,
    cluster_entry,
    components,
    write_kubeconfigs,
    write_stages,
)
from sandbox.errors import ComponentFailed, PortTaken, SandboxError
from sandbox.images.build import ensure_pause_image
from sandbox.kubectl import PATIENCE, run_kubectl, write_service_account_kubeconfig
from sandbox.locks import locked
from sandbox.node.hosts import real_nodes
from sandbox.node.load import NodeImages, open_images
from sandbox.node.plan import PAUSE_IMAGE
from sandbox.node.prepare import check_machine, prepare_nodes
from sandbox.objects import delete_namespace, ensure_objects, make_namespace
from sandbox.paths import Layout, sandbox_directory
from sandbox.patience import patient
from sandbox.ports import find_free_ports, is_free
from sandbox.profiles import parse_profile
from sandbox.state import State, count_nodes, read_state, write_state
from sandbox.take_down import LOCK_SECONDS, take_down

DEFAULT_PROFILE = "single"
PORT_TRIES = 5
WEDGED_SECONDS = 60.0
"""How long a running component may be silent before it is restarted: a busy machine is no reason to."""
ROOM_BYTES = GIB // 2
"""What a sandbox writes in a day of tests: audit log, etcd's data, logs."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class ComponentStatus:
    """What is seen of one component: its pid (0 when it does not run) and whether it says it is healthy."""

    name: str
    pid: int
    healthy: bool


class Sandbox:
    """A Kubernetes control plane on loopback. Made by `up`, `open` or `existing`."""

    def __init__(self, layout: Layout, state: State, binaries: Binaries) -> None:
        self.layout = layout
        self.state = state
        self.binaries = binaries

    # -- life ---------------------------------------------------------------------------------------

    @classmethod
    def up(
        cls,
        name: str,
        directory: Path | None = None,
        profile: str | None = None,
        *,
        real: bool = False,
        nodes: int | None = None,
        timeout: float = 180.0,
        private: bool = False,
        report: Report = lambda _: None,
        tell: Tell = lambda _: None,
    ) -> Sandbox:
        """The running, healthy sandbox `name`; started, or repaired where parts of it are dead.

        `directory` holds all its files; `profile` as in `parse_profile` (default: what it has, else
        `single`, or `none` beside real nodes); `real`: it has real nodes, in which pods run, and `nodes` is
        how many (default: what it has, else one);
        `timeout` in seconds bounds the boot, not the build; `private`: its processes are killed when the
        calling thread ends. Raises SandboxError.
        """
        if not sys.platform.startswith("linux"):
            raise SandboxError("a sandbox needs Linux; elsewhere use an existing cluster by its kubeconfig")
        parse_profile(profile or DEFAULT_PROFILE)
        layout = Layout(sandbox_directory(name, directory))
        # A mistake is reported before minutes of building.
        existing = _read_matching_state(layout, name, profile)
        count = count_nodes(existing, name, real, nodes)
        if count:
            check_machine(layout)
        binaries = ensure_binaries(report)
        with locked(layout.lock, timeout=LOCK_SECONDS, remove=private):
            state = _read_matching_state(layout, name, profile)
            if state is None:
                check_room([(layout.directory, ROOM_BYTES)])
                chosen = profile or ("none" if count else DEFAULT_PROFILE)
                state = State(name, chosen, find_free_ports(), private, count)
                write_state(layout.state, state)
            box = cls(layout, replace(state, private=private), binaries)
            if state.real:
                prepare_nodes(layout, state.nodes, (POD_RANGE, SERVICE_RANGE), report, tell)
            box._ensure_up(time.monotonic() + patient(timeout), tell)
            if state.real:
                box.images().load(ensure_pause_image(report), [PAUSE_IMAGE])
        return box

    @classmethod
    def open(cls, name: str, directory: Path | None = None) -> Sandbox | None:
        """The sandbox `name` as it is, running or not; None when there is none."""
        layout = Layout(sandbox_directory(name, directory))
        state = read_state(layout.state)
        binaries = find_binaries()
        return None if state is None or binaries is None else cls(layout, state, binaries)

    def down(self) -> None:
        """Ends its processes and removes its files. Nothing happens when that is done already."""
        take_down(self.state.name, self.layout.directory)

    # -- use ----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name it was started under."""
        return self.state.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def audit_log(self) -> Path:
        """The API server's audit log; read it with `sandbox.audit`."""
        return self.layout.audit_log

    @property
    def helm(self) -> Path:
        """The helm command built together with this control plane."""
        return self.binaries.helm

    def kubectl(self, *arguments: str, input: str | None = None, timeout: float = PATIENCE) -> str:
        """The output of kubectl as administrator. Raises SandboxError with its error text."""
        return run_kubectl(self.binaries.kubectl, self.kubeconfig, arguments, input, timeout)

    def images(self) -> NodeImages:
        """The images of the real nodes. Raises SandboxError where there is none, or one does not run."""
        return open_images(self.layout, real_nodes(self.state.nodes))

    def create_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """A namespace in which pods can be made at once."""
        with self._api() as api:
            make_namespace(api, name, labels, time.monotonic() + patient(120))

    def delete_namespace(self, name: str) -> None:
        """Begins its deletion, and does not wait for its end."""
        with self._api() as api:
            delete_namespace(api, name)

    def _api(self) -> ApiConnection:
        return ApiConnection(self.state.ports.apiserver, self.layout.pki, timeout=patient(60))

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        """A kubeconfig in `directory` that is this ServiceAccount: a real token in a `tokenFile`."""
        cluster = cluster_entry(self.layout, self.state.ports)
        return write_service_account_kubeconfig(self.kubectl, cluster, namespace, name, directory)

    # -- parts --------------------------------------------------------------------------------------

    def stop_component(self, name: str) -> None:
        """Ends one component in an orderly way; it stays down until started again."""
        identity = self._identity(self._component(name).name)
        if identity is not None:
            processes.stop_processes([identity])

    def kill_component(self, name: str) -> None:
        """Ends one component with SIGKILL."""
        identity = self._identity(self._component(name).name)
        if identity is not None:
            processes.kill_process(identity)

    def start_component(self, name: str, timeout: float = 180.0) -> None:
        """Starts one component that is down, on the port it had, and waits until it is healthy."""
        component = self._component(name)
        self._ensure_healthy(component, time.monotonic() + patient(timeout))

    def status(self) -> tuple[ComponentStatus, ...]:
        """Each component as it is now."""
        seen = []
        for component in self._components():
            identity = self._identity(component.name)
            healthy = identity is not None and component.health.passes()
            seen.append(ComponentStatus(component.name, identity.pid if identity else 0, healthy))
        return tuple(seen)

    @property
    def component_names(self) -> tuple[str, ...]:
        """The components that this sandbox has, in the order of their start."""
        return tuple(component.name for component in self._components())

    def _components(self) -> tuple[Component, ...]:
        return components(self.layout, self.state.ports, self.binaries, self.state.nodes)

    def _component(self, name: str) -> Component:
        """By its full name, or without `kube-` as in `apiserver`."""
        for component in self._components():
            if name in {component.name, component.name.removeprefix("kube-")}:
                return component
        raise SandboxError(f'no component "{name}": one of {", ".join(self.component_names)}')

    def _identity(self, component: str) -> processes.ProcessIdentity | None:
        identity = processes.read_pid_file(self.layout.pid_file(component))
        return identity if identity is not None and processes.is_running(identity) else None

    # -- boot ---------------------------------------------------------------------------------------

    def _ensure_up(self, deadline: float, tell: Tell) -> None:
        names = self.component_names
        running = {name for name in names if self._identity(name) is not None}
        everything_runs = len(running) == len(names) and all(one.healthy for one in self.status())
        if everything_runs and self.layout.complete.exists():
            return
        known = {self._identity(name) for name in running}
        # Those of an earlier try that was killed before it noted them.
        strays = [one for one in processes.find_owned(self.layout.directory) if one not in known]
        processes.stop_processes(strays)
        ensure_certificates(self.layout.pki)
        write_stages(self.binaries.stages, self.layout.stages, volumes=not self.state.real)
        self.layout.audit_log.parent.mkdir(exist_ok=True)
        for attempt in range(1, PORT_TRIES + 1):
            try:
                self._boot(deadline, tell)
                break
            except PortTaken as error:
                if attempt == PORT_TRIES:
                    raise
                tell(f"{error}; trying other ports")
                for identity in processes.find_owned(self.layout.directory):
                    processes.kill_process(identity)
                self.state = replace(self.state, ports=find_free_ports())
        self._ensure_objects(deadline)

    def _boot(self, deadline: float, tell: Tell) -> None:
        write_state(self.layout.state, self.state)
        write_kubeconfigs(self.layout, self.state.ports, self.name)
        for component in self._components():
            self._refuse_taken(component)
        etcd, apiserver, *others = self._components()
        for component in (etcd, apiserver):
            tell(f"starting {component.name}")
            self._ensure_healthy(component, deadline)
        tell(f"starting {', '.join(component.name for component in others)}")
        for component in others:
            self._start(component)
        for component in others:
            self._ensure_healthy(component, deadline)

    def _refuse_taken(self, component: Component) -> None:
        if self._identity(component.name) is None:
            for port in component.ports:
                if not is_free(port):
                    raise PortTaken(f"port {port} of {component.name} is taken")

    def _start(self, component: Component) -> processes.ProcessIdentity:
        """The running process of the component, started if it does not run."""
        identity = self._identity(component.name)
        if identity is None:
            identity = processes.start_process(
                component.argv,
                more=component.environment,
                log=self.layout.log(component.name),
                owner=self.layout.directory,
                die_with_parent=self.state.private,
            )
            processes.write_pid_file(self.layout.pid_file(component.name), identity)
        return identity

    def _ensure_healthy(self, component: Component, deadline: float) -> None:
        """Starts the component if it does not run, restarts it once if it runs but does not answer."""
        identity = self._identity(component.name)
        if identity is not None:
            if self._wait_healthy(
                component, identity, min(deadline, time.monotonic() + patient(WEDGED_SECONDS))
            ):
                return
            processes.stop_processes([identity])
        log = self.layout.log(component.name)
        before = log.stat().st_size if log.exists() else 0
        identity = self._start(component)
        if self._wait_healthy(component, identity, deadline):
            return
        output = _read_from(log, before)
        if "address already in use" in output:
            raise PortTaken(f"{component.name}: a port of {component.ports} was taken in the meantime")
        state = "is not healthy in time" if processes.is_running(identity) else "ended at start"
        tail = "\n".join(output.splitlines()[-12:])
        raise ComponentFailed(f"{component.name} {state}; the end of {log}:\n{tail}")

    def _wait_healthy(
        self, component: Component, identity: processes.ProcessIdentity, deadline: float
    ) -> bool:
        """False when the process has ended, or the deadline passed."""
        pause = 0.02
        while not component.health.passes():
            if not processes.is_running(identity) or time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)
        return processes.is_running(identity)

    def _ensure_objects(self, deadline: float) -> None:
        """Nodes and storage classes there, every node Ready, ServiceAccounts being made."""
        self.layout.complete.unlink(missing_ok=True)
        with self._api() as api:
            ensure_objects(api, self.state.profile, deadline, self.state.nodes)
        self.layout.complete.touch()


def _read_from(path: Path, offset: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def _read_matching_state(layout: Layout, name: str, profile: str | None) -> State | None:
    """The state that is there, None where a new sandbox may be made; raises if it is another's place."""
    state = read_state(layout.state)
    if state is None:
        _refuse_foreign(layout)
        return None
    if state.name != name:
        raise SandboxError(f'{layout.directory} is the sandbox "{state.name}", not "{name}"')
    if profile is not None and profile != state.profile:
        raise SandboxError(
            f'sandbox "{name}" has the profile {state.profile}; to change it, take it down first'
        )
    return state


def _refuse_foreign(layout: Layout) -> None:
    """A sandbox removes its directory when it goes: it never takes one with other files in it.

    Drafts of a state that was never published are ours.
    """
    if not layout.directory.exists():
        return
    for entry in layout.directory.iterdir():
        if not entry.name.startswith(f".{layout.state.name}."):
            raise SandboxError(
                f"{layout.directory} is not empty and holds no sandbox: name one that does not exist yet"
            )
