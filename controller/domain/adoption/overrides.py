"""The operator's values that make a release what it is already. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.adoption.differences import Difference
from controller.domain.values.chart_values import PATCH, PATCH_DELETE, Path, copied, is_map, is_secret_ref
from controller.domain.values.values_diff import Absent

DELETION = {PATCH: PATCH_DELETE}


@dataclass
class Overrides:
    """`values` for the layer `services`; `cleared` for the layer below it, where a map has to go before a
    value of another type can take its place."""

    values: dict[str, Any] = field(default_factory=dict)
    cleared: dict[str, Any] = field(default_factory=dict)

    def add(self, found: Iterable[Difference]) -> None:
        """Lays these differences over what is there."""
        for one in found:
            if isinstance(one.theirs, Absent):
                _put(self.values, one.path, dict(DELETION))
                continue
            if not isinstance(one.ours, Absent) and is_map(one.ours) != is_map(one.theirs):
                _put(self.cleared, one.path, dict(DELETION))
            _put(self.values, one.path, without_nulls(one.theirs))

    def drop(self, path: Path) -> bool:
        """Forgets the value there, or the one around it; whether there was any."""
        found = [_remove(tree, path) for tree in (self.values, self.cleared)]
        return any(found)


def without_nulls(value: Any) -> Any:
    """A copy in which nothing is null: in a map of the spec that would be a deletion."""
    if is_map(value):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return copied(value)


def is_leaf(value: Any) -> bool:
    """Whether it is said as a whole: also a deletion, and a reference to a Secret."""
    return not (isinstance(value, Mapping) and value) or is_secret_ref(value) or PATCH in value


def _put(tree: dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        below = tree.get(key)
        if not isinstance(below, dict) or is_leaf(below):
            below = tree[key] = {}
        tree = below
    tree[path[-1]] = value


def _remove(tree: dict[str, Any], path: Path) -> bool:
    around: list[tuple[dict[str, Any], str]] = []
    here: Any = tree
    for key in path:
        if not isinstance(here, dict) or key not in here:
            return False
        around.append((here, key))
        if is_leaf(here[key]):
            break
        here = here[key]
    for above, key in reversed(around):
        if (key == around[-1][1] and above is around[-1][0]) or not above[key]:
            del above[key]
    return bool(around)
