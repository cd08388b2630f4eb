"""Checks objects of files without a cluster: what `osctl validate` and `osctl apply` have in common."""

from __future__ import annotations

from dataclasses import dataclass

from controller.cli.input_files import InputObject
from controller.cli.offline import OfflineRegion, OfflineRenderer, is_bundle, is_region
from controller.errors import ChartInvalid, Problem, SpecInvalid

NOT_COMPARED = "its fields are valid; its values were not compared with the charts"


@dataclass(frozen=True)
class Checked:
    """One object and what was found. `services` and `releases` are counted for a region only.

    `unread` says why a region's values could not be compared with its charts, empty when they could.
    """

    title: str
    source: str
    checked: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unread: str = ""
    services: int | None = None
    releases: int | None = None


def check(item: InputObject, renderer: OfflineRenderer) -> Checked:
    """What is wrong with one object; objects of other products are not checked."""
    region: OfflineRegion | None = None
    try:
        if is_region(item):
            region = renderer.render(item)
        elif is_bundle(item):
            renderer.check_bundle(item)
        else:
            return Checked(item.title, item.source, checked=False)
    except SpecInvalid as error:
        return Checked(item.title, item.source, checked=True, problems=tuple(error.problems))
    except ChartInvalid as error:
        return Checked(item.title, item.source, checked=True, unread=str(error))
    if region is None:
        return Checked(item.title, item.source, checked=True)
    bundles = region.region.bundles
    return Checked(
        item.title,
        item.source,
        checked=True,
        warnings=tuple(item.locate(warning) for warning in region.region.warnings),
        services=len(bundles),
        releases=sum(len(bundle.releases) for bundle in bundles),
    )
