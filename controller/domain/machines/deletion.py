"""The next write while a copy is deleted.

Each step is recognized again after a process was killed. While the machine API is in charge, the mirror is
deleted first. Because it is paused, Cluster API's own finalizer is removed from it. Its machines from a time
when Cluster API was in charge are orphaned, not deleted with it. A mirror that a person deletes is released,
and created again. While Cluster API is in charge, the source is only a copy: after its deletion the mirror
continues alone. After a deletion of the mirror, the source follows once Cluster API has removed its machines,
and the source's own objects stay.
"""

from __future__ import annotations

from controller.domain.machines.authority import Authority, is_asked_paused, is_paused_by_us
from controller.domain.machines.template_release import release_template
from controller.domain.machines.writes import (
    CLUSTER_API_FINALIZER,
    FINALIZER,
    Part,
    Raw,
    Snapshot,
    Verb,
    Write,
    has_finalizer,
    is_deleting,
    with_finalizers,
)


def is_being_deleted(seen: Snapshot) -> bool:
    return is_deleting(seen.source) or (seen.mirror is not None and is_deleting(seen.mirror))


def next_of_deletion(seen: Snapshot, who: Authority) -> Write | None:
    """The next write; None if another controller must act first, or all is done."""
    return _of_machine_api(seen) if who is Authority.MACHINE_API else _of_cluster_api(seen)


def _of_machine_api(seen: Snapshot) -> Write | None:
    mirror = _own(seen.mirror)
    if not is_deleting(seen.source):
        return _let_go(mirror) if mirror is not None else None
    if not has_finalizer(seen.source):
        return None
    if mirror is not None and not is_deleting(mirror):
        return Write(Verb.DELETE_ALONE, Part.MIRROR, dict(mirror), "its source is deleted")
    return _templates(seen) or (_let_go(mirror) if mirror is not None else _let_source_go(seen))


def _of_cluster_api(seen: Snapshot) -> Write | None:
    mirror = _own(seen.mirror)
    if mirror is None or not is_deleting(mirror):
        if mirror is not None and is_deleting(seen.source):
            after = with_finalizers(mirror, remove=(FINALIZER,))
            return Write(
                Verb.REPLACE, Part.MIRROR, after, "its source is deleted, and the mirror continues alone"
            )
        return _let_source_go(seen)
    if has_finalizer(mirror, CLUSTER_API_FINALIZER) and not is_paused_by_us(mirror):
        return None  # its machines are removed once it is resumed
    if not is_deleting(seen.source):
        return Write(
            Verb.DELETE_ALONE, Part.SOURCE, dict(seen.source), "its mirror, which is in charge, is deleted"
        )
    return _templates(seen) or _let_go(mirror)


def _own(mirror: Raw | None) -> Raw | None:
    return mirror if mirror is not None and has_finalizer(mirror) else None


def _templates(seen: Snapshot) -> Write | None:
    for template in seen.templates:
        write = release_template(template, seen)
        if write is not None:
            return write
    return None


def _let_go(mirror: Raw) -> Write:
    paused = is_asked_paused(mirror)
    removed = (FINALIZER, CLUSTER_API_FINALIZER) if paused else (FINALIZER,)
    after = with_finalizers(mirror, remove=removed)
    return Write(Verb.REPLACE, Part.MIRROR, after, "nothing is left to do before the deletion")


def _let_source_go(seen: Snapshot) -> Write | None:
    if not is_deleting(seen.source) or not has_finalizer(seen.source):
        return None
    after = with_finalizers(seen.source, remove=(FINALIZER,))
    return Write(Verb.REPLACE, Part.SOURCE, after, "nothing is left to do before the deletion")
