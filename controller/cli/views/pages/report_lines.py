"""The lines of a region's page. Each has only named fields of the status, so that nothing else slips in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """A time and its distance from that of the page, such as `2026-03-01 09:00` and `3 h ago`."""

    time: str = ""
    distance: str = ""


@dataclass(frozen=True)
class Tile:
    """One figure at the head of the page. `part`: the part of the page that explains it."""

    title: str
    figure: str
    text: str
    level: str
    part: str


@dataclass(frozen=True)
class ComponentLine:
    """One component of an application."""

    name: str
    status: str
    pods: str
    since: Moment
    message: str


@dataclass(frozen=True)
class Application:
    """One application and its components, those that are not ready first."""

    name: str
    service: str
    components: tuple[ComponentLine, ...]

    @property
    def ready(self) -> int:
        """The number of ready components."""
        return sum(one.status == "Ready" for one in self.components)

    @property
    def status(self) -> str:
        """The worst status of its components."""
        found = {one.status for one in self.components}
        order = ("Unhealthy", "Progressing", "Unknown", "Ready")
        return next((one for one in order if one in found), "Unknown")


@dataclass(frozen=True)
class NodeLine:
    """One node of the region."""

    name: str
    state: str
    roles: str
    compute: str
    servers: str
    maintenance: str
    since: Moment
    message: str

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to say of it but that it is ready."""
        return self.state == "Ready" and not self.maintenance and not self.message


@dataclass(frozen=True)
class MaintenanceLine:
    """One ComputeMaintenance of the region."""

    name: str
    node: str
    mode: str
    phase: str
    progress: str
    started: Moment
    message: str


@dataclass(frozen=True)
class SecretLine:
    """One Secret: `changed`, `ends` and `following` (the next rotation) have no time if there is none."""

    name: str
    state: str
    level: str
    changed: Moment
    ends: Moment
    following: Moment
    message: str


@dataclass(frozen=True)
class ActionLine:
    """The last action on one release."""

    at: Moment
    release: str
    action: str
    result: str
    took: str
    message: str

    @property
    def level(self) -> str:
        """Whether it went well."""
        return "bad" if self.result.startswith("Failed") else "busy" if self.result == "Running" else "good"


@dataclass(frozen=True)
class StepLine:
    """One step of an upgrade."""

    name: str
    phase: str
    state: str
    took: str
    message: str


@dataclass(frozen=True)
class UpgradePart:
    """The upgrade that runs, or the last one."""

    headline: str
    message: str
    checks: str
    computes: str
    back: str
    next: str
    steps: tuple[StepLine, ...]


@dataclass(frozen=True)
class Fact:
    """A title and a text, with a level if it is good or bad."""

    title: str
    text: str
    level: str = "idle"


@dataclass(frozen=True)
class ConditionLine:
    """One condition of the region. `level`: whether its status is good."""

    type: str
    status: str
    level: str
    reason: str
    since: Moment
    message: str


@dataclass(frozen=True)
class Parts:
    """The parts of the page below its head; an empty one is left out or says so."""

    applications: tuple[Application, ...] = ()
    nodes: tuple[NodeLine, ...] = ()
    hosts_without_node: tuple[str, ...] = ()
    maintenances: tuple[MaintenanceLine, ...] = ()
    maintenances_unread: str = ""
    certificates: tuple[SecretLine, ...] = ()
    credentials: tuple[SecretLine, ...] = ()
    actions: tuple[ActionLine, ...] = ()
    upgrade: UpgradePart | None = None
    backup: tuple[Fact, ...] = ()
    conditions: tuple[ConditionLine, ...] = ()
