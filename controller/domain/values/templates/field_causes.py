"""Which fields of a spec made a template write what it wrote.

Found by asking the templates themselves: each field that is set is left out, or given another value, and
what is then written differently is there because of it. Nothing has to be declared that could drift from
the templates, and it does not matter how a field found its way: as text, in a list, by an `if`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from controller.domain.values.chart_values import PATCH, DocumentPath, Path, format_path, leaves
from controller.domain.values.layer import Layer
from controller.domain.values.source_lines import nearest_line
from controller.errors import SpecInvalid

Written = Mapping[tuple[str, Path], Any]  # by layer and path
Ask = Callable[[Mapping[str, Any]], Iterable[Layer]]

_LEFT_OUT = object()
_MOST_CHOICES = 4
_MANY = 8  # fields of one map that are worth asking for all at once


@dataclass(frozen=True)
class FieldOrigin:
    """One field: its path in its file (`spec.features.…`), and `file:line` or empty."""

    path: str
    place: str = ""


@dataclass(frozen=True)
class FieldTree:
    """A tree of fields that may be causes, with its keys that are examined.

    `ask` gives the templates' layers when the tree is another one; it raises SpecInvalid where it may not.
    `named` tells what people know a field of the tree by. `schema` describes the tree, if something does.
    `groups` are places in the tree whose fields need each other: a group counts as one where no field does.
    """

    tree: Mapping[str, Any]
    parts: tuple[str, ...]
    ask: Ask
    named: Callable[[DocumentPath], FieldOrigin]
    schema: Mapping[str, Any] | None = None
    groups: tuple[DocumentPath, ...] = ()


def named_in(
    source: str, root: DocumentPath, lines: Mapping[DocumentPath, int]
) -> Callable[..., FieldOrigin]:
    """Names fields by their path below `root` and the line in their file."""

    def named(path: DocumentPath) -> FieldOrigin:
        line = nearest_line(lines, (*root, *path))
        return FieldOrigin(format_path((*root, *path)), f"{source}:{line}" if source and line else source)

    return named


def written(layers: Iterable[Layer]) -> dict[tuple[str, Path], Any]:
    """Every leaf of the layers."""
    return {(layer.name, path): value for layer in layers for path, value in leaves(layer.values)}


def find_causes(
    layers: Iterable[Layer], trees: Iterable[FieldTree], about: Path = ()
) -> dict[tuple[str, Path], tuple[FieldOrigin, ...]]:
    """The fields behind each leaf of the templates' layers, by layer and path; others are left out.

    With `about` the search covers only fields that this place names, which is quicker. In a map with many
    fields, it skips those without effect there, even when all of them change.
    """
    now = {leaf: value for leaf, value in written(layers).items() if _meet(leaf[1], about)}
    found: dict[tuple[str, Path], dict[FieldOrigin, None]] = {}
    trees = tuple(trees) if now else ()
    for fields in trees:
        for block in _set_fields(fields):
            for path in _narrowed(now, fields, block) if about else block:
                for leaf in _touched(now, fields, path):
                    found.setdefault(leaf, {})[fields.named(path)] = None
    for together in (1, 2):  # groups that need each other only where no field, and no group, does it alone
        known = frozenset(found)
        for fields in trees if len(known) < len(now) else ():
            for groups in combinations(fields.groups, together):
                for leaf in _without(now, fields, *groups) - known:
                    found.setdefault(leaf, {}).update((fields.named(group), None) for group in groups)
    return {leaf: tuple(causes) for leaf, causes in found.items()}


def _meet(path: Path, about: Path) -> bool:
    """Whether one of the paths leads to the other; the mark of a map stands for the map."""
    path = path[:-1] if path and path[-1] == PATCH else path
    shorter = min(len(path), len(about))
    return path[:shorter] == about[:shorter]


Block = tuple[DocumentPath, ...]  # fields of one map, or a single field


def _set_fields(fields: FieldTree) -> Iterator[Block]:
    for part in fields.parts:
        if part in fields.tree:
            yield from _fields_below(fields.tree[part], (part,))


def _fields_below(value: Any, path: DocumentPath) -> Iterator[Block]:
    if isinstance(value, Mapping):
        plain = [key for key, item in value.items() if not isinstance(item, Mapping | list)]
        if plain:
            yield tuple((*path, key) for key in plain)
        for key, item in value.items():
            if isinstance(item, Mapping | list):
                yield from _fields_below(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields_below(item, (*path, index))
    else:
        yield (path,)


def _narrowed(now: Written, fields: FieldTree, block: Block) -> Iterator[DocumentPath]:
    """The fields of the block without those that do nothing together with their neighbours."""
    if len(block) < _MANY:
        yield from block
    elif not _idle(now, fields, block):
        half = len(block) // 2
        yield from _narrowed(now, fields, block[:half])
        yield from _narrowed(now, fields, block[half:])


def _idle(now: Written, fields: FieldTree, block: Block) -> bool:
    """Whether nothing is another one without all of the fields, nor with other values of all of them."""
    for changes in (
        dict.fromkeys(block, _LEFT_OUT),
        {path: next(_others(fields, path), _LEFT_OUT) for path in block},
    ):
        then = _asked(fields, changes)
        if then is None or any(_differs(now, then, leaf) for leaf in now):
            return False
    return True


def _touched(now: Written, fields: FieldTree, path: DocumentPath) -> frozenset[tuple[str, Path]]:
    """Leaves that are other ones without the field, else with another value, else without its item."""
    for value in (_LEFT_OUT, *_others(fields, path)):
        then = _asked(fields, {path: value})
        different = frozenset(leaf for leaf in now if then is not None and _differs(now, then, leaf))
        if different:
            return different
    items = [depth for depth, key in enumerate(path) if isinstance(key, int)]
    if items and items[-1] + 1 < len(path):  # a field that its item cannot be without
        return _without(now, fields, path[: items[-1] + 1])
    return frozenset()


def _without(now: Written, fields: FieldTree, *paths: DocumentPath) -> frozenset[tuple[str, Path]]:
    then = _asked(fields, dict.fromkeys(paths, _LEFT_OUT))
    return frozenset(leaf for leaf in now if then is not None and _differs(now, then, leaf))


def _asked(fields: FieldTree, changes: Mapping[DocumentPath, Any]) -> Written | None:
    """What the templates write with other values of fields; None where they or the schema refuse it."""
    tree = copy.deepcopy(dict(fields.tree))
    for path, value in changes.items():
        parent: Any = tree
        for key in path[:-1]:
            parent = parent[key]
        if value is _LEFT_OUT:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
    try:
        return written(fields.ask(tree))
    except SpecInvalid:
        return None


def _differs(now: Written, then: Written, leaf: tuple[str, Path]) -> bool:
    return leaf not in then or type(now[leaf]) is not type(then[leaf]) or now[leaf] != then[leaf]


def _others(fields: FieldTree, path: DocumentPath) -> Iterator[Any]:
    """Other values that a field may have, by its type and its schema."""
    value: Any = fields.tree
    node: Any = fields.schema or {}
    for key in path:
        value = value[key]
        below = node.get("items") if isinstance(key, int) else (node.get("properties") or {}).get(key)
        node = below or node.get("additionalProperties") or {}
        node = node if isinstance(node, Mapping) else {}
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        choices = [choice for choice in node.get("enum", ()) if choice != value]
        yield from choices[:_MOST_CHOICES] or _other_texts(value)


def _other_texts(text: str) -> Iterator[str]:
    """Texts of the same form: another last digit, or a letter more."""
    for index in range(len(text) - 1, -1, -1):
        if text[index] in "0123456789":
            yield text[:index] + str((int(text[index]) + 1) % 10) + text[index + 1 :]
            break
    yield text + "x"
