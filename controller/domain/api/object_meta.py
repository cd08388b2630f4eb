"""The metadata of our resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import API_VERSION
from controller.errors import Problem, SpecInvalid


@dataclass(frozen=True)
class ObjectMeta:
    """The metadata that decisions depend on. `deleting` is true once deletion was requested."""

    name: str
    namespace: str
    uid: str = ""
    generation: int = 0
    deleting: bool = False
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None

    def annotation(self, name: str) -> str:
        """An annotation's value, or empty."""
        return (self.annotations or {}).get(name, "")


def parse_meta(obj: object) -> ObjectMeta:
    """Reads `metadata` of a raw Kubernetes object. Raises SpecInvalid if it is not such an object."""
    if not isinstance(obj, Mapping):
        raise SpecInvalid([Problem("$", f"expected a map with apiVersion, kind and metadata, got {a(obj)}")])
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        raise SpecInvalid(
            [Problem("metadata", f"expected a map, got {a(metadata)}", "give at least metadata.name")]
        )
    problems = []
    for field in ("name", "namespace"):
        value = metadata.get(field)
        if value == "" and field == "name":
            problems.append(Problem("metadata.name", "must not be empty"))
        elif not isinstance(value, str | None) or (field == "name" and value is None):
            problems.append(Problem(f"metadata.{field}", f"expected a string, got {a(value)}"))
    for field in ("labels", "annotations"):
        if not isinstance(metadata.get(field), Mapping | None):
            problems.append(Problem(f"metadata.{field}", f"expected a map, got {a(metadata[field])}"))
    if problems:
        raise SpecInvalid(problems)
    return ObjectMeta(
        name=metadata["name"],
        namespace=metadata.get("namespace") or "",
        uid=str(metadata.get("uid") or ""),
        generation=_whole(metadata.get("generation")),
        deleting=metadata.get("deletionTimestamp") is not None,
        labels=dict(metadata.get("labels") or {}),
        annotations=dict(metadata.get("annotations") or {}),
    )


def a(value: Any) -> str:
    """The text for a value of the wrong type in messages.

    Strings, lists and maps are not quoted, because an operator may have put a secret in the wrong place, and
    messages end in statuses and logs.
    """
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}" if len(str(value)) <= 40 else "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def owned_by_region(region: Mapping[str, Any]) -> dict[str, Any]:
    """The owner reference of an object that goes with its region. `region`: the metadata of the osdpl."""
    name, uid = region["name"], region["uid"]
    return {"apiVersion": API_VERSION, "kind": "OpenStackDeployment", "name": name, "uid": uid}
