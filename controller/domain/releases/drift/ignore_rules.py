"""What a region's spec says of drift: `spec.drift` for all releases, `spec.driftRules` for one or more.

`difference.py` applies it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.spec_rules.definition import DRIFT_RELEASE_UNKNOWN
from controller.domain.releases.bundle import DriftIgnore, DriftMode
from controller.errors import Problem

#: The name that stands for every release in `spec.driftRules`.
EVERY_RELEASE = "*"


@dataclass(frozen=True)
class DriftRule:
    """One item of `spec.driftRules`: for a release, or EVERY_RELEASE. `mode` None: that of the spec stays."""

    release: str
    mode: DriftMode | None = None
    ignore: tuple[DriftIgnore, ...] = ()


def drift_rules(items: Sequence[Mapping[str, Any]] | None) -> tuple[DriftRule, ...]:
    """`spec.driftRules` as the definition allows them."""
    return tuple(
        DriftRule(str(item.get("release")), item.get("mode") or None, ignore_rules(item.get("ignore")))
        for item in items or ()
    )


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


def drift_of(
    drift: DriftMode, rules: Sequence[DriftRule], release: str
) -> tuple[DriftMode, tuple[DriftIgnore, ...]]:
    """Mode and rules of one release: its own mode goes before that of all (`drift`), rules add up."""
    ignore: tuple[DriftIgnore, ...] = ()
    for desired in (EVERY_RELEASE, release):
        for rule in rules:
            if rule.release == desired:
                drift = rule.mode or drift
                ignore += rule.ignore
    return drift, ignore


def unknown_releases(rules: Sequence[DriftRule], known: Collection[str]) -> Iterator[Problem]:
    """Warnings about rules for releases that the region does not have."""
    for place, rule in enumerate(rules):
        name = rule.release
        if name not in known and name != EVERY_RELEASE:
            near = next(iter(difflib.get_close_matches(name, known, n=1)), "")
            yield DRIFT_RELEASE_UNKNOWN.at(
                f"spec.driftRules[{place}].release",
                name=name,
                suggestion=f'did you mean "{near}"?' if near else "the rule has no effect",
            )
