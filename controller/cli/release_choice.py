"""Chooses releases of a region by name, and lists all for a wrong name."""

from __future__ import annotations

from collections.abc import Sequence

from controller.cli.offline.region import OfflineRegion
from controller.domain.validation.definitions.crd_schema import nearest
from controller.errors import Problem, SpecInvalid
from controller.render.region import RegionRelease


def choose(region: OfflineRegion, names: Sequence[str] | None) -> tuple[RegionRelease, ...]:
    """The releases with these names, or all. Raises SpecInvalid for an unknown name."""
    every = [release for bundle in region.region.bundles for release in bundle.releases]
    if not names:
        return tuple(every)
    known = [release.spec.name for release in every]
    problems = [_unknown(name, known) for name in names if name not in known]
    if problems:
        raise SpecInvalid(problems)
    return tuple(release for release in every if release.spec.name in names)


def _unknown(name: str, known: Sequence[str]) -> Problem:
    meant = nearest(name, known)
    remedy = f'did you mean "{meant}"?' if meant else f"there is: {', '.join(known)}"
    return Problem("--release", f'the region has no release "{name}"', remedy)
