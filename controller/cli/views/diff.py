"""Compares two renderings of a region, release by release. Pure, except for the render by Helm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from controller.domain.region.node_overrides import renamed_daemonsets
from controller.domain.releases.bundle import BundleSpec, ReleaseSpec
from controller.domain.releases.immutable_fields import CLAIM
from controller.domain.releases.manifest_diff import DAEMONSET, ManifestDiff, diff_manifests
from controller.domain.releases.plan import migrates
from controller.domain.releases.release_settings import SettingChange, bundle_changes, release_changes
from controller.domain.values.chart_values import format_path
from controller.domain.values.values_diff import ValueChange, diff_values
from controller.ports.helm import RenderedRelease
from controller.render.region import Region, RegionRelease

Render = Callable[[ReleaseSpec], RenderedRelease]
Size = Callable[[ReleaseSpec, RenderedRelease], tuple[str, bool]]
Taken = Callable[[ReleaseSpec, RenderedRelease, str], tuple[str, ...]]


class Fate(StrEnum):
    """What happens to a release."""

    INSTALLED = "installed"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True)
class ReleaseDiff:
    """One changed release.

    `objects` is None if manifests were not rendered. `settings` are changes of its settings. `loses_data`:
    its volumes are deleted. `renames` are DaemonSets with a new name, so that all their pods restart at once.
    `size` is a note on the size of its record, or empty. `too_large`: Helm is not called for it.
    """

    service: str
    release: str
    fate: Fate
    chart: str = ""
    values: tuple[ValueChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    loses_data: bool = False
    objects: ManifestDiff | None = None
    renames: tuple[str, ...] = ()
    size: str = ""
    too_large: bool = False

    @property
    def stopped(self) -> bool:
        """Whether nothing of this can be done, so that no pod restarts and no Job runs."""
        return self.too_large or bool(self.objects and self.objects.refused)


@dataclass(frozen=True)
class RegionDiff:
    """All changed releases, and the number of unchanged ones.

    `settings` are changes of settings of the whole region. `another` says that these are two different
    regions, or is empty. `refused`: why none of it would begin. `warnings`: intended effects that it would
    not have. `steps`: those of an upgrade to another version that change something, in their order.
    """

    releases: tuple[ReleaseDiff, ...]
    unchanged: int
    settings: tuple[SettingChange, ...] = ()
    another: str = ""
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def migrating(self) -> tuple[str, ...]:
        """Releases whose databases are migrated."""
        return tuple(
            one.release
            for one in self.releases
            if one.fate == Fate.CHANGED and migrates(format_path(change.path) for change in one.values)
        )

    @property
    def empty(self) -> bool:
        """Whether nothing at all differs."""
        return not (self.releases or self.settings or self.another)

    @property
    def held_up(self) -> bool:
        """Whether an edit is necessary first: all of it is refused, or a release is."""
        return bool(self.refused or self.stopped)

    @property
    def losses(self) -> tuple[str, ...]:
        """Releases whose data is deleted."""
        return tuple(one.release for one in self.releases if one.loses_data)

    @property
    def restarts(self) -> int:
        """Workloads whose pods are replaced, including renamed ones."""
        return sum(len(objects.restarts) for objects in self._done) + self._renamed

    @property
    def pods(self) -> int:
        """Pods that are replaced, without those of DaemonSets."""
        return sum(objects.pods for objects in self._done)

    @property
    def on_each_node(self) -> int:
        """DaemonSets whose pods are replaced: one on each of their nodes."""
        titles = (title for objects in self._done for title in objects.restarts)
        return sum(title.startswith(f"{DAEMONSET} ") for title in titles) + self._renamed

    @property
    def stopped(self) -> tuple[str, ...]:
        """Releases that cannot be installed or upgraded as they are."""
        return tuple(one.release for one in self.releases if one.stopped)

    @property
    def _renamed(self) -> int:
        return sum(len(one.renames) for one in self.releases if one.objects is not None and not one.stopped)

    @property
    def _done(self) -> list[ManifestDiff]:
        """The changes of objects of releases that can be upgraded."""
        return [one.objects for one in self.releases if one.objects is not None and not one.stopped]


def diff_regions(
    old: Region,
    new: Region,
    render: Render | None = None,
    size: Size | None = None,
    taken: Taken | None = None,
) -> RegionDiff:
    """The difference.

    `render` returns the rendered release; None omits objects. `size` returns a note on the size of a render,
    and `taken` the foreign objects in the way of an install or upgrade.
    """
    before, after = _by_name(old), _by_name(new)
    volumes = _kept(new).volumes
    helm = _Helm(render, size, taken, retain=volumes == "Retain")
    touched: list[ReleaseDiff] = []
    unchanged = 0
    for name, (service, release) in after.items():
        if name not in before:
            objects, note, large = helm.objects(None, release.spec)
            chart = release.spec.chart.name
            installed = ReleaseDiff(service, name, Fate.INSTALLED, chart, objects=objects)
            touched.append(replace(installed, size=note, too_large=large))
            continue
        found = _changed(service, before[name][1], release, helm)
        if found is None:
            unchanged += 1
        else:
            touched.append(found)
    for name, (service, release) in before.items():
        if name not in after:
            lost = volumes == "Delete"
            objects = helm.leaving(release.spec, with_claims=lost)
            chart = release.spec.chart.name
            touched.append(ReleaseDiff(service, name, Fate.REMOVED, chart, loses_data=lost, objects=objects))
    return RegionDiff(tuple(touched), unchanged, bundle_changes(_kept(old), _kept(new)))


def _kept(region: Region) -> BundleSpec:
    """The settings of a region's bundles, which come from the region's spec."""
    return region.bundles[0].spec if region.bundles else BundleSpec(())


def _by_name(region: Region) -> Mapping[str, tuple[str, RegionRelease]]:
    return {
        release.spec.name: (bundle.service, release)
        for bundle in region.bundles
        for release in bundle.releases
    }


@dataclass(frozen=True)
class _Helm:
    """The rendered releases, if requested."""

    render: Render | None
    size: Size | None
    taken: Taken | None = None
    retain: bool = True

    def objects(self, old: ReleaseSpec | None, new: ReleaseSpec) -> tuple[ManifestDiff | None, str, bool]:
        """Objects of an install or upgrade, the note on the size, and whether it is too large."""
        if self.render is None:
            return None, "", False
        becomes = self.render(new)
        was = self.render(old) if old is not None else RenderedRelease((), ())
        event = "upgrade" if old is not None else "install"
        found = diff_manifests(
            was.manifest,
            becomes.manifest,
            becomes.hooks,
            old_hooks=was.hooks if old is not None else becomes.hooks,
            event=event,
            retain=self.retain,
        )
        if self.taken is not None:
            found = replace(found, refused=(*found.refused, *self.taken(new, becomes, event.capitalize())))
        return found, *(self.size(new, becomes) if self.size is not None else ("", False))

    def leaving(self, spec: ReleaseSpec, *, with_claims: bool) -> ManifestDiff | None:
        """What an uninstall deletes."""
        if self.render is None:
            return None
        gone = [obj for obj in self.render(spec).manifest if with_claims or obj.get("kind") != CLAIM]
        return replace(diff_manifests(gone, (), retain=not with_claims), kept=())


def _changed(service: str, old: RegionRelease, new: RegionRelease, helm: _Helm) -> ReleaseDiff | None:
    """None if chart, values and settings of the release are unchanged."""
    settings = release_changes(old.spec, new.spec)
    name = new.spec.name
    same_chart = old.spec.chart == new.spec.chart
    values = diff_values(old.merged, new.merged)
    if same_chart and not values and old.spec.values == new.spec.values:
        return ReleaseDiff(service, name, Fate.CHANGED, settings=settings) if settings else None
    objects, note, large = helm.objects(old.spec, new.spec)
    chart = "" if same_chart else f"{_chart(old.spec)} → {_chart(new.spec)}"
    renames = renamed_daemonsets(new.spec.chart, old.spec.values, new.spec.values)
    return ReleaseDiff(
        service,
        name,
        Fate.CHANGED,
        chart,
        values,
        settings,
        loses_data=bool(objects and objects.loses_data and not large and not objects.refused),
        objects=objects,
        renames=renames,
        size=note,
        too_large=large,
    )


def _chart(spec: ReleaseSpec) -> str:
    where = spec.chart.repository or spec.chart.path
    return f"{spec.chart.name} {spec.chart.version} of {where}".replace("  ", " ")
