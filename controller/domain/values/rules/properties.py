"""Names of properties of objects of OpenStack, as values/properties.yaml has them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from controller.domain.values.chart_values import Path


@dataclass(frozen=True)
class KnownProperties:
    """The properties in one place of the values of a release, and `reader`, which reads them.

    `when`: the name and value of what has to stand beside them. With `complete` no other name exists; else
    no other one exists that begins with one of `closed` and a colon. `values` are kinds of their values, as
    `option_types` writes them. `plugins`: they are not properties, but
    the plug-ins that an option lists."""

    release: str
    at: Path
    reader: str
    names: tuple[str, ...]
    complete: bool = False
    closed: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    when: tuple[str, str] | None = None
    plugins: bool = False

    def has(self, name: str) -> bool:
        """Whether this is one of the names."""
        return any(fnmatchcase(name, known) for known in self.names)

    def kind_of(self, name: str) -> str:
        """What the value of a property has to be; empty where it may be any text."""
        return next((kind for known, kind in self.values.items() if fnmatchcase(name, known)), "")

    def excludes(self, name: str) -> bool:
        """Whether there is certainly no such name."""
        beginning, colon, _ = name.partition(":")
        return not self.has(name) and (self.complete or (bool(colon) and beginning in self.closed))


def parse_properties(document: Iterable[Mapping[str, Any]]) -> tuple[KnownProperties, ...]:
    """Of a document that matches values/properties.schema.yaml."""
    return tuple(
        KnownProperties(
            release=one["release"],
            at=tuple(one["at"].split(".")),
            reader=one["what"],
            names=tuple(one["names"]),
            complete=one["others"] == "unknown",
            closed=frozenset(one.get("closed", ())),
            values=dict(one.get("values", {})),
            plugins=one.get("plugins", False),
            when=(one["when"]["key"], one["when"]["is"]) if "when" in one else None,
        )
        for one in document
    )
