"""The fields behind the output of templates for a release: of the region's file, and of values/."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controller.cli.offline.region import OfflineRegion, OfflineRenderer
from controller.cli.views.explain import Causes
from controller.domain.values.chart_values import DocumentPath, Path, format_path, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.shipped_values import Library, ValuesFile
from controller.domain.values.templates.field_causes import FieldOrigin, FieldTree, find_causes, named_in

# The source of charts changes all output, but is not a cause of it.
_NO_CAUSE = ("charts", "common", "services", "nodes")


def causes_of(renderer: OfflineRenderer, region: OfflineRegion, release: str, about: Path = ()) -> Causes:
    """The fields behind each leaf of the template layers, by layer and path; with `about`, only there."""
    spec = region.item.obj["spec"]
    trees = (
        _spec_fields(renderer, region, release, spec),
        *_defaults(renderer, region, release, spec),
        _others_values(renderer, region, release, spec),
    )
    return find_causes(renderer.template_layers(region, release, spec), trees, about)


def _spec_fields(
    renderer: OfflineRenderer, region: OfflineRegion, release: str, spec: Mapping[str, Any]
) -> FieldTree:
    def ask(tree: Mapping[str, Any]) -> tuple[Layer, ...]:
        return renderer.template_layers(region, release, tree)

    return FieldTree(
        tree=spec,
        parts=tuple(key for key in spec if key not in _NO_CAUSE),
        ask=ask,
        named=named_in(region.item.source, ("spec",), region.item.lines),
        schema=renderer.region_schema.root["properties"]["spec"],
        groups=tuple(("features", key) for key in spec.get("features") or {}),
    )


def _defaults(
    renderer: OfflineRenderer, region: OfflineRegion, release: str, spec: Mapping[str, Any]
) -> Iterator[FieldTree]:
    """The features from size and preset that the spec does not set."""
    library, files = renderer.library, region.deployment.spec.files

    def with_size(file: ValuesFile) -> Library:
        return replace(library, sizes={**library.sizes, files.size: file})

    def with_preset(file: ValuesFile) -> Library:
        return replace(library, presets={**library.presets, files.preset: file})

    size, preset = library.sizes[files.size], library.presets[files.preset]
    for file, changed in ((size, with_size), (preset, with_preset)):

        def ask(
            tree: Mapping[str, Any], file: ValuesFile = file, changed: Any = changed
        ) -> tuple[Layer, ...]:
            other = changed(replace(file, features=tree["features"]))
            return renderer.template_layers(region, release, spec, library=other)

        yield FieldTree(
            tree={"features": file.features},
            parts=("features",),
            ask=ask,
            named=named_in(file.name, (), file.lines),
            schema=renderer.region_schema.root["properties"]["spec"],
        )


def _others_values(
    renderer: OfflineRenderer, region: OfflineRegion, release: str, spec: Mapping[str, Any]
) -> FieldTree:
    """The final values of other releases that the templates of this one read."""
    read: dict[str, Any] = {}
    paths: dict[str, tuple[str, DocumentPath]] = {}

    def remember(other: str, path: DocumentPath) -> Any:
        found = region.region.release(other)
        value = lookup(found.merged.values, path) if found is not None else None
        key = f"{other} {format_path(path)}"
        paths[key] = (other, path)
        read[key] = value
        return value

    def ask(tree: Mapping[str, Any]) -> tuple[Layer, ...]:
        def answer(other: str, path: DocumentPath) -> Any:
            return tree.get(f"{other} {format_path(path)}")

        return renderer.template_layers(region, release, spec, value_of=answer)

    def named(path: DocumentPath) -> FieldOrigin:
        other, keys = paths[str(path[0])]
        found = region.region.release(other)
        settings = found.merged.history.chain(tuple(map(str, keys))) if found is not None else ()
        return FieldOrigin(f"{other} {format_path(keys)}", settings[-1].place if settings else "")

    renderer.template_layers(region, release, spec, value_of=remember)
    return FieldTree(read, tuple(read), ask, named)
