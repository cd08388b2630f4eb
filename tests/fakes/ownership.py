"""Server-side apply on plain mappings: which manager owns which path, and what a new apply changes.

A path is a tuple. A text in it is a key of a map, a tuple is an item of a list: the key fields of a
list-map's item, or `(("=", value),)` for a member of a set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.fakes import schema as shapes
from tests.fakes.schema import Schema

Element = str | tuple[tuple[str, Any], ...]
Path = tuple[Element, ...]

MISSING: Any = object()


def paths(value: Any, schema: Schema, at: Path = ()) -> set[Path]:
    """Every path that an apply of `value` takes ownership of."""
    found: set[Path] = set()
    _gather(value, schema, at, found)
    return found


def _gather(value: Any, schema: Schema, at: Path, found: set[Path]) -> None:
    kind = value.__class__
    if kind is dict and value and not shapes.is_atomic_map(schema):
        for key, part in value.items():
            _gather(part, shapes.child(schema, key), (*at, key), found)
    elif kind is list and value and shapes.list_type(schema) == "map":
        for item in value:
            place = (*at, shapes.item_key(schema, item))
            found.add(place)
            _gather(item, shapes.items(schema), place, found)
    elif kind is list and value and shapes.list_type(schema) == "set":
        found.update((*at, (("=", member),)) for member in value)
    else:
        found.add(at)


def _item_index(value: list[Any], element: tuple[tuple[str, Any], ...]) -> int:
    for index, item in enumerate(value):
        if element[0][0] == "=":
            if item == element[0][1]:
                return index
        elif isinstance(item, dict) and all(item.get(name) == part for name, part in element):
            return index
    return -1


def lookup(value: Any, path: Path) -> Any:
    """What lies at `path`, or MISSING."""
    for element in path:
        if isinstance(element, str):
            if not isinstance(value, dict) or element not in value:
                return MISSING
            value = value[element]
        else:
            index = _item_index(value, element) if isinstance(value, list) else -1
            if index < 0:
                return MISSING
            value = value[index]
    return value


def without(value: Any, path: Path) -> Any:
    """The value without `path`, and without maps and lists above it that this leaves empty; it is not
    changed."""
    if lookup(value, path) is MISSING:
        return value
    parents = [lookup(value, path[:length]) for length in range(len(path))]
    kept: Any = MISSING
    for parent, element, place in zip(
        reversed(parents), reversed(path), range(len(path) - 1, -1, -1), strict=True
    ):
        twin = parent.copy()
        at = element if isinstance(element, str) else _item_index(parent, element)
        if kept is MISSING:
            del twin[at]
        else:
            twin[at] = kept
        # An item of a list is never emptied away: it goes by its own path.
        emptied = not twin and place > 0 and isinstance(path[place - 1], str)
        kept = MISSING if emptied else twin
    return kept


def merged(live: Any, applied: Any, schema: Schema) -> Any:
    """`applied` laid over `live`; neither is changed, and the result has parts of both."""
    if isinstance(live, dict) and isinstance(applied, dict) and not shapes.is_atomic_map(schema):
        result = live.copy()
        for key, part in applied.items():
            result[key] = merged(live.get(key), part, shapes.child(schema, key))
        return result
    if isinstance(live, list) and isinstance(applied, list):
        kind = shapes.list_type(schema)
        if kind == "map":
            rows = live.copy()
            for item in applied:
                index = _item_index(rows, shapes.item_key(schema, item))
                if index < 0:
                    rows.append(item)
                else:
                    rows[index] = merged(rows[index], item, shapes.items(schema))
            return rows
        if kind == "set":
            return [*live, *(item for item in applied if item not in live)]
    return applied


def changed_paths(before: Any, after: Any, schema: Schema) -> set[Path]:
    """Paths whose value differs or is new in `after`."""
    return {path for path in paths(after, schema) if lookup(before, path) != lookup(after, path)}


class Owners:
    """Who owns which path of one object. A manager is its name plus the subresource it writes."""

    def __init__(self) -> None:
        self._owned: dict[tuple[str, str], set[Path]] = {}

    def clone(self) -> Owners:
        twin = Owners()
        twin._owned = {manager: set(owned) for manager, owned in self._owned.items()}
        return twin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Owners) and self._owned == other._owned

    __hash__ = None  # type: ignore[assignment]

    def of(self, name: str, subresource: str = "") -> set[Path]:
        return set(self._owned.get((name, subresource), set()))

    def _others(self, manager: tuple[str, str]) -> Iterable[tuple[str, set[Path]]]:
        return ((key[0], owned) for key, owned in self._owned.items() if key != manager)

    def conflicts(self, name: str, subresource: str, live: Any, applied: Any, schema: Schema) -> list[str]:
        """`manager: path` for every applied path that someone else owns with another value."""
        found = []
        for path in paths(applied, schema):
            if lookup(live, path) == lookup(applied, path) or _is_item(path):
                continue
            found += [
                f"{other}: {render(path)}"
                for other, owned in self._others((name, subresource))
                if path in owned
            ]
        return sorted(found)

    def apply(self, name: str, subresource: str, live: Any, applied: Any, schema: Schema) -> Any:
        """The object after `applied`; ownership moves accordingly."""
        manager = (name, subresource)
        desired = paths(applied, schema)
        for key, owned in self._owned.items():
            if key != manager:
                owned -= {
                    path
                    for path in desired & owned
                    if not _is_item(path) and lookup(live, path) != lookup(applied, path)
                }
        result = merged(live, applied, schema)
        kept = set().union(*(owned for _, owned in self._others(manager)))
        dropped = self._owned.get(manager, set()) - desired - kept
        for path in sorted(dropped, key=len):
            held = any(other[: len(path)] == path for other in kept | desired if len(other) > len(path))
            if not held and not _is_key_of_item(path):
                result = without(result, path)
        self._owned[manager] = desired
        return result

    def update(self, name: str, subresource: str, before: Any, after: Any, schema: Schema) -> None:
        """Books an ordinary write (create, replace, patch): the writer owns what it changed."""
        changed = changed_paths(before, after, schema)
        for owned in self._owned.values():
            owned -= {path for path in owned if lookup(after, path) is MISSING}
            owned -= {path for path in changed if not _is_item(path)}
        self._owned.setdefault((name, subresource), set()).update(changed)


def _is_key_of_item(path: Path) -> bool:
    """Whether the path is the field that tells an item from its siblings: it goes with the item only."""
    return len(path) > 1 and not isinstance(path[-2], str) and path[-1] in [name for name, _ in path[-2]]


def _is_item(path: Path) -> bool:
    return bool(path) and not isinstance(path[-1], str) and path[-1][0][0] != "="


def render(path: Path) -> str:
    """`.status.conditions[type=Ready].reason`."""
    text = ""
    for element in path:
        if isinstance(element, str):
            text += f".{element}"
        else:
            text += "[" + ",".join(f"{name}={value}" for name, value in element) + "]"
    return text
