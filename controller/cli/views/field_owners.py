"""Who else applies a field of an object: a GitOps tool would set an edit of it back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Managers that stand for a person: what they set, the same person may edit.
_PEOPLE = ("osctl", "kubectl", "kubectl-edit", "kubectl-patch", "kubectl-client-side-apply", "kubectl-create")


def other_owners(obj: Mapping[str, Any], path: Sequence[str]) -> tuple[str, ...]:
    """The managers of a field that apply it again and again, by the object's managedFields."""
    found = [
        str(entry.get("manager"))
        for entry in obj["metadata"].get("managedFields") or ()
        if entry.get("manager") not in _PEOPLE
        and not entry.get("subresource")
        and _has(entry.get("fieldsV1") or {}, path)
    ]
    return tuple(dict.fromkeys(found))


def _has(fields: Mapping[str, Any], path: Sequence[str]) -> bool:
    for key in path:
        if f"f:{key}" not in fields:
            return False
        fields = fields[f"f:{key}"]
    return True
