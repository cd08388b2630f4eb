"""What a service cannot work without, and only the operator can bring. Pure.

A spec with a service that lacks parts is refused. If the release already runs, it continues as before, and
the region reports a warning (`admit_running`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.validation.replaced_policies import replaced_rules
from controller.domain.validation.store_options import unready_stores
from controller.domain.values.merge import MergedValues
from controller.domain.values.rules.checks import ServiceCheck
from controller.domain.values.shipped_values import Library
from controller.errors import Problem
from controller.render.service_checks import failed_checks


@dataclass(frozen=True)
class MissingPart:
    """What a release lacks. What is there of the release in a region goes on without it."""

    release: str
    problem: Problem


def missing_parts(
    library: Library, features: Mapping[str, Any], releases: Mapping[str, MergedValues], namespace: str
) -> Iterator[MissingPart]:
    """What releases lack, by the checks that refuse, what their stores lack, and whom their network policies
    cut off. `releases` are the final values of all, by name, in the region's `namespace`."""
    for check in library.checks:
        if not check.warns:
            yield from (MissingPart(check.release, one) for one in failed_checks(check, features, releases))
    for kind in library.stores:
        if kind.release in releases:
            found = unready_stores(kind, features, releases[kind.release])
            yield from (MissingPart(kind.release, one) for one in found)
    for release, merged in releases.items():
        yield from (MissingPart(release, one) for one in replaced_rules(merged, namespace))


def doubtful_parts(
    checks: Iterable[ServiceCheck], features: Mapping[str, Any], releases: Mapping[str, MergedValues]
) -> Iterator[Problem]:
    """What the checks warn of."""
    for check in checks:
        if check.warns:
            yield from failed_checks(check, features, releases)


def admit_running(
    missing: Collection[MissingPart], running: Collection[str]
) -> tuple[list[Problem], list[Problem]]:
    """Problems, of releases that do not run yet; and warnings, of those that do."""
    refused = [part.problem for part in missing if part.release not in running]
    return refused, [part.problem for part in missing if part.release in running]
