"""Templates that the mirror no longer needs."""

from __future__ import annotations

from controller.domain.machines.mirror import is_claimed, is_of_set, owners, without_mirror
from controller.domain.machines.writes import Part, Raw, Snapshot, Verb, Write, is_deleting, with_metadata


def release_template(template: Raw, seen: Snapshot) -> Write | None:
    """The next write that releases a template: the mirror no longer owns it, and it is deleted if nothing
    else owns or uses it. None if it is in progress, kept by others, or not ours."""
    name = seen.source["metadata"]["name"]
    if is_deleting(template) or not is_of_set(template, name):
        return None
    if is_claimed(template, name) or template["metadata"]["name"] in seen.used_elsewhere:
        kept = without_mirror(template, name)
        if kept == owners(template):
            return None
        after = with_metadata(template, ownerReferences=kept or None)
        return Write(Verb.REPLACE, Part.TEMPLATE, after, "other sets still use the template")
    return Write(Verb.DELETE, Part.TEMPLATE, dict(template), "the template is unused")
