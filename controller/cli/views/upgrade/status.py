"""View of `osctl upgrade status`, from the region's object. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.cli.views.release_rows import short_duration
from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import RegionSpec, parse_region_spec
from controller.domain.region.upgrade.upgrade_condition import CONDITION, upgrade_reason
from controller.domain.region.upgrade.upgrade_state import (
    NO_CHANGE,
    Check,
    CheckState,
    StepState,
    Upgrade,
    upgrade_in,
)
from controller.domain.region.upgrade.upgrade_steps import Phase
from controller.domain.shared.plurals import count

MOST_NODES = 5
# Reasons of an upgrade that waits for a person.
WAITS = (Reason.UPGRADE_CHECKS_FAILED, Reason.REGION_UPGRADE_HELD)


@dataclass(frozen=True)
class StepLine:
    """One step. `seconds`: how long it has taken, None before it begins. `unchanged`: it changed nothing."""

    name: str
    phase: str
    state: StepState
    seconds: float | None
    message: str
    unchanged: bool


@dataclass(frozen=True)
class UpgradeView:
    """An upgrade on one screen.

    `reason` says in one word what it does. `obstacle` is why the spec as it is now is not served, or empty.
    `next` is what to do. `back` says whether the version before can return.
    """

    name: str
    namespace: str
    upgrade: Upgrade
    reason: str
    message: str
    seconds: float | None
    steps: tuple[StepLine, ...]
    back: str
    computes: str
    checks: str
    next: str
    obstacle: str = ""

    @property
    def done(self) -> int:
        """The number of steps that are done."""
        return sum(step.state == StepState.DONE for step in self.steps)

    @property
    def waits(self) -> bool:
        """Whether it makes no progress before a person acts."""
        return bool(self.obstacle) or self.reason in map(str, WAITS)

    @property
    def headline(self) -> str:
        """How far it is, in a line."""
        return _headline(self.upgrade)


def upgrade_headline(osdpl: Mapping[str, Any]) -> str:
    """How far the upgrade of a region is, in a line; empty without one that is under way."""
    upgrade = upgrade_in(osdpl.get("status") or {})
    return _headline(upgrade) if upgrade is not None and not upgrade.over else ""


def _headline(upgrade: Upgrade) -> str:
    way = f"{upgrade.source} → {upgrade.target}"
    if upgrade.over:
        return f"{way}: {upgrade.phase}"
    if upgrade.phase == Phase.PREFLIGHT:
        return f"{way}: {upgrade.message or 'checks run'}"
    at, done = upgrade.current, sum(step.state == StepState.DONE for step in upgrade.steps)
    where = f": {at.name} {str(at.state).lower()}" if at is not None and at.begun else ""
    return f"{way}, {done} of {count(len(upgrade.steps), 'step')} done{where}"


def upgrade_view(osdpl: Mapping[str, Any], now: float) -> UpgradeView | None:
    """The view at `now` (seconds since the epoch), or None if the region was never upgraded."""
    status, meta = osdpl.get("status") or {}, osdpl["metadata"]
    upgrade = upgrade_in(status)
    if upgrade is None:
        return None
    conditions = status.get("conditions") or []
    held = find(conditions, CONDITION).get("reason") == Reason.REGION_UPGRADE_HELD
    upgrade = replace(upgrade, held=held and not upgrade.over)
    spec = parse_region_spec(osdpl.get("spec"))
    name, namespace = str(meta["name"]), str(meta.get("namespace") or "")
    obstacle = "" if upgrade.over else _obstacle(conditions, spec)
    return UpgradeView(
        name=name,
        namespace=namespace,
        upgrade=upgrade,
        reason="" if upgrade.over else str(upgrade_reason(upgrade)),
        message=upgrade.message,
        seconds=_seconds(upgrade.started, upgrade.ended, now),
        steps=tuple(_line(upgrade, step.name, now) for step in upgrade.steps),
        back=_back(upgrade),
        computes=_computes(upgrade),
        checks=checks_text(upgrade.checks),
        next=_next(upgrade, spec, f"{name} -n {namespace}" if namespace else name, obstacle),
        obstacle=obstacle,
    )


def checks_text(checks: Sequence[Check]) -> str:
    """The number of checks of each outcome, and those that did not pass."""
    counted = [(state, sum(one.state == state for one in checks)) for state in CheckState]
    text = ", ".join(f"{number} {str(state).lower()}" for state, number in counted if number)
    names = [one.name for one in checks if one.state not in (CheckState.PASSED, CheckState.SKIPPED)]
    return f"{text}: {', '.join(dict.fromkeys(names))}" if names else text


def _line(upgrade: Upgrade, name: str, now: float) -> StepLine:
    step = next(one for one in upgrade.steps if one.name == name)
    unchanged = step.state == StepState.DONE and step.message == NO_CHANGE
    seconds = None if unchanged else _seconds(step.started, step.ended, now)
    return StepLine(step.name, str(step.phase), step.state, seconds, step.message, unchanged)


def _seconds(started: float, ended: float, now: float) -> float | None:
    return max(0.0, (ended or now) - started) if started else None


def _obstacle(conditions: Sequence[Mapping[str, Any]], spec: RegionSpec) -> str:
    """Why the spec, as it is now, holds the upgrade."""
    if spec.paused:
        return "spec.mode is Paused, so nothing is changed"
    valid = find(conditions, "SpecValid")
    if valid.get("status") == "False":
        return str(valid.get("message") or valid.get("reason"))
    return ""


def _back(upgrade: Upgrade) -> str:
    if upgrade.phase == Phase.ABORTED:
        return ""
    if upgrade.point_of_no_return:
        return "not possible: a step has begun that migrates data; only forward, or by restore"
    if upgrade.over:
        return ""
    return f"possible until a step migrates data: osctl upgrade abort returns to {upgrade.source}"


def _computes(upgrade: Upgrade) -> str:
    nodes = upgrade.nodes
    if not nodes.total:
        return ""
    text = f"{nodes.done} of {count(nodes.total, 'node')} done"
    if nodes.failed:
        named = ", ".join(nodes.failed[:MOST_NODES])
        more = len(nodes.failed) - MOST_NODES
        text += f"; failed: {named}{f' and {more} more' if more > 0 else ''}"
    return text


def _next(upgrade: Upgrade, spec: RegionSpec, region: str, obstacle: str) -> str:
    """What a person does next."""
    if upgrade.phase == Phase.FINISHED:
        return f"check the region: osctl smoke {region}"
    if upgrade.phase == Phase.ABORTED:
        return f"correct what stopped it, and begin again: osctl upgrade start {upgrade.target} {region}"
    if obstacle:
        return f"osctl resume {region}" if spec.paused else "edit the spec as the message says"
    match upgrade_reason(upgrade):
        case Reason.UPGRADE_CHECKS_FAILED:
            # The controller makes checks that are Jobs again only if it is asked.
            text = f"correct what the checks name, then: osctl reconcile {region}"
            return f"{text}. Or return: osctl upgrade abort {region}"
        case Reason.UPGRADE_STEP_FAILED:
            if upgrade.current is None:
                return f"correct the cause, then: osctl reconcile {region}"
            text = "correct the cause; the step then continues by itself"
            return text if upgrade.point_of_no_return else f"{text}. Or return: osctl upgrade abort {region}"
        case Reason.REGION_UPGRADE_HELD | Reason.REGION_UPGRADING if spec.upgrade.paused:
            return f"osctl upgrade resume {region}"
        case Reason.REGION_UPGRADE_HELD:
            return f"osctl upgrade continue {region}"
    return f"nothing; osctl upgrade status {region} --watch shows the progress"


def time_text(seconds: float | None) -> str:
    """A duration for a column, `-` for none."""
    return short_duration(seconds) if seconds is not None else "-"


def as_data(view: UpgradeView) -> dict[str, Any]:
    """The view for programs: `status.upgrade` with what follows from it."""
    found: dict[str, Any] = {
        "region": {"namespace": view.namespace, "name": view.name},
        **view.upgrade.entry(),
        "reason": view.reason,
        "waitsForPerson": view.waits,
        "obstacle": view.obstacle,
        "done": view.done,
        "next": view.next,
    }
    return {key: value for key, value in found.items() if value not in ("", None)}
