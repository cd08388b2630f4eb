"""Values that a region keeps although templates say otherwise: releases of a rendering, replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from controller.domain.values.chart_values import Path, Values
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.merge import merge_onto
from controller.ports.kubernetes import KubeObjects
from controller.render.region import Region, RegionBundle, RegionRelease


def values_there(bundles: KubeObjects) -> dict[str, Values]:
    """What HelmBundles ask for at present, by release."""
    return {
        str(one.get("name")): one.get("values") or {}
        for bundle in bundles
        for one in (bundle.get("spec") or {}).get("releases") or []
    }


def is_written_by_template(release: RegionRelease, path: Path) -> bool:
    """Whether the template of the service set this leaf last: values of an operator are not changed."""
    return release.merged.history.origin(path).split(" ")[0] == LayerKind.SERVICE


def with_values(release: RegionRelease, layer: Layer) -> RegionRelease:
    """The release with a layer above all others."""
    merged = merge_onto(release.merged, [layer])
    return RegionRelease(replace(release.spec, values=merged.overlay), merged)


def with_releases(region: Region, releases: Iterable[RegionRelease]) -> Region:
    """The region with these releases in the place of those of their names."""
    kept = {one.spec.name: one for one in releases}
    return (
        replace(region, bundles=tuple(_with(bundle, kept) for bundle in region.bundles)) if kept else region
    )


def _with(bundle: RegionBundle, kept: Mapping[str, RegionRelease]) -> RegionBundle:
    releases = tuple(kept.get(one.spec.name, one) for one in bundle.releases)
    spec = replace(bundle.spec, releases=tuple(one.spec for one in releases))
    return replace(bundle, releases=releases, spec=spec)
