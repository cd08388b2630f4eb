"""The status of machines, converted from one copy to the other."""

from __future__ import annotations

from typing import Any

from controller.domain.machines.first_difference import is_same
from controller.domain.machines.writes import Raw

_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_FAILURE = {"errorReason": "failureReason", "errorMessage": "failureMessage"}


def mirrored_status(status: Raw, mirror: Raw) -> dict[str, Any]:
    """The status of a mirror; Cluster API's own conditions, such as Paused, stay."""
    before = mirror.get("status") or {}
    after = {
        **{key: value for key, value in before.items() if key not in _FAILURE.values()},
        **{key: status.get(key) or 0 for key in _COUNTS},
        **{there: status[here] for here, there in _FAILURE.items() if status.get(here)},
        "observedGeneration": mirror["metadata"].get("generation"),
    }
    selector = _selector(mirror["spec"]["selector"])
    if selector:
        after["selector"] = selector
    return dict(before) if is_same(after, dict(before)) else after


def restored_status(status: Raw, source: Raw) -> dict[str, Any]:
    """The status of a source; fields that do not describe its machines stay."""
    before = source.get("status") or {}
    after = {
        **{key: value for key, value in before.items() if key not in _FAILURE},
        **{key: status.get(key) or 0 for key in _COUNTS},
        **{here: status[there] for here, there in _FAILURE.items() if status.get(there)},
        "observedGeneration": source["metadata"].get("generation"),
    }
    return dict(before) if is_same(after, dict(before)) else after


def _selector(selector: Raw) -> str:
    """The selector in the form of `kubectl -l`, for the scale subresource; empty beyond its bounds."""
    found = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        values = ",".join(sorted(one.get("values") or ()))
        form = {
            "In": f"{one['key']} in ({values})",
            "NotIn": f"{one['key']} notin ({values})",
            "Exists": str(one["key"]),
            "DoesNotExist": f"!{one['key']}",
        }
        found.append(form.get(str(one.get("operator")), ""))
    text = ",".join(part for part in found if part)
    return text if len(text) <= 4096 else ""
