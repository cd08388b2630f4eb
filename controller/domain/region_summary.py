"""The summary that core computes of a region: state, progress, Ready and its companions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.conditions import Condition, Status, find, shorten
from controller.domain.reasons import Reason, known_reason
from controller.domain.region_plan import Approval, RegionPlan, planned_condition
from controller.domain.region_progress import Progress, healthy_text, region_progress, service_entry
from controller.domain.region_releases import bundle_mark, marks_digest

# Which condition each container answers for. Ready needs those of the containers that are deployed.
ANSWERED_BY = {
    "helmbundle": "ReleasesReady",
    "health": "WorkloadsHealthy",
    "secrets": "SecretsExchanged",
    "node": "NodesReady",
}
# What keeps a spec from being served and may end without an edit.
PASSING = (Reason.CHART_PENDING, Reason.REPOSITORY_UNAVAILABLE, Reason.SECRET_MISSING)
# Nothing follows from these for a spec that was seen with its charts before.
UNSEEN = (Reason.CHART_PENDING, Reason.REPOSITORY_UNAVAILABLE)
OWN_FIELDS = (
    *("appliedGeneration", "healthy", "openstackVersion", "fingerprint"),
    *("services", "initialization", "plan"),
)
OWN_CONDITIONS = ("Ready", "Reconciling", "Stalled", "SpecValid", "Planned", "Paused", "Deleting")

_HELD = (
    "spec.mode is Paused, and the spec asks for something else than what runs: it is left as it is until "
    "spec.mode is Apply; with Plan, status.plan tells first what would be done"
)


@dataclass(frozen=True)
class Silence:
    """Containers that give no sign of life: `silent` those of which that is certain, `unheard` those of
    which nobody can tell who has not listened to them for long."""

    silent: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RegionFacts:
    """What core knows when it sums up.

    `before` is the osdpl's status as read; `bundles` the HelmBundles as read after they were applied;
    `wanted` the names of those that the spec asks for; `problem` why the spec cannot be served, empty
    when it can, and `problem_reason` the word for it; `fingerprint` is empty unless the bundles are what
    the spec asks for, and `openstack_version` with it; `containers` those that the chart deploys. `plan`
    is what a region with mode Plan waits with, `approval` the approval that holds or was the last,
    `approved` is `spec.approvedPlan`; `keeps_plan`: the status goes on showing the plan that it has.
    `held`: the region is paused, and its bundles are not what the spec asks for.
    `silence`: which of the other containers do not live, so that what they said counts no more.
    """

    name: str
    generation: int
    version: str
    openstack_version: str
    fingerprint: str
    containers: tuple[str, ...]
    before: Mapping[str, Any]
    bundles: Sequence[Mapping[str, Any]]
    wanted: frozenset[str] = frozenset()
    problem: str = ""
    problem_reason: Reason = Reason.SPEC_INVALID
    warnings: str = ""
    paused: bool = False
    held: bool = False
    deleting: bool = False
    remaining: tuple[str, ...] = field(default=())
    plan: RegionPlan | None = None
    approval: Approval | None = None
    approved: str = ""
    keeps_plan: bool = False
    silence: Silence = field(default=Silence())

    @property
    def passing(self) -> bool:
        """Whether the problem may go away by itself."""
        return bool(self.problem) and self.problem_reason in PASSING

    @property
    def waits(self) -> bool:
        """Whether the spec is planned, and not acted upon."""
        return self.plan is not None and not self.plan.empty

    @property
    def applied(self) -> int:
        """The newest generation that the bundles were what was asked for."""
        before = int(self.before.get("appliedGeneration") or 0)
        return self.generation if self.fingerprint else before


@dataclass(frozen=True)
class RegionSummary:
    """What core writes: `fields` of the status beside the conditions, and its own conditions."""

    fields: Mapping[str, Any]
    conditions: tuple[Condition, ...]


def summarize(facts: RegionFacts) -> RegionSummary:
    """State, progress, versions and conditions of the region."""
    facts = _as_accepted(facts)
    progress = region_progress(facts.bundles, facts.wanted)
    ready = _ready(facts, progress)
    provisioned = bool((facts.before.get("initialization") or {}).get("provisioned"))
    running_version = str(facts.before.get("openstackVersion") or "")
    if progress.complete and facts.openstack_version and not facts.problem and not facts.deleting:
        running_version = facts.openstack_version
    fields: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "appliedGeneration": facts.applied or None,
        "state": _state(facts, progress, running_version),
        "deployed": progress.complete and progress.total > 0,
        "version": facts.version,
        "openstackVersion": running_version,
        "fingerprint": facts.fingerprint or str(facts.before.get("fingerprint") or ""),
        "progress": f"{progress.done}/{progress.total}",
        "healthy": healthy_text(facts.before.get("health") or {}),
        "services": {
            str(bundle["metadata"]["name"]): service_entry(bundle, facts.before, facts.openstack_version)
            for bundle in facts.bundles
        },
        # Latched: once true it is repeated for ever, and the CRD refuses a status without it.
        "initialization": {"provisioned": True} if provisioned or ready.status == "True" else None,
        "plan": _plan(facts),
    }
    present = {key: value for key, value in fields.items() if value not in (None, "", {})}
    return RegionSummary(present, (ready, *_others(facts, progress)))


def _as_accepted(facts: RegionFacts) -> RegionFacts:
    """A spec that this version has accepted stays so while its charts cannot be looked at once more.

    So it is with a pod that has lost its cache, whose repository may be away. Every service that was told of
    must have its bundle still: without charts nobody can tell whether one that is gone is missed.
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
    # What a pause held back it holds back still. Ready does not tell: it has but one reason, and whatever
    # else keeps the region from being ready goes before.
    behind = facts.applied != facts.generation or find(known, "Paused").get("reason") == Reason.HELD_BACK
    held = facts.paused and behind
    return replace(facts, problem="", warnings=text, openstack_version=version, keeps_plan=keeps, held=held)


def _unseen(facts: RegionFacts, before: str) -> str:
    """What SpecValid tells meanwhile: `before` stays while it is about the same, however often a repository
    words its refusal anew, since each other text would be a write."""
    said = "accepted as it is; its charts cannot be looked at now"
    for reason in (Reason.REPOSITORY_UNAVAILABLE, facts.problem_reason):
        if before.startswith(f"{said} ({reason})"):
            return before
    return f"{said} ({facts.problem_reason}): {facts.problem}"


def refusal(managed: str, generation: int, before: Mapping[str, Any]) -> RegionSummary:
    """What is said of an osdpl beside the one that is served, `managed`: nothing is done with it.

    `before` is its status as read: what is latched stays.
    """
    text = (
        f'this controller runs "{managed}"; delete one of the two, '
        "or run another controller in a namespace of its own"
    )
    said: dict[str, Status] = {"Ready": "False", "Stalled": "True"}
    conditions = tuple(
        Condition(type_, said.get(type_, "Unknown"), Reason.ANOTHER_DEPLOYMENT_MANAGED, text, generation)
        for type_ in OWN_CONDITIONS
    )
    latched = {name: before[name] for name in ("initialization", "appliedGeneration") if before.get(name)}
    return RegionSummary({"observedGeneration": generation, **latched}, conditions)


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


def _planned(facts: RegionFacts) -> Condition:
    if facts.problem and not facts.deleting:
        text = "a spec that cannot be served is not planned"
        return Condition("Planned", "False", facts.problem_reason, text, facts.generation)
    carried_on = facts.keeps_plan and not facts.paused
    plan = facts.plan if facts.plan is not None else RegionPlan() if carried_on else None
    return planned_condition(
        plan, facts.approval, facts.approved, name=facts.name, generation=facts.generation
    )


def _ready(facts: RegionFacts, progress: Progress) -> Condition:
    if facts.deleting:
        return _not_ready(facts, Reason.DELETING, _remaining(facts))
    if facts.problem:
        return _not_ready(facts, facts.problem_reason, facts.problem)
    if not progress.current and "helmbundle" not in facts.silence.silent:
        return _not_ready(facts, Reason.APPLYING, "bundles are taking up the spec")
    if obstacle := _objection(facts) or _unknown(facts):
        return obstacle
    if facts.waits:
        planned = _planned(facts)
        return _not_ready(facts, planned.reason, planned.message)
    if facts.held:
        return _not_ready(facts, Reason.PAUSED, _HELD)
    if not progress.complete:
        return _not_ready(facts, Reason.APPLYING, f"{progress.done} of {progress.total} releases deployed")
    text = f"{progress.total} releases deployed"
    return Condition("Ready", "True", Reason.READY, text, facts.generation)


def _not_ready(facts: RegionFacts, reason: Reason, message: str) -> Condition:
    return Condition("Ready", "False", reason, shorten(message, 4000), facts.generation)


def _objection(facts: RegionFacts) -> Condition | None:
    """Why the word of another container that lives makes it not Ready; None if all of them agree."""
    known = facts.before.get("conditions") or []
    for container, type_ in ANSWERED_BY.items():
        if container not in facts.containers or container in facts.silence.silent:
            continue
        entry = find(known, type_)
        status, reason = entry.get("status"), str(entry.get("reason") or Reason.INITIALIZING)
        if (facts.waits or facts.held) and status != "False" and reason == Reason.INITIALIZING:
            continue  # Nothing may have been begun yet, and nothing will be: there is nothing to judge.
        if status != "True":
            return _not_ready(facts, known_reason(reason, Reason.APPLYING), _words(type_, entry))
        if facts.waits or facts.held:
            continue  # It speaks of what runs, which is of an older generation.
        if entry.get("observedGeneration") != facts.generation:
            text = f"{container} has not looked at this generation of the spec yet"
            return _not_ready(facts, Reason.APPLYING, text)
        if container == "health" and facts.before.get("healthOf") != _brought_about(facts):
            # Bundles change without the spec: with a Secret that they refer to, or with a version of ours.
            text = "health has not seen yet what the newest releases have brought about"
            return _not_ready(facts, Reason.APPLYING, text)
    return None


def _brought_about(facts: RegionFacts) -> str:
    return marks_digest(bundle_mark(bundle) for bundle in facts.bundles)


def _unknown(facts: RegionFacts) -> Condition | None:
    """Ready while a container does not live whose word it needs; None when all of them do."""
    before = find(facts.before.get("conditions") or [], "Ready")
    if facts.silence.silent:
        lost = ", ".join(f"{name} ({ANSWERED_BY[name]})" for name in sorted(facts.silence.silent))
        text = f"no sign of life, or of any progress, from {lost}: what is said of that may be out of date"
    elif facts.silence.unheard and before.get("reason") == Reason.CONTAINER_SILENT:
        # Whoever has just begun to listen does not know better yet.
        text = str(before.get("message") or "")
    else:
        return None
    return Condition("Ready", "Unknown", Reason.CONTAINER_SILENT, text, facts.generation)


def _words(type_: str, entry: Mapping[str, Any]) -> str:
    message = str(entry.get("message") or "")
    return message or f"{type_} is {entry.get('status') or 'Unknown'}"


def _others(facts: RegionFacts, progress: Progress) -> list[Condition]:
    generation = facts.generation
    deleting: Status = "True" if facts.deleting else "False"
    stalled = bool(facts.problem) and not facts.passing
    busy = facts.deleting or facts.passing or not (progress.complete or facts.problem or facts.paused)
    valid = (
        # Without its charts nobody can tell whether a spec can be served.
        Condition(
            "SpecValid", "False" if stalled else "Unknown", facts.problem_reason, facts.problem, generation
        )
        if facts.problem
        else Condition("SpecValid", "True", Reason.SPEC_ACCEPTED, facts.warnings, generation)
    )
    return [
        valid,
        _planned(facts),
        Condition(
            "Reconciling",
            "True" if busy else "False",
            Reason.DELETING if facts.deleting else Reason.APPLYING,
            _remaining(facts) if facts.deleting else f"{progress.done} of {progress.total} releases deployed",
            generation,
        ),
        Condition(
            "Stalled",
            "True" if stalled and not facts.deleting else "False",
            facts.problem_reason,
            "nothing happens before that is mended which SpecValid tells; what ran is untouched",
            generation,
        ),
        _paused(facts),
        Condition(
            "Deleting",
            deleting,
            Reason.DELETING if facts.deleting else Reason.NOT_DELETING,
            _remaining(facts) if facts.deleting else "",
            generation,
        ),
    ]


def _paused(facts: RegionFacts) -> Condition:
    """Its reason is also the memory of what a pause holds back, for when that cannot be compared anew."""
    if not facts.paused or facts.deleting:
        return Condition("Paused", "False", Reason.NOT_PAUSED, "", facts.generation)
    if facts.held:
        return Condition("Paused", "True", Reason.HELD_BACK, _HELD, facts.generation)
    text = "spec.mode is Paused: nothing is changed"
    return Condition("Paused", "True", Reason.PAUSED, text, facts.generation)


def _remaining(facts: RegionFacts) -> str:
    return f"still there: {', '.join(facts.remaining)}" if facts.remaining else "all releases are gone"


def _state(facts: RegionFacts, progress: Progress, running_version: str) -> str:
    if facts.deleting:
        return "Deleting"
    if facts.problem:
        return "Waiting" if facts.passing else "Failed"
    if facts.paused:
        return "Paused"
    if facts.waits:
        return "Planned"
    if progress.complete:
        return "Applied"
    if progress.failing:
        return "Failed"
    if running_version and running_version != facts.openstack_version:
        return "Upgrading"
    return "Applying" if progress.done or progress.moving else "Waiting"
