"""How far an upgrade is: what `status.upgrade` remembers of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.api.shortened_text import shorten
from controller.domain.region.upgrade.upgrade_steps import ENDED, Phase
from controller.domain.shared.times import seconds_of

MOST_TEXT = 1000
# The message of a step that was done without a change.
NO_CHANGE = "no change"


class StepState(StrEnum):
    """How far one step is: the word in `status.upgrade.steps[].state`."""

    PENDING = "Pending"
    PREPARING = "Preparing"
    RUNNING = "Running"
    FAILED = "Failed"
    DONE = "Done"


class CheckState(StrEnum):
    """The outcome of one check before an upgrade."""

    PASSED = "Passed"
    WARNING = "Warning"
    RUNNING = "Running"
    FAILED = "Failed"
    SKIPPED = "Skipped"


# Nothing of a step has changed in these.
_BEFORE = (StepState.PENDING, StepState.PREPARING)
# With these an upgrade does not begin.
HOLDING = (CheckState.RUNNING, CheckState.FAILED)


@dataclass(frozen=True)
class Check:
    """One check before an upgrade begins. `name` is the one for `spec.upgrade.skipChecks`; `job`: the Job
    whose end this is, empty while it runs and for a check without one."""

    name: str
    state: CheckState
    message: str = ""
    service: str = ""
    job: str = ""


@dataclass(frozen=True)
class StepRecord:
    """One step. Times are seconds since the epoch, 0 while there is none; `healthy_since`: since when its
    gate has held without a break. `prepared`: servers were made ready for it, and are replaced one by one."""

    name: str
    service: str
    phase: Phase
    state: StepState = StepState.PENDING
    started: float = 0.0
    ended: float = 0.0
    healthy_since: float = 0.0
    prepared: bool = False
    message: str = ""

    @property
    def begun(self) -> bool:
        """Whether the step may change releases."""
        return self.state not in _BEFORE

    @property
    def changed(self) -> bool:
        """Whether the step has begun, and found something to change."""
        return self.begun and not (self.state == StepState.DONE and self.message == NO_CHANGE)


@dataclass(frozen=True)
class RunningImage:
    """An image that ran when an upgrade began: its name in the pods, and what the tag stood for then."""

    image: str
    digest: str


@dataclass(frozen=True)
class NodeProgress:
    """Nodes of the step that replaces pods node by node: how many are done, of how many, and which failed."""

    done: int = 0
    total: int = 0
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Upgrade:
    """An upgrade from version `source` to `target`.

    `point_of_no_return`: a step has begun that cannot be taken back. `held`: the next step waits for
    a person, which the status does not remember. `checks` are those before it began, and `images` what ran.
    """

    source: str
    target: str
    steps: tuple[StepRecord, ...]
    phase: Phase = Phase.PREFLIGHT
    started: float = 0.0
    ended: float = 0.0
    point_of_no_return: bool = False
    held: bool = False
    message: str = ""
    checks: tuple[Check, ...] = ()
    nodes: NodeProgress = field(default=NodeProgress())
    images: tuple[RunningImage, ...] = ()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.phase in ENDED

    @property
    def current(self) -> StepRecord | None:
        """The first step that is not done; None if all are."""
        return next((step for step in self.steps if step.state != StepState.DONE), None)

    @property
    def begun(self) -> frozenset[str]:
        """The names of the steps that have begun."""
        return frozenset(step.name for step in self.steps if step.begun)

    def permission(self, step: str) -> str:
        """The annotation with which a person allows a step of this upgrade, and of no later one."""
        return f"{self.target}/{step}"

    def version_of(self, service: str) -> str:
        """The version that all parts of a service have, empty while it is half-way."""
        states = {step.state for step in self.steps if step.service == service}
        if states <= {StepState.DONE}:
            return self.target
        return "" if any(step.changed for step in self.steps if step.service == service) else self.source

    def is_half_way(self, service: str) -> bool:
        """Whether a step of the service has changed something, and not all of them are done."""
        own = [step for step in self.steps if step.service == service]
        changed = any(step.changed for step in own)
        return not self.over and changed and any(step.state != StepState.DONE for step in own)

    def entry(self) -> dict[str, Any]:
        """`status.upgrade`; what is not known is left out."""
        found = {
            "from": self.source,
            "to": self.target,
            "phase": str(self.phase),
            "started": _time(self.started),
            "ended": _time(self.ended),
            "pointOfNoReturn": self.point_of_no_return,
            "message": shorten(self.message, MOST_TEXT),
            "steps": [_step_entry(step) for step in self.steps],
            "checks": [_check_entry(check) for check in self.checks],
            "computes": _nodes_entry(self.nodes),
            "images": [{"image": one.image, "digest": one.digest} for one in self.images],
        }
        return {key: value for key, value in found.items() if value not in ("", [], None)}


def is_between_versions(status: Mapping[str, Any]) -> bool:
    """Whether an upgrade migrates data: a backup of this moment fits neither version."""
    found = upgrade_in(status)
    return found is not None and not found.over and found.point_of_no_return


def upgrade_in(status: Mapping[str, Any]) -> Upgrade | None:
    """The upgrade that an osdpl's status remembers; None if there is none, or it cannot be read."""
    given = status.get("upgrade")
    if not isinstance(given, Mapping) or not (given.get("from") and given.get("to")):
        return None
    try:
        return Upgrade(
            source=str(given["from"]),
            target=str(given["to"]),
            steps=tuple(_step(one) for one in given.get("steps") or ()),
            phase=Phase(str(given.get("phase"))),
            started=seconds_of(given.get("started")),
            ended=seconds_of(given.get("ended")),
            point_of_no_return=bool(given.get("pointOfNoReturn")),
            message=str(given.get("message") or ""),
            checks=tuple(_check(one) for one in given.get("checks") or ()),
            nodes=_nodes(given.get("computes") or {}),
            images=tuple(
                RunningImage(str(one["image"]), str(one["digest"])) for one in given.get("images") or ()
            ),
        )
    except (KeyError, ValueError, TypeError):
        return None


def upgrade_obstacle(osdpl: Mapping[str, Any]) -> str:
    """Why nothing else may begin that changes releases, while an upgrade or a restore runs; empty without."""
    if restore := (osdpl.get("status") or {}).get("restore"):
        return f"restore {restore} runs: it begins after that"
    upgrade = upgrade_in(osdpl.get("status") or {})
    if upgrade is None or upgrade.over:
        return ""
    return f"an upgrade to {upgrade.target} runs: it begins after that"


def _time(seconds: float) -> str:
    return timestamp(seconds) if seconds else ""


def _step_entry(step: StepRecord) -> dict[str, Any]:
    found = {
        "name": step.name,
        "service": step.service,
        "phase": str(step.phase),
        "state": str(step.state),
        "started": _time(step.started),
        "ended": _time(step.ended),
        "healthySince": _time(step.healthy_since),
        "prepared": step.prepared,
        "message": shorten(step.message, MOST_TEXT),
    }
    return {key: value for key, value in found.items() if value}


def _step(given: Mapping[str, Any]) -> StepRecord:
    return StepRecord(
        name=str(given["name"]),
        service=str(given["service"]),
        phase=Phase(str(given["phase"])),
        state=StepState(str(given["state"])),
        started=seconds_of(given.get("started")),
        ended=seconds_of(given.get("ended")),
        healthy_since=seconds_of(given.get("healthySince")),
        prepared=bool(given.get("prepared")),
        message=str(given.get("message") or ""),
    )


def _check_entry(check: Check) -> dict[str, Any]:
    found = {
        "name": check.name,
        "service": check.service,
        "state": str(check.state),
        "message": shorten(check.message, MOST_TEXT),
        "job": check.job,
    }
    return {key: value for key, value in found.items() if value}


def _check(given: Mapping[str, Any]) -> Check:
    return Check(
        name=str(given["name"]),
        state=CheckState(str(given["state"])),
        message=str(given.get("message") or ""),
        service=str(given.get("service") or ""),
        job=str(given.get("job") or ""),
    )


def _nodes_entry(nodes: NodeProgress) -> dict[str, Any] | None:
    if not nodes.total:
        return None
    return {"done": nodes.done, "total": nodes.total, "failed": list(nodes.failed)}


def _nodes(given: Mapping[str, Any]) -> NodeProgress:
    failed = given.get("failed") or ()
    return NodeProgress(int(given.get("done") or 0), int(given.get("total") or 0), tuple(map(str, failed)))
