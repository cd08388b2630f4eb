"""What a region's spec says of drift: `spec.drift` for all releases, `spec.driftRules` for one or more."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from controller.domain.releases.bundle import DriftIgnore, DriftMode
from controller.errors import Problem

#: The name that stands for every release in `spec.driftRules`.
EVERY_RELEASE = "*"


def ignore_rules(items: Sequence[Mapping[str, Any]] | None) -> tuple[DriftIgnore, ...]:
    """Rules as the definitions allow them."""
    return tuple(
        DriftIgnore(str(item.get("kind") or ""), str(item.get("name") or ""), tuple(item.get("paths") or ()))
        for item in items or ()
    )


def ignore_objects(rules: Sequence[DriftIgnore]) -> list[dict[str, Any]]:
    """Rules as they stand in an object."""
    return [
        {
            key: value
            for key, value in (("kind", rule.kind), ("name", rule.name), ("paths", list(rule.paths)))
            if value
        }
        for rule in rules
    ]


def drift_of(spec: Mapping[str, Any], release: str) -> tuple[DriftMode, tuple[DriftIgnore, ...]]:
    """Mode and rules of one release: its own mode goes before that of all, rules add up."""
    mode: DriftMode = spec.get("drift") or "Correct"
    rules: tuple[DriftIgnore, ...] = ()
    for wanted in (EVERY_RELEASE, release):
        for item in spec.get("driftRules") or ():
            if item.get("release") == wanted:
                mode = item.get("mode") or mode
                rules += ignore_rules(item.get("ignore"))
    return mode, rules


def unknown_releases(spec: Mapping[str, Any], known: Collection[str]) -> Iterator[Problem]:
    """Warnings about rules for releases that the region does not have."""
    for place, item in enumerate(spec.get("driftRules") or ()):
        name = str(item.get("release"))
        if name not in known and name != EVERY_RELEASE:
            near = next(iter(difflib.get_close_matches(name, known, n=1)), "")
            yield Problem(
                f"spec.driftRules[{place}].release",
                f'the region has no release "{name}"',
                f'did you mean "{near}"?' if near else "the rule has no effect",
            )
