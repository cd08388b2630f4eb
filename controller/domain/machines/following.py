"""The next write while Cluster API is in charge: the source follows its mirror."""

from __future__ import annotations

from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.machines.fields import Fields, Findings
from controller.domain.machines.first_difference import is_same
from controller.domain.machines.machine_set import convert_machine_set
from controller.domain.machines.metadata import restored_marks, set_marks
from controller.domain.machines.restored_machine_set import restore_machine_set
from controller.domain.machines.statuses import restored_status
from controller.domain.machines.synchronized import say
from controller.domain.machines.writes import (
    FINALIZER,
    EventMessage,
    Part,
    Raw,
    Snapshot,
    Target,
    Verb,
    Write,
    has_finalizer,
    status_write,
    summed_up,
    with_finalizers,
)


def template_name_of(mirror: Raw) -> str:
    """The name of the template that a mirror points to; empty for none."""
    machine = ((mirror.get("spec") or {}).get("template") or {}).get("spec") or {}
    return str((machine.get("infrastructureRef") or {}).get("name") or "")


def next_of_following(seen: Snapshot, target: Target, now: float) -> Write | None:
    """The next write that makes the source match its mirror; None if there is nothing to do."""
    mirror, source = seen.mirror, seen.source
    if mirror is None:
        return None
    for part, obj in ((Part.SOURCE, source), (Part.MIRROR, mirror)):
        if not has_finalizer(obj):
            after = with_finalizers(obj, add=FINALIZER)
            return Write(Verb.REPLACE, part, after, "the other copy is deleted first")
    template = seen.template(template_name_of(mirror))
    if template is None:
        text = f"the mirror points to no template {template_name_of(mirror)!r} in its namespace"
        return say(source, reason=Reason.TEMPLATE_MISSING, message=text, now=now)
    restored = restore_machine_set(mirror, template, target.cluster, source["metadata"]["namespace"])
    if restored.machine_set is None:
        text = summed_up(restored.errors)
        return say(source, reason=Reason.CONVERSION_FAILED, message=text, now=now)
    followed = _followed(source, restored.machine_set, target)
    if followed is not None:
        because = "the source differs from its mirror"
        return Write(Verb.REPLACE, Part.SOURCE, followed, because, _overwritten(source, followed))
    return status_write(mirror, source, Part.SOURCE, restored_status) or say(
        source,
        reason=Reason.RESOURCE_SYNCHRONIZED,
        message="the source is the same as its mirror",
        now=now,
        generation=mirror["metadata"].get("generation"),
    )


def _overwritten(source: Raw, followed: Raw) -> tuple[EventMessage, ...]:
    """Changes of another writer after the last update of the mirror, before it was in charge."""
    before, after = (one["spec"].get("replicas") for one in (source, followed))
    if before == after or (source.get("status") or {}).get("synchronizedGeneration") is not None:
        return ()
    text = f"replicas {before}, set during the hand-over of authority, are ignored: the mirror has {after}"
    return (EventMessage(Reason.EDIT_OVERWRITTEN, text),)


def _followed(source: Raw, restored: Raw, target: Target) -> dict[str, Any] | None:
    """The source with the differences, or None."""
    after = {**source, "metadata": _marks(source, restored), "spec": _spec(source, restored, target)}
    return None if is_same(after, dict(source)) else after


def _spec(source: Raw, restored: Raw, target: Target) -> dict[str, Any]:
    """The restored spec; if the source has an equivalent form, its own form stays."""
    spec = dict(source.get("spec") or {})
    after = {**restored["spec"], **{key: spec[key] for key in ("authoritativeAPI",) if key in spec}}
    there = convert_machine_set(source, target.cluster)
    here = convert_machine_set({**source, "spec": after}, target.cluster)
    if (
        there.machine_set is None
        or here.machine_set is None
        or there.template is None
        or here.template is None
    ):
        return after
    if there.template["spec"] != here.template["spec"]:
        return after
    before, now = there.machine_set["spec"], here.machine_set["spec"]
    if before == now:
        return spec
    if before["template"]["spec"] != now["template"]["spec"]:
        return after
    template = after["template"]
    machine = {**template["spec"], "providerSpec": spec["template"]["spec"]["providerSpec"]}
    return {**after, "template": {**template, "spec": machine}}


def _marks(source: Raw, restored: Raw) -> dict[str, Any]:
    """The metadata with the labels and annotations of the mirror; notes that are not converted stay."""
    metadata = dict(source["metadata"])
    carried = set_marks(Fields(metadata, ("metadata",), Findings()))
    back = restored_marks({"labels": carried.labels, "annotations": carried.annotations}, of_machines=False)
    for field in ("labels", "annotations"):
        gone = back.get(field) or {}
        left = {key: value for key, value in (metadata.get(field) or {}).items() if key not in gone}
        marks = {**left, **(restored["metadata"].get(field) or {})}
        metadata = {key: value for key, value in {**metadata, field: marks}.items() if key != field or value}
    return metadata
