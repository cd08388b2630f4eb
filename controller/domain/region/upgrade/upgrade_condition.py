"""The condition `Upgrading` of a region. Pure."""

from __future__ import annotations

from controller.domain.api.conditions import Condition
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.region.upgrade.upgrade_state import CheckState, StepState, Upgrade
from controller.domain.region.upgrade.upgrade_steps import Phase
from controller.domain.shared.plurals import count

CONDITION = "Upgrading"
MOST_TEXT = 4000


def upgrading_conditions(upgrade: Upgrade | None, generation: int) -> tuple[Condition, ...]:
    """True while steps of an upgrade are left; its reason says whether it goes on. None before the first."""
    return (_condition(upgrade, generation),) if upgrade is not None else ()


def _condition(upgrade: Upgrade, generation: int) -> Condition:
    if upgrade.over:
        finished = upgrade.phase == Phase.FINISHED
        reason = Reason.REGION_UPGRADE_FINISHED if finished else Reason.REGION_UPGRADE_ABORTED
        return Condition(CONDITION, "False", reason, shorten(upgrade.message, MOST_TEXT), generation)
    return Condition(CONDITION, "True", upgrade_reason(upgrade), upgrade_text(upgrade), generation)


def upgrade_reason(upgrade: Upgrade) -> Reason:
    """What an upgrade does that is not over, in one word."""
    step = upgrade.current
    if upgrade.phase == Phase.PREFLIGHT and any(one.state == CheckState.FAILED for one in upgrade.checks):
        return Reason.UPGRADE_CHECKS_FAILED
    failed = any(one.state == CheckState.FAILED for one in upgrade.checks)
    if (step is not None and step.state == StepState.FAILED) or (step is None and failed):
        return Reason.UPGRADE_STEP_FAILED
    return Reason.REGION_UPGRADE_HELD if upgrade.held else Reason.REGION_UPGRADING


def upgrade_text(upgrade: Upgrade) -> str:
    """How far an upgrade is, and what it waits for."""
    done = sum(step.state == StepState.DONE for step in upgrade.steps)
    failed = [one for one in upgrade.checks if one.state == CheckState.FAILED]
    details = "; ".join(f"{one.name}: {one.message}" for one in failed)
    parts = [
        f"from {upgrade.source} to {upgrade.target}, {done} of {count(len(upgrade.steps), 'step')} done",
        upgrade.message,
        details if upgrade.phase in (Phase.PREFLIGHT, Phase.FINISH) else "",
    ]
    return shorten("; ".join(part for part in parts if part), MOST_TEXT)
