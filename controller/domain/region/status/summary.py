"""The summary that core computes of a region: state, progress, Ready and its companions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import Condition, Status, find
from controller.domain.api.names import SERVICE_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.backups.backup_state import CONDITION as BACKED_UP
from controller.domain.backups.backup_state import backup_condition
from controller.domain.region.controller_skew import SkewRefusal
from controller.domain.region.facts import RegionFacts
from controller.domain.region.progress import (
    RegionProgress,
    healthy_text,
    region_progress,
    service_entry,
)
from controller.domain.region.status.ready import (
    deployed_text,
    paused_text,
    planned_now,
    ready_condition,
    remaining_text,
)
from controller.domain.region.status.stalled import has_lost_credentials, stalled_condition
from controller.domain.region.upgrade.upgrade_condition import CONDITION as UPGRADING
from controller.domain.region.upgrade.upgrade_condition import upgrading_conditions
from controller.domain.region.upgrade.upgrade_state import Upgrade, upgrade_in
from controller.domain.region.upgrade.upgrade_steps import Phase

# Nothing follows from these for a spec that was seen with its charts before.
UNSEEN = (Reason.CHART_PENDING, Reason.REPOSITORY_UNAVAILABLE)
OWN_FIELDS = (
    *("appliedGeneration", "appliedFields", "healthy", "openstackVersion", "fingerprint"),
    *("services", "initialization", "plan", "upgrade", "restore", "backup"),
)
# What it always writes beside them, and an older controller keeps as it is.
_OTHER_FIELDS = ("state", "deployed", "version", "progress")
OWN_CONDITIONS = (
    "Ready",
    "Reconciling",
    "Stalled",
    "SpecValid",
    "Planned",
    "Paused",
    "Deleting",
    UPGRADING,
    BACKED_UP,
)


@dataclass(frozen=True)
class RegionSummary:
    """What core writes: `fields` of the status beside the conditions, and its own conditions."""

    fields: Mapping[str, Any]
    conditions: tuple[Condition, ...]


def summarize(facts: RegionFacts) -> RegionSummary:
    """State, progress, versions and conditions of the region."""
    facts = _as_accepted(facts)
    progress = region_progress(facts.bundles, facts.desired)
    ready = ready_condition(facts, progress)
    provisioned = bool((facts.before.get("initialization") or {}).get("provisioned"))
    running_version = str(facts.before.get("openstackVersion") or "")
    if progress.complete and facts.openstack_version and not facts.problem and not facts.deleting:
        running_version = facts.openstack_version
    if facts.upgrade is not None and facts.upgrade.phase == Phase.FINISHED:
        running_version = facts.upgrade.target
    fields: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "appliedGeneration": facts.applied or None,
        "appliedFields": facts.fields if facts.fields is not None else facts.before.get("appliedFields"),
        "state": _state(facts, progress, running_version),
        "deployed": progress.complete and progress.total > 0,
        "version": facts.version,
        "openstackVersion": running_version,
        "fingerprint": facts.fingerprint or str(facts.before.get("fingerprint") or ""),
        "progress": f"{progress.done}/{progress.total}",
        "healthy": healthy_text(facts.before.get("health") or {}),
        "services": {
            str(bundle["metadata"]["name"]): service_entry(
                bundle,
                facts.before,
                _version_of(facts, bundle),
                half_way=facts.upgrade is not None and facts.upgrade.is_half_way(_service_of(bundle)),
            )
            for bundle in facts.bundles
        },
        # Latched: once true it is always repeated, and the CRD refuses a status without it.
        "initialization": {"provisioned": True} if provisioned or ready.status == "True" else None,
        "plan": _plan(facts),
        "upgrade": _upgrade_entry(facts),
        "restore": facts.restore,
        "backup": facts.backup.entry() if facts.backup and not facts.deleting else None,
    }
    present = {key: value for key, value in fields.items() if value not in (None, "", {})}
    return RegionSummary(present, (ready, *_others(facts, progress)))


def _version_of(facts: RegionFacts, bundle: Mapping[str, Any]) -> str:
    """The version that a service's bundle is for; empty while it is half-way, or not as the spec asks."""
    if not facts.upgrading or facts.upgrade is None:
        return facts.openstack_version
    return facts.upgrade.version_of(_service_of(bundle))


def _service_of(bundle: Mapping[str, Any]) -> str:
    return str((bundle["metadata"].get("labels") or {}).get(SERVICE_LABEL) or "")


def _upgrade_entry(facts: RegionFacts) -> dict[str, Any] | None:
    """`status.upgrade`: of this pass, else as it was."""
    if facts.deleting:
        return None
    return facts.upgrade.entry() if facts.upgrade is not None else facts.before.get("upgrade")


def _as_accepted(facts: RegionFacts) -> RegionFacts:
    """A spec that this version has accepted stays accepted while its charts cannot be read again, for
    example in a pod without a cache while the repository does not answer. Every known service must
    still have its bundle, because without charts it is not known whether a lost one is needed.
    """
    known = facts.before.get("conditions") or []
    valid = find(known, "SpecValid")
    accepted = valid.get("status") == "True" and valid.get("observedGeneration") == facts.generation
    same = accepted and facts.before.get("version") == facts.version
    planned = "plan" in facts.before
    if planned and find(known, "Planned").get("reason") not in (Reason.PLAN_EMPTY, Reason.NOT_PLANNED):
        # What waits for an approval is put together from the charts.
        return facts
    services = (facts.before.get("services") or {}).keys()
    whole = services and services <= {str(bundle["metadata"]["name"]) for bundle in facts.bundles}
    if facts.deleting or not (same and whole) or facts.problem_reason not in UNSEEN or not facts.problem:
        return facts
    version = str(facts.before.get("openstackVersion") or "")
    text = _unseen(facts, str(valid.get("message") or ""))
    keeps = facts.keeps_plan or planned
    # What a pause held back it still holds back. Ready does not show it: it has but one reason, and whatever
    # else keeps the region from being ready goes before.
    behind = facts.applied != facts.generation or find(known, "Paused").get("reason") == Reason.HELD_BACK
    awaiting = facts.paused and behind
    return replace(
        facts,
        problem="",
        warnings=text,
        openstack_version=version,
        keeps_plan=keeps,
        awaiting_approval=awaiting,
    )


def _unseen(facts: RegionFacts, before: str) -> str:
    """What SpecValid tells meanwhile: `before` stays while it is about the same, however often a repository
    words its refusal again, since each other text would be a write."""
    reported = "the spec is accepted; the charts are not available now"
    for reason in (Reason.REPOSITORY_UNAVAILABLE, facts.problem_reason):
        if before.startswith(f"{reported} ({reason})"):
            return before
    return f"{reported} ({facts.problem_reason}): {facts.problem}"


def refusal(managed: str, generation: int, before: Mapping[str, Any]) -> RegionSummary:
    """What is said of an osdpl beside the one that is served, `managed`: nothing is done with it.

    `before` is its status as read: what is latched stays.
    """
    text = (
        f'this controller runs "{managed}"; delete one of the two, or install another controller for '
        "another namespace"
    )
    conditions = _stalled(Reason.ANOTHER_DEPLOYMENT_MANAGED, text, generation)
    latched = {
        name: before[name]
        for name in ("initialization", "appliedGeneration", "appliedFields")
        if before.get(name)
    }
    return RegionSummary({"observedGeneration": generation, **latched}, conditions)


def refusal_by_version(refusal: SkewRefusal, generation: int, before: Mapping[str, Any]) -> RegionSummary:
    """What a controller says of a region that it leaves to one of another version.

    Everything else that core has reported stays, also the version: it is how the next pass knows.
    """
    kept = {name: before[name] for name in (*_OTHER_FIELDS, *OWN_FIELDS) if name in before}
    conditions = _stalled(refusal.reason, refusal.text, generation)
    return RegionSummary({**kept, "observedGeneration": generation}, conditions)


def _stalled(reason: Reason, text: str, generation: int) -> tuple[Condition, ...]:
    reported: dict[str, Status] = {"Ready": "False", "Stalled": "True"}
    return tuple(
        Condition(type_, reported.get(type_, "Unknown"), reason, text, generation)
        for type_ in OWN_CONDITIONS
        if type_ not in (UPGRADING, BACKED_UP)
    )


def _plan(facts: RegionFacts) -> dict[str, Any]:
    """`status.plan`; of a spec that cannot be served only the approval is kept, for when it can be again."""
    accepted = {"accepted": facts.approval.entry()} if facts.approval else {}
    if facts.deleting:
        return {}
    if facts.plan is not None:
        return facts.plan.status(facts.generation, facts.approval)
    if not facts.keeps_plan:
        return accepted
    known = {key: value for key, value in (facts.before.get("plan") or {}).items() if key != "accepted"}
    if known and not facts.paused:
        known["observedGeneration"] = facts.generation
    return {**known, **accepted}


def _others(facts: RegionFacts, progress: RegionProgress) -> list[Condition]:
    generation = facts.generation
    deleting: Status = "True" if facts.deleting else "False"
    invalid, goes_on = bool(facts.problem) and not facts.passing, facts.goes_on(progress)
    busy = facts.deleting or facts.passing or not (progress.complete or facts.problem or facts.paused)
    busy = busy or facts.upgrading or goes_on or (facts.paused and bool(progress.moving))
    busy = busy and not has_lost_credentials(facts, progress)
    valid = (
        # Without its charts it is not known whether a spec can be served.
        Condition(
            "SpecValid", "False" if invalid else "Unknown", facts.problem_reason, facts.problem, generation
        )
        if facts.problem
        else Condition("SpecValid", "True", Reason.SPEC_ACCEPTED, facts.warnings, generation)
    )
    return [
        valid,
        planned_now(facts),
        Condition(
            "Reconciling",
            "True" if busy else "False",
            Reason.DELETING if facts.deleting else Reason.APPLYING,
            remaining_text(facts) if facts.deleting else _applying_text(facts, progress),
            generation,
        ),
        stalled_condition(facts, progress),
        *upgrading_conditions(_known_upgrade(facts), generation),
        *_backed_up(facts),
        _paused(facts, progress),
        Condition(
            "Deleting",
            deleting,
            Reason.DELETING if facts.deleting else Reason.NOT_DELETING,
            remaining_text(facts) if facts.deleting else "",
            generation,
        ),
    ]


def _known_upgrade(facts: RegionFacts) -> Upgrade | None:
    return facts.upgrade if facts.upgrade is not None else upgrade_in(facts.before)


def _backed_up(facts: RegionFacts) -> tuple[Condition, ...]:
    if facts.backup is None or facts.deleting:
        return ()
    return (backup_condition(facts.backup, facts.generation, facts.now),)


def _applying_text(facts: RegionFacts, progress: RegionProgress) -> str:
    text = deployed_text(progress)
    if not facts.problem or facts.passing or facts.paused:
        return text
    what = f"nothing happens in {', '.join(facts.lacking)}" if facts.lacking else "nothing new begins"
    return f"{text}; {what} until the error in condition SpecValid is corrected"


def _paused(facts: RegionFacts, progress: RegionProgress) -> Condition:
    """Its reason is also the memory of what a pause holds back, for when that cannot be compared again."""
    if not facts.paused or facts.deleting:
        return Condition("Paused", "False", Reason.NOT_PAUSED, "", facts.generation)
    waits = paused_text(facts, progress)
    text = waits or "spec.mode is Paused: nothing is changed"
    if progress.moving:
        text += f"; these actions still finish: {', '.join(progress.moving)}"
    return Condition("Paused", "True", Reason.HELD_BACK if waits else Reason.PAUSED, text, facts.generation)


def _state(facts: RegionFacts, progress: RegionProgress, running_version: str) -> str:
    if facts.deleting:
        return "Deleting"
    if facts.restore:
        return "Restoring"
    if facts.problem:
        return "Waiting" if facts.passing else "Applying" if facts.goes_on(progress) else "Failed"
    if facts.paused:
        return "Paused"
    if facts.waits:
        return "Planned"
    if facts.upgrading:
        return "Upgrading"
    if progress.complete:
        return "Applied"
    if progress.failing:
        return "Failed"
    if running_version and running_version != facts.openstack_version:
        return "Upgrading"
    return "Applying" if progress.begun else "Waiting"
