"""What differs between two renderings of a region, release by release. Pure but for rendering by Helm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controller.domain.bundle import ReleaseSpec
from controller.domain.manifest_diff import ManifestDiff, diff_manifests
from controller.domain.node_overrides import renamed_daemonsets
from controller.domain.values_diff import ValueChange, diff_values
from controller.helm_port import RenderedRelease
from controller.render import Region, RegionRelease

Render = Callable[[ReleaseSpec], RenderedRelease]
Size = Callable[[ReleaseSpec, RenderedRelease], str]


class Fate(StrEnum):
    """What happens to a release."""

    INSTALLED = "installed"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True)
class ReleaseDiff:
    """One release that is touched. `objects` is None where manifests were not rendered.

    `renames` are DaemonSets that get another name, so that all their pods restart at once. `size` is what
    is to be said of the size of its record, empty where it is small.
    """

    service: str
    release: str
    fate: Fate
    chart: str = ""
    values: tuple[ValueChange, ...] = ()
    objects: ManifestDiff | None = None
    renames: tuple[str, ...] = ()
    size: str = ""


@dataclass(frozen=True)
class RegionDiff:
    """All releases that are touched, and the number of those that are not."""

    releases: tuple[ReleaseDiff, ...]
    unchanged: int

    @property
    def restarts(self) -> int:
        """Workloads whose pods are replaced."""
        return sum(len(one.objects.restarts) for one in self.releases if one.objects is not None)

    @property
    def pods(self) -> int:
        """Pods that are replaced, those of DaemonSets not counted."""
        return sum(one.objects.pods for one in self.releases if one.objects is not None)


def diff_regions(
    old: Region, new: Region, render: Render | None = None, size: Size | None = None
) -> RegionDiff:
    """The difference; `render` gives what Helm makes of a release, None leaves objects out. `size` tells what
    is to be said of the size of what was rendered."""
    before, after = _by_name(old), _by_name(new)
    touched: list[ReleaseDiff] = []
    unchanged = 0
    for name, (service, release) in after.items():
        if name not in before:
            touched.append(ReleaseDiff(service, name, Fate.INSTALLED, release.spec.chart.name))
            continue
        found = _changed(service, before[name][1], release, render, size)
        if found is None:
            unchanged += 1
        else:
            touched.append(found)
    touched += [
        ReleaseDiff(service, name, Fate.REMOVED, release.spec.chart.name)
        for name, (service, release) in before.items()
        if name not in after
    ]
    return RegionDiff(tuple(touched), unchanged)


def _by_name(region: Region) -> Mapping[str, tuple[str, RegionRelease]]:
    return {
        release.spec.name: (bundle.service, release)
        for bundle in region.bundles
        for release in bundle.releases
    }


def _changed(
    service: str, old: RegionRelease, new: RegionRelease, render: Render | None, size: Size | None
) -> ReleaseDiff | None:
    """None where Helm would be given the same chart and the same values."""
    same_chart = old.spec.chart == new.spec.chart
    values = diff_values(old.merged, new.merged)
    if same_chart and not values and old.spec.values == new.spec.values:
        return None
    objects, said = None, ""
    if render is not None:
        was, becomes = render(old.spec), render(new.spec)
        objects = diff_manifests(was.manifest, becomes.manifest, becomes.hooks)
        said = size(new.spec, becomes) if size is not None else ""
    chart = "" if same_chart else f"{_chart(old.spec)} → {_chart(new.spec)}"
    renames = renamed_daemonsets(new.spec.chart, old.spec.values, new.spec.values)
    return ReleaseDiff(service, new.spec.name, Fate.CHANGED, chart, values, objects, renames, said)


def _chart(spec: ReleaseSpec) -> str:
    where = spec.chart.repository or spec.chart.path
    return f"{spec.chart.name} {spec.chart.version} of {where}".replace("  ", " ")
