"""Ready of a region: the first thing that keeps it from running as described. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.conditions import Condition, find
from controller.domain.api.reasons import Reason, known_reason
from controller.domain.api.shortened_text import shorten
from controller.domain.region.facts import ANSWERED_BY, RegionFacts
from controller.domain.region.plan import RegionPlan, planned_condition
from controller.domain.region.progress import RegionProgress
from controller.domain.region.upgrade.upgrade_condition import upgrade_reason, upgrade_text
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest
from controller.domain.shared.plurals import count

# Characters of a message.
MOST_TEXT = 4000

_SILENT = "no sign of life or progress from"
_UNTIL = "unchanged until spec.mode is Apply; with Plan, status.plan first shows what would be done"


def ready_condition(facts: RegionFacts, progress: RegionProgress) -> Condition:
    """`Ready` of the region. While a container does not live, its message ends with that, whatever else it
    tells: it may be what keeps all the rest from going on."""
    ready, silence = _ready(facts, progress), _silence_text(facts)
    if ready.status != "False" or not silence:
        return ready
    room = MOST_TEXT - len(silence) - 2
    return replace(ready, message=f"{shorten(ready.message, room)}; {silence}")


def _ready(facts: RegionFacts, progress: RegionProgress) -> Condition:
    if facts.deleting:
        return _not_ready(facts, Reason.DELETING, remaining_text(facts))
    if facts.restore:
        text = f"restore {facts.restore} is in progress: {facts.restore_text}"
        return _not_ready(facts, Reason.RESTORING, text)
    if facts.problem:
        return _not_ready(facts, facts.problem_reason, facts.problem)
    if facts.upgrading and facts.upgrade is not None and not facts.paused:
        return _not_ready(facts, upgrade_reason(facts.upgrade), upgrade_text(facts.upgrade))
    if not progress.current and "helmbundle" not in facts.silence.silent:
        return _failing(facts, progress) or _not_ready(
            facts, Reason.APPLYING, "bundles are processing the spec"
        )
    if obstacle := _objection(facts, progress) or _unknown(facts):
        return obstacle
    if facts.waits:
        planned = planned_now(facts)
        return _not_ready(facts, planned.reason, planned.message)
    if paused := paused_text(facts, progress):
        return _not_ready(facts, Reason.PAUSED, paused)
    if not progress.complete:
        return _not_ready(facts, Reason.APPLYING, deployed_text(progress))
    text = f"{count(progress.total, 'release')} deployed"
    unseen = unseen_hosts(facts.before.get("nodes") or {})
    text = shorten(f"{text}; {unseen}" if unseen else text, MOST_TEXT)
    return Condition("Ready", "True", Reason.READY, text, facts.generation)


def unseen_hosts(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """What `status.nodes` says of compute hosts while OpenStack does not answer, empty while it does: their
    Nodes may be ready, and no one knows whether Nova is."""
    unseen = [entry for _, entry in sorted(nodes.items()) if entry.get("reason") == Reason.CLOUD_UNKNOWN]
    if not unseen:
        return ""
    why = str(unseen[0].get("message") or "OpenStack does not answer")
    return f"the state of {count(len(unseen), 'compute host')} is not known: {why}"


def _not_ready(facts: RegionFacts, reason: Reason, message: str) -> Condition:
    return Condition("Ready", "False", reason, shorten(message, MOST_TEXT), facts.generation)


def _failing(facts: RegionFacts, progress: RegionProgress) -> Condition | None:
    """What fails while others are at work; None if helmbundle has not said it of what is asked for now."""
    entry = find(facts.before.get("conditions") or [], ANSWERED_BY["helmbundle"])
    if not progress.failing or entry.get("reason") != Reason.RELEASES_FAILING:
        return None
    return _not_ready(facts, Reason.RELEASES_FAILING, str(entry.get("message") or ""))


def _objection(facts: RegionFacts, progress: RegionProgress) -> Condition | None:
    """Why the word of another container that lives makes it not Ready; None if all of them agree."""
    if facts.credentials_lost:
        return _not_ready(facts, Reason.CREDENTIALS_LOST, facts.credentials_lost)
    known = facts.before.get("conditions") or []
    waits = facts.waits or bool(paused_text(facts, progress))
    for container, type_ in ANSWERED_BY.items():
        if container not in facts.containers or container in facts.silence.silent:
            continue
        entry = find(known, type_)
        status, reason = entry.get("status"), str(entry.get("reason") or Reason.INITIALIZING)
        if waits and status != "False" and reason == Reason.INITIALIZING:
            continue  # Nothing may have been begun yet, and nothing will be: there is nothing to judge.
        if reason == Reason.RELEASES_PENDING and facts.paused and progress.suspended and not progress.moving:
            continue  # They wait for the end of the pause.
        if reason == Reason.RELEASES_PENDING and (cause := _failing_workloads(facts)):
            # A release waits for what fails: the Job that it names is not the cause.
            text = f"{shorten(cause, MOST_TEXT // 2)}; meanwhile: {_reported_text(type_, entry)}"
            return _not_ready(facts, Reason.WORKLOADS_FAILING, text)
        if status != "True":
            return _not_ready(facts, known_reason(reason, Reason.APPLYING), _reported_text(type_, entry))
        if waits:
            continue  # It speaks of what runs, which is of an older generation.
        if entry.get("observedGeneration") != facts.generation:
            text = f"{container} has not observed this generation of the spec yet"
            return _not_ready(facts, Reason.APPLYING, text)
        if container == "health" and facts.before.get("healthOf") != _brought_about(facts):
            # Bundles change without the spec: with a Secret that they refer to, or with a version of ours.
            text = "container health has not yet observed the effect of the newest releases"
            return _not_ready(facts, Reason.APPLYING, text)
    return None


def _failing_workloads(facts: RegionFacts) -> str:
    """What fails, in the words of health; empty where nothing does, or health does not live."""
    entry = find(facts.before.get("conditions") or [], ANSWERED_BY["health"])
    lives = "health" in facts.containers and "health" not in facts.silence.silent
    failing = entry.get("status") == "False" and entry.get("reason") == Reason.WORKLOADS_FAILING
    return str(entry.get("message") or "") if lives and failing else ""


def _brought_about(facts: RegionFacts) -> str:
    return marks_digest(bundle_mark(bundle) for bundle in facts.bundles)


def _unknown(facts: RegionFacts) -> Condition | None:
    """Ready while a container does not live whose word it needs; None when all of them do."""
    text = _silence_text(facts)
    return Condition("Ready", "Unknown", Reason.CONTAINER_SILENT, text, facts.generation) if text else None


def _silence_text(facts: RegionFacts) -> str:
    """Which containers do not live; empty when all of them do."""
    if facts.silence.silent:
        lost = ", ".join(f"{name} ({ANSWERED_BY[name]})" for name in sorted(facts.silence.silent))
        return f"{_SILENT} {lost}: this container's part of the status may be outdated"
    before = str(find(facts.before.get("conditions") or [], "Ready").get("message") or "")
    if facts.silence.unheard and _SILENT in before:
        # Whoever has just begun to listen does not know better yet.
        return before[before.rindex(_SILENT) :]
    return ""


def _reported_text(type_: str, entry: Mapping[str, Any]) -> str:
    message = str(entry.get("message") or "")
    return message or f"{type_} is {entry.get('status') or 'Unknown'}"


def paused_text(facts: RegionFacts, progress: RegionProgress) -> str:
    """What a pause holds back, empty when it does not: another spec than what runs, or releases that are not
    as the same spec asks for by now, such as after a Secret that it refers to was changed."""
    if not facts.paused or facts.deleting:
        return ""
    if facts.awaiting_approval:
        return f"spec.mode is Paused, and the spec differs from what runs: the region is {_UNTIL}"
    if progress.suspended:
        names = ", ".join(progress.suspended)
        return f"spec.mode is Paused, and these releases differ from the spec: {names}. What runs is {_UNTIL}"
    return ""


def planned_now(facts: RegionFacts) -> Condition:
    """`Planned` of the region."""
    if facts.problem and not facts.deleting:
        text = "an invalid spec is not planned"
        return Condition("Planned", "False", facts.problem_reason, text, facts.generation)
    carried_on = facts.keeps_plan and not facts.paused
    plan = facts.plan if facts.plan is not None else RegionPlan() if carried_on else None
    return planned_condition(
        plan, facts.approval, facts.approved, name=facts.name, generation=facts.generation
    )


def deployed_text(progress: RegionProgress) -> str:
    """How many releases are deployed."""
    return f"{progress.done} of {count(progress.total, 'release')} deployed"


def remaining_text(facts: RegionFacts) -> str:
    """What is left of a region that is being removed."""
    if not facts.remaining:
        return "all releases are gone"
    ready = (find((one.get("status") or {}).get("conditions") or [], "Ready") for one in facts.bundles)
    failing = [str(entry.get("message")) for entry in ready if entry.get("reason") == Reason.RELEASES_FAILING]
    return shorten("; ".join([f"still there: {', '.join(facts.remaining)}", *failing]), MOST_TEXT)
