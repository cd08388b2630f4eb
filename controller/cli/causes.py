"""Which fields are behind what templates write for a release: of the region's file, and of values/."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controller.cli.explain_view import Causes
from controller.cli.offline import OfflineRegion, OfflineRenderer
from controller.domain.causes import Fields, find_causes
from controller.domain.library import Library, ValuesFile
from controller.domain.merge import Layer

# Where charts come from changes all that is written, and is no cause of any of it.
_NO_CAUSE = ("charts", "common", "services", "nodes")


def causes_of(renderer: OfflineRenderer, region: OfflineRegion, release: str) -> Causes:
    """The fields behind each leaf of the layers of templates, by layer and path."""
    spec = region.item.obj["spec"]
    trees = (_spec_fields(renderer, region, release, spec), *_defaults(renderer, region, release, spec))
    return find_causes(renderer.template_layers(region, release, spec), trees)


def _spec_fields(
    renderer: OfflineRenderer, region: OfflineRegion, release: str, spec: Mapping[str, Any]
) -> Fields:
    def ask(tree: Mapping[str, Any]) -> tuple[Layer, ...]:
        return renderer.template_layers(region, release, tree)

    return Fields(
        tree=spec,
        root=("spec",),
        ask=ask,
        parts=tuple(key for key in spec if key not in _NO_CAUSE),
        source=region.item.source,
        lines=region.item.lines,
        schema=renderer.region_schema.root["properties"]["spec"],
    )


def _defaults(
    renderer: OfflineRenderer, region: OfflineRegion, release: str, spec: Mapping[str, Any]
) -> Iterator[Fields]:
    """The features that the size and the preset give where the spec says nothing."""
    library = renderer.library

    def with_size(file: ValuesFile) -> Library:
        return replace(library, sizes={**library.sizes, spec["size"]: file})

    def with_preset(file: ValuesFile) -> Library:
        return replace(library, presets={**library.presets, spec["preset"]: file})

    for file, changed in (
        (library.sizes[spec["size"]], with_size),
        (library.presets[spec["preset"]], with_preset),
    ):

        def ask(
            tree: Mapping[str, Any], file: ValuesFile = file, changed: Any = changed
        ) -> tuple[Layer, ...]:
            other = changed(replace(file, features=tree["features"]))
            return renderer.template_layers(region, release, spec, other)

        yield Fields(
            tree={"features": file.features},
            root=(),
            ask=ask,
            parts=("features",),
            source=file.name,
            lines=file.lines,
            schema=renderer.region_schema.root["properties"]["spec"],
        )
