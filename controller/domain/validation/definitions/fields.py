"""The fields of a definition of ours as a person reads them: path, type and description. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.values.suggestion import suggestion
from controller.errors import Problem, SpecInvalid

Schema = Mapping[str, Any]

# Brackets of a list, with an index or without one: a path of a message is taken as it is.
_INDEX = re.compile(r"\[\d*\]")
_OPEN = "x-kubernetes-preserve-unknown-fields"
_FREE = "fields below it are free: the chart's values.yaml lists them"
# Stands for a key that is the operator's to choose.
ANY_KEY = "<key>"


@dataclass(frozen=True)
class Field:
    """One field. `path` is written from the spec on: `[]` after a list, `<key>` for a free key of a map."""

    path: str
    type: str
    description: str


def fields_at(spec: Schema, path: str, depth: int) -> tuple[Field, ...]:
    """The field of a path, and those below it down to `depth` levels; without a path, those of the spec.

    `spec` is the schema of a resource's spec. Raises SpecInvalid for a path that it does not have."""
    node, written = spec, ""
    for word in _words(path):
        node, written = _step(node, written, word)
    own = (_field(node, written),) if written else ()
    return (*own, *_below(node, written, depth))


def _words(path: str) -> list[str]:
    words = [word for word in _INDEX.sub("", path).split(".") if word]
    return words[1:] if words[:1] == ["spec"] else words


def _step(node: Schema, written: str, word: str) -> tuple[Schema, str]:
    """The field of a name below another one."""
    node, written = _of_items(node, written)
    known = node.get("properties") or {}
    if word in known:
        return known[word], _joined(written, word)
    if isinstance(free := node.get("additionalProperties"), Mapping):
        return free, _joined(written, ANY_KEY)
    remedy = suggestion(word, known) if known else _FREE if node.get(_OPEN) else ""
    raise SpecInvalid([Problem("PATH", f'{written or "spec"} has no field "{word}"', remedy)])


def _below(node: Schema, written: str, depth: int) -> Iterator[Field]:
    if depth < 1:
        return
    node, written = _of_items(node, written)
    for name, child in (node.get("properties") or {}).items():
        path = _joined(written, name)
        yield _field(child, path)
        yield from _below(child, path, depth - 1)
    if isinstance(free := node.get("additionalProperties"), Mapping):
        path = _joined(written, ANY_KEY)
        yield _field(free, path)
        yield from _below(free, path, depth - 1)


def _of_items(node: Schema, written: str) -> tuple[Schema, str]:
    """What a list holds in its place; anything else as it is."""
    return (node["items"], f"{written}[]") if node.get("type") == "array" else (node, written)


def _joined(written: str, word: str) -> str:
    return f"{written}.{word}" if written else word


def _field(node: Schema, path: str) -> Field:
    return Field(path, _type(node), " ".join(str(node.get("description", "")).split()))


def _type(node: Schema) -> str:
    if "enum" in node:
        return " | ".join(map(str, node["enum"]))
    if node.get("type") == "array":
        return f"list of {_type(node['items'])}"
    if isinstance(free := node.get("additionalProperties"), Mapping):
        return f"map of {_type(free)}"
    return {"object": "map"}.get(str(node.get("type")), str(node.get("type", "any")))
