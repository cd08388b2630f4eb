"""The sources from which images are copied into the registry of a region."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace

from controller.cli.offline.input_files import InputObject
from controller.cli.offline.region import OfflineRegion, OfflineRenderer
from controller.domain.backups.backup_spec import parse_backup_spec
from controller.domain.values.chart_values import lookup
from controller.errors import Problem, SpecInvalid

_REGISTRY = "spec.images.registry"


def image_sources(region: OfflineRegion, renderer: OfflineRenderer) -> Mapping[str, tuple[str, ...]]:
    """The images to copy, by the name in the region's registry. Two registries can have images of one name.

    Images of `spec.images.overrides` are taken from where they are. Raises SpecInvalid without a registry."""
    if not region.deployment.spec.images.registry:
        remedy = "name the registry to copy to, such as registry.example.org:5000/openstack"
        raise SpecInvalid(region.item.locate_all([Problem(_REGISTRY, "not set", remedy)]))
    plain = renderer.render(_without_registry(region.item))
    sources: dict[str, set[str]] = {}
    for target, source in zip(_images(region), _images(plain), strict=True):
        if target != source:
            sources.setdefault(target, set()).add(source)
    return {target: tuple(sorted(sources[target])) for target in sorted(sources)}


def _without_registry(item: InputObject) -> InputObject:
    obj = copy.deepcopy(item.obj)
    del obj["spec"]["images"]["registry"]
    return replace(item, obj=obj)


def _images(region: OfflineRegion) -> Iterator[str]:
    """Each image of all releases, of versions that servers pass through, and of backups, in one order."""
    for bundle in region.region.bundles:
        for release in bundle.releases:
            tags = lookup(release.merged.values, ("images", "tags")) or {}
            yield from (str(tags[name] or "") for name in sorted(tags))
    for step in region.region.upgrade_steps:
        for chart in sorted(step.about.hops):
            hops = step.about.hops[chart]
            yield from (hops[version] for version in sorted(hops))
    yield from backup_images(region)


def backup_images(region: OfflineRegion) -> tuple[str, ...]:
    """The image with which backups of the region are stored; those of the other containers are known."""
    backups = parse_backup_spec(region.item.obj.get("spec"))
    return (backups.image,) if backups is not None else ()
