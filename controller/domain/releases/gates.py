"""All that can hold the action of a release back, in the order in which it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial

from controller.domain.api.conditions import timestamp
from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import MAKING, SERVING, Action, NextAction
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.retry_time import OWNER_CHECK_SECONDS, correction_time, retry_time
from controller.domain.releases.situation import ReleaseSituation
from controller.domain.shared.plurals import count
from controller.domain.shared.times import FAR_AHEAD

# How often, in seconds, it is looked whether a hook has ended that no action waits for.
HOOK_CHECK_SECONDS = 5.0


class Gate(StrEnum):
    """One thing that can hold an action back. Their order is that in which they are asked: the first that
    does says why. The last three are asked when the action begins, as only then their answer counts."""

    SUSPENSION = "Suspension"
    OWNER = "Owner"
    DEPENDENTS = "Dependents"
    CHART_AND_VALUES = "ChartAndValues"
    DEPENDENCIES = "Dependencies"
    DRIFT_MODE = "DriftMode"
    RECURRING_DRIFT = "RecurringDrift"
    RUNNING_HOOK = "RunningHook"
    BACKOFF = "Backoff"
    PLAN = "Plan"
    SIZE = "Size"
    SLOT = "Slot"
    """`ActionSlots.start`: others may take the last slot until the very moment in which the action begins."""
    OBJECT_OWNER = "ObjectOwner"
    """`OwnerGuard.refuse`: whose the objects are that Helm would write, within the action, which may fail."""
    IMMUTABLE_FIELDS = "ImmutableFields"
    """`refuse_fixed_changes`: dry runs of all that Helm would send, within the action; it fails of them."""


# What a gate says of a step: what happens instead, None when it lets it pass.
Check = Callable[[NextAction], NextAction | None]


def gates(situation: ReleaseSituation) -> tuple[Check, ...]:
    """The gates that are asked before an action begins, in their order, for one release."""
    return tuple(partial(_CHECKS[gate], situation) for gate in Gate if gate in _CHECKS)


def no_slot() -> NextAction:
    """What the gate `Slot` says. Whoever frees a slot has the bundle looked at in its turn."""
    text = "waits, because the maximum number of releases is being changed"
    return NextAction(Action.WAIT, Reason.WAITING_FOR_SLOT, text)


def owned_by(owner: str) -> NextAction:
    """The release is not the bundle's to have; `owner` is what the message says of whose it is."""
    text = f"the release {owner}"
    return NextAction(Action.WAIT, Reason.RELEASE_NAME_TAKEN, text, again_after=OWNER_CHECK_SECONDS)


def _suspension(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    del step  # nothing at all is done
    if not situation.suspended:
        return None
    return NextAction(Action.NOTHING, Reason.SUSPENDED, f"suspended by {situation.suspended}")


def _owner(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    del step  # a release of another bundle is not ours to touch
    return owned_by(situation.owner) if situation.owner else None


def _dependents(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    # One that makes room for a new install is over soon.
    for_good = step.action == Action.UNINSTALL and situation.desired is None
    if not (for_good and situation.dependents):
        return None
    text = f"still needed by {', '.join(situation.dependents)}{situation.way_out}"
    return NextAction(Action.WAIT, Reason.WAITING_FOR_DEPENDENTS, text, waits_for=situation.dependents)


def _chart_and_values(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    return situation.obstacle if step.action in SERVING else None


def _dependencies(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    # An upgrade that an operator asks for by name is made all the same.
    if step.action not in SERVING or step.reason == Reason.FORCED or not situation.unmet:
        return None
    text = f"waits for {', '.join(situation.unmet)} to be deployed"
    return NextAction(Action.WAIT, Reason.WAITING_FOR_DEPENDENCY, text, waits_for=situation.unmet)


def _drift_mode(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    if step.action != Action.CORRECT or situation.drift_mode == "Correct":
        return None
    return NextAction(Action.NOTHING, Reason.DRIFTED, str(situation.drift))


def _recurring_drift(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    drift = situation.drift
    if step.action != Action.CORRECT:
        return None
    due = correction_time(drift, jitter=situation.jitter, longest=situation.retry_cap, now=situation.now)
    if due is None:
        return None
    by = f" by {', '.join(drift.rivals)}" if drift.rivals else ""
    text = (
        f"corrected {count(drift.corrections, 'time')} within an hour, and changed again{by}; "
        f"next correction at {timestamp(due + 1)}: {drift}"
    )
    return NextAction(Action.WAIT, Reason.DRIFT_RECURS, text, again_after=due - situation.now)


def _running_hook(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    hook = situation.open_hook
    if hook is None or step.action not in MAKING or hook.until <= situation.now:
        return None
    if hook.until - hook.timeout > situation.now + FAR_AHEAD:
        return None  # made while a clock was wrong; by less it may be ours, and a migration would be cut off
    if _failed_before(situation, step) is None:
        return None
    text = (
        f"Job {hook.name} of the last attempt still runs; the controller waits for its end, until "
        f"{timestamp(hook.until)} at the latest"
    )
    again_after = min(hook.until - situation.now, HOOK_CHECK_SECONDS)
    return NextAction(Action.WAIT, Reason.BACKING_OFF, text, again_after=again_after)


def _backoff(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    last = _failed_before(situation, step)
    if last is None:
        return None
    due = retry_time(last, jitter=situation.jitter, longest=situation.retry_cap, now=situation.now)
    if due is None:
        return None
    if last.lacks_right:
        text = f"retried every minute, next at {timestamp(due + 1)}"
        return NextAction(Action.WAIT, Reason.RIGHT_MISSING, text, again_after=due - situation.now)
    # The moment, not the seconds left: a message that counts down would be a status write a second.
    text = f"failed {count(last.failures, 'time')}, next try at {timestamp(due + 1)}"
    reason = Reason.OBJECT_NAME_TAKEN if last.taken else Reason.BACKING_OFF
    return NextAction(Action.WAIT, reason, text, again_after=due - situation.now)


def _failed_before(situation: ReleaseSituation, step: NextAction) -> Attempt | None:
    """The last attempt, if it was made for the sake of the same as this step would be."""
    last = situation.attempt
    if last is None or step.action in (Action.WAIT, Action.NOTHING):
        return None
    # An edit is served at once: the backoff belongs to the digest that failed. So is a new request.
    digest = situation.desired if step.action in (*MAKING, Action.UNLOCK) else ""
    if last.digest != digest or situation.requests.asks_more_than(last.requests):
        return None
    correcting = step.action == Action.CORRECT
    if (last.action == Action.CORRECT) != correcting or (correcting and situation.drift.fresh):
        # The backoff belongs to what could not be corrected: that holds up nothing else of the release.
        return None
    return last


def _plan(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    """What has begun for the very same chart and values is finished, and nothing else is begun."""
    if not situation.planning or step.action not in (*SERVING, Action.UNINSTALL):
        return None
    recorded = situation.recorded
    if step.action == Action.UNINSTALL:
        begun = recorded is not None and recorded.half_uninstalled
    else:
        begun = recorded is not None and recorded.serves == situation.desired
    if begun:
        return None
    text = f"the bundle's mode is Plan: status.plan shows what its {step.action} would do"
    return NextAction(Action.NOTHING, Reason.PLAN_PENDING, text)


def _size(situation: ReleaseSituation, step: NextAction) -> NextAction | None:
    text = situation.too_large() if step.action in SERVING else ""
    return NextAction(Action.WAIT, Reason.RELEASE_TOO_LARGE, text) if text else None


_CHECKS: Mapping[Gate, Callable[[ReleaseSituation, NextAction], NextAction | None]] = {
    Gate.SUSPENSION: _suspension,
    Gate.OWNER: _owner,
    Gate.DEPENDENTS: _dependents,
    Gate.CHART_AND_VALUES: _chart_and_values,
    Gate.DEPENDENCIES: _dependencies,
    Gate.DRIFT_MODE: _drift_mode,
    Gate.RECURRING_DRIFT: _recurring_drift,
    Gate.RUNNING_HOOK: _running_hook,
    Gate.BACKOFF: _backoff,
    Gate.PLAN: _plan,
    Gate.SIZE: _size,
}
