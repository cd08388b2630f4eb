"""Whether a region is Ready, may still become so, or waits for a person. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason

# Without a sign of life for this long (seconds), the likeliest cause is reported: no controller runs.
UNSEEN_AFTER = 15.0
_DECISIONS = frozenset(map(str, (Reason.PLAN_PENDING, Reason.PLAN_DIFFERS, Reason.PLAN_FAILED)))

# What an upgrade of OpenStack waits for until a person acts.
_UPGRADE_WAITS = frozenset(map(str, (Reason.UPGRADE_CHECKS_FAILED, Reason.REGION_UPGRADE_HELD)))

# Reasons that last as long as the pause. Other obstacles, such as a node or a pod, may recover.
_HELD_BY_PAUSE = {
    str(Reason.PAUSED): "spec.mode is Paused, so nothing is changed; set it to Apply to continue",
    str(Reason.RELEASES_FAILING): (
        "spec.mode is Paused, so failed releases are not tried again; set it to Apply to continue"
    ),
}


class RegionOutcome(Enum):
    """The outcome of a wait for the region."""

    READY = "ready"
    PENDING = "pending"
    NEEDS_EDIT = "needs edit"
    GONE = "gone"


@dataclass(frozen=True)
class RegionReadiness:
    """The outcome for a region, with reason and message of its Ready condition.

    `planned`: its plan exists, or there is nothing to do.
    """

    outcome: RegionOutcome
    reason: str = ""
    message: str = ""
    planned: bool = False


def judge(osdpl: Mapping[str, Any] | None, generation: int = 0) -> RegionReadiness:
    """The readiness of a region's object, or of None.

    Status for a spec older than `generation` (at least the object's own) does not count.
    """
    if osdpl is None:
        return RegionReadiness(RegionOutcome.GONE, "NotFound", "the region does not exist")
    meta, status = osdpl["metadata"], osdpl.get("status") or {}
    newest = max(generation, int(meta.get("generation") or 0))
    conditions = status.get("conditions") or []
    ready, stalled = find(conditions, "Ready"), find(conditions, "Stalled")
    reason, message = str(ready.get("reason") or ""), str(ready.get("message") or "")
    if int(status.get("observedGeneration") or 0) < newest:
        return RegionReadiness(
            RegionOutcome.PENDING, str(Reason.INITIALIZING), "the controller has not read the spec yet"
        )
    if meta.get("deletionTimestamp"):
        return RegionReadiness(RegionOutcome.PENDING, reason, message)
    plan = find(conditions, "Planned")
    current = int(plan.get("observedGeneration") or 0) >= newest
    planned = current and plan.get("status") == "True"
    if ready.get("status") == "True" and int(ready.get("observedGeneration") or 0) >= newest:
        return RegionReadiness(RegionOutcome.READY, reason, message, planned)
    if stalled.get("status") == "True":
        return RegionReadiness(RegionOutcome.NEEDS_EDIT, reason, message or str(stalled.get("message") or ""))
    paused = find(conditions, "Paused")
    if paused.get("status") == "True" and reason in _HELD_BY_PAUSE:
        return RegionReadiness(RegionOutcome.NEEDS_EDIT, reason, _HELD_BY_PAUSE[reason])
    if current and plan.get("reason") in _DECISIONS:
        # A person decides: until then the region stays as it was before the edit.
        return RegionReadiness(
            RegionOutcome.NEEDS_EDIT, str(plan["reason"]), str(plan.get("message") or ""), planned
        )
    if reason in _UPGRADE_WAITS:
        return RegionReadiness(RegionOutcome.NEEDS_EDIT, reason, message)
    return RegionReadiness(RegionOutcome.PENDING, reason, message, planned)


def explain_silence(osdpl: Mapping[str, Any], waited: float) -> str:
    """The advice if no controller has ever observed the region; empty while it is too early."""
    seen = int((osdpl.get("status") or {}).get("observedGeneration") or 0)
    if seen or waited < UNSEEN_AFTER:
        return ""
    namespace = osdpl["metadata"].get("namespace")
    return (
        f"no controller has observed it for {waited:.0f} s; check that one watches namespace "
        f'"{namespace}" and runs (helm list -A; kubectl get pods -A -l '
        "app.kubernetes.io/name=openstack-controller)"
    )
