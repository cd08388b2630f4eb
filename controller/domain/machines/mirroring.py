"""The next write while the machine API is in charge: the mirror follows the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.machines.authority import is_paused_by_us, paused
from controller.domain.machines.machine_set import convert_machine_set
from controller.domain.machines.mirror import (
    corrected_mirror,
    corrected_template,
    is_of_set,
    new_mirror,
    owned_template,
    owner_of_templates,
)
from controller.domain.machines.statuses import mirrored_status
from controller.domain.machines.synchronized import say
from controller.domain.machines.template_release import release_template
from controller.domain.machines.writes import (
    FINALIZER,
    Part,
    Raw,
    Snapshot,
    Target,
    Verb,
    Write,
    has_finalizer,
    is_deleting,
    status_write,
    summed_up,
    with_finalizers,
)


def next_of_mirroring(seen: Snapshot, target: Target, now: float) -> Write | None:
    """The next write that makes the mirror match the source; None if there is nothing to do."""
    made = _next_object(seen, target, now)
    if isinstance(made, Write):
        return made
    if made is None or seen.mirror is None:
        return None
    return (
        _old_templates(seen, made.template)
        or status_write(seen.source, seen.mirror, Part.MIRROR, mirrored_status)
        or say(
            seen.source,
            reason=Reason.RESOURCE_SYNCHRONIZED,
            message=f"the mirror in namespace {target.cluster.namespace} is the same",
            now=now,
            generation=seen.source["metadata"].get("generation"),
            warnings=made.warnings,
        )
    )


def next_of_first_mirror(seen: Snapshot, target: Target, now: float) -> Write | None:
    """The next write for a set that Cluster API is in charge of from the beginning: its mirror is completed
    and then resumed. None if it already runs."""
    if seen.mirror is not None and not is_paused_by_us(seen.mirror):
        return None
    made = _next_object(seen, target, now)
    if isinstance(made, _Whole) and seen.mirror is not None:
        return Write(Verb.REPLACE, Part.MIRROR, paused(seen.mirror, None), "the mirror is complete")
    return made if isinstance(made, Write) else None


@dataclass(frozen=True)
class _Whole:
    """The mirror exists with its template, of this name."""

    template: str
    warnings: tuple[str, ...]


def _next_object(seen: Snapshot, target: Target, now: float) -> Write | _Whole | None:
    """The next write of the mirror or its template; None if something blocks it, or is in progress."""
    converted = convert_machine_set(seen.source, target.cluster)
    if converted.machine_set is None or converted.template is None:
        return _refuse(seen, Reason.CONVERSION_FAILED, summed_up(converted.errors), now)
    wanted, place = converted.template["metadata"]["name"], target.cluster.namespace
    if seen.cluster is None:
        text = f"there is no Cluster {target.cluster.name} in namespace {place}; the controller looks again"
        return _refuse(seen, Reason.CLUSTER_MISSING, text, now)
    if taken := _taken(seen, wanted, place):
        return _refuse(seen, Reason.MIRROR_TAKEN, taken, now)
    write = _objects(seen, seen.cluster, converted.machine_set, converted.template, target)
    if write is not None or _waits(seen, wanted):
        return write
    return _Whole(wanted, tuple(map(str, converted.warnings)))


def _taken(seen: Snapshot, template_name: str, place: str) -> str:
    """The name that another writer's object has, and the remedy; or empty."""
    name = seen.source["metadata"]["name"]
    if seen.mirror is not None and not has_finalizer(seen.mirror) and not is_deleting(seen.mirror):
        return (
            f"MachineSet {place}/{name} of Cluster API was not created by this controller; rename or "
            "remove it"
        )
    template = seen.template(template_name)
    if template is not None and not is_of_set(template, name):
        return (
            f"OpenStackMachineTemplate {place}/{template_name} was not created by this controller; remove it"
        )
    return ""


def _refuse(seen: Snapshot, reason: Reason, message: str, now: float) -> Write | None:
    return say(seen.source, reason=reason, message=message, now=now)


def _objects(seen: Snapshot, cluster: Raw, mirror: Raw, template: Raw, target: Target) -> Write | None:
    """The mirror and its template. A new template exists before the set refers to it; the first one follows
    the set, which owns it and is paused."""
    name = seen.source["metadata"]["name"]
    if not has_finalizer(seen.source):
        after = with_finalizers(seen.source, add=FINALIZER)
        return Write(Verb.REPLACE, Part.SOURCE, after, "the mirror is deleted before its source")
    if seen.mirror is None:
        return Write(Verb.CREATE, Part.MIRROR, new_mirror(mirror, cluster), "the source has no mirror")
    if is_deleting(seen.mirror):
        return None
    owner = owner_of_templates(seen.mirror, cluster, target)
    there = seen.template(template["metadata"]["name"])
    if there is None:
        made = owned_template(template, name, owner)
        return Write(Verb.CREATE, Part.TEMPLATE, made, "the description of the machines has changed")
    if is_deleting(there):
        return None
    corrected: dict[str, Any] | None = corrected_template(there, template, name, owner)
    if corrected is not None:
        return Write(Verb.REPLACE, Part.TEMPLATE, corrected, "the template differs from its source")
    corrected = corrected_mirror(seen.mirror, mirror, cluster)
    if corrected is not None:
        return Write(Verb.REPLACE, Part.MIRROR, corrected, "the mirror differs from its source")
    return None


def _waits(seen: Snapshot, template_name: str) -> bool:
    """Whether an object must be deleted first."""
    template = seen.template(template_name)
    return seen.mirror is None or is_deleting(seen.mirror) or (template is None or is_deleting(template))


def _old_templates(seen: Snapshot, wanted: str) -> Write | None:
    for template in seen.templates:
        if template["metadata"]["name"] != wanted:
            write = release_template(template, seen)
            if write is not None:
                return write
    return None
