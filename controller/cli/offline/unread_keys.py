"""Problems of an operator's values that only a render shows: keys without effect, and numbers with an
exponent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.validation.printed_numbers import misprinted
from controller.domain.values.chart_values import PATCH, Path, format_path, is_map, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.unknown_keys import OpenMaps, unknown_keys, without_paths
from controller.errors import ChartInvalid, Problem
from controller.ports.kubernetes import KubeObject
from controller.render.region import Region, RegionRelease

# More keys than these are only checked together.
_MOST = 12
Render = Callable[[ReleaseSpec], str]


def unread_keys(region: Region, open_maps: OpenMaps, render: Render) -> Iterator[Problem]:
    """A warning for each such key that was not reported yet.

    `render` returns the text of a release. A key in values for several releases is reported if none of them
    reads it.
    """
    told = {warning.path for warning in region.warnings}
    releases = [release for bundle in region.bundles for release in bundle.releases]
    found: dict[str, Problem] = {}
    read: set[str] = set()
    for release in releases:
        candidates = {
            path: layer
            for path, layer in _candidates(release.merged, open_maps)
            if layer.full_path(path) not in told
        }
        unread = _unread(release, list(candidates), render) if candidates else set()
        for path, layer in candidates.items():
            shown = layer.full_path(path)
            if path not in unread:
                read.add(shown)
                continue
            common = layer.root[:2] == ("spec", "common")
            chart = "any chart" if common else f"chart {release.spec.chart.name}"
            message = f'"{path[-1]}" has no effect on the objects of {chart}'
            remedy = "remove it, or find the right name in the chart's values (osctl explain)"
            found.setdefault(shown, Problem(shown, message, remedy, layer.place(path)))
    read |= _known_elsewhere(releases)
    yield from (problem for shown, problem in found.items() if shown not in read)


def _candidates(merged: MergedValues, open_maps: OpenMaps) -> Iterator[tuple[Path, Layer]]:
    for layer in _operators(merged):
        for path, value in unknown_keys(layer.values, merged.defaults, open_maps):
            if path[-1] != PATCH and value is not None and not (is_map(value) and PATCH in value):
                yield path, layer


def _operators(merged: MergedValues) -> list[Layer]:
    """The layers of the spec, without those of labelled nodes."""
    layers = {id(one.origin): one.origin for settings in merged.history.settings.values() for one in settings}
    return [layer for layer in layers.values() if layer.root[:1] == ("spec",)]


def _known_elsewhere(releases: list[RegionRelease]) -> set[str]:
    """The fields of layers that one of their charts knows, and the maps around these."""
    return {
        setting.origin.full_path(path[:length])
        for release in releases
        for path, settings in release.merged.history.settings.items()
        for setting in settings
        if setting.origin.root[:2] == ("spec", "common")
        for length in range(1, len(path) + 1)
        if lookup(release.merged.defaults, path[:length], _NOTHING) is not _NOTHING
    }


_NOTHING = object()


def _unread(release: RegionRelease, paths: list[Path], render: Render) -> set[Path]:
    """The paths whose removal does not change Helm's output."""
    there = [path for path in paths if lookup(release.spec.values, path, _NOTHING) is not _NOTHING]
    try:
        before = render(release.spec)
        if _same(release.spec, there, before, render):
            return set(there)
        if len(there) > _MOST or len(there) == 1:
            return set()
        return {path for path in there if _same(release.spec, [path], before, render)}
    except ChartInvalid:
        return set()


def _same(spec: ReleaseSpec, paths: list[Path], before: str, render: Render) -> bool:
    return render(replace(spec, values=without_paths(spec.values, paths))) == before


def large_numbers(release: RegionRelease, objects: Iterable[KubeObject]) -> Iterator[Problem]:
    """A mistake for each whole number that the chart writes with an exponent, with a form that it writes
    unchanged.
    """
    for path, number, printed in misprinted(release.spec.values, objects):
        history = release.merged.history
        chains = (history.chain(tuple(map(str, path[:length]))) for length in range(len(path), 0, -1))
        setting = next((chain[-1] for chain in chains if chain), None)
        shown = setting.path if setting else f"{release.spec.name}: {format_path(path)}"
        message = f"chart {release.spec.chart.name} writes {number} as {printed}, which programs cannot read"
        yield Problem(shown, message, f'write it in quotes: "{number}"', setting.place if setting else "")
