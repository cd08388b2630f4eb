"""Explains a value: the chain of layers that set it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.cli.views.node_values import NodeValue, node_values
from controller.domain.validation.definitions.crd_schema import nearest
from controller.domain.values.chart_values import PATCH, Path, format_path, is_map, leaves, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.templates.field_causes import FieldOrigin
from controller.domain.values.value_provenance import CHART_DEFAULTS, Setting
from controller.domain.values.values_diff import ABSENT
from controller.errors import Problem, SpecInvalid
from controller.render.region import RegionRelease

Causes = Mapping[tuple[str, Path], tuple[FieldOrigin, ...]]
_NONE: Causes = {}


@dataclass(frozen=True)
class SettingStep:
    """One layer that set the value. `path` is the field in its source, `place` its `file:line`.

    `causes` are the fields that made a template write the value.
    """

    layer: str
    value: Any
    path: str = ""
    place: str = ""
    causes: tuple[FieldOrigin, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One value: `steps` from the chart's default up to the layer that won; `value` is ABSENT if deleted, or
    if only some nodes have one. `on_nodes` are the values of nodes instead of it.
    """

    release: str
    path: Path
    value: Any
    steps: tuple[SettingStep, ...]
    on_nodes: tuple[NodeValue, ...] = ()

    @property
    def winner(self) -> str:
        """The layer that set it; empty if only some nodes have it."""
        return self.steps[-1].layer if self.steps else ""


def is_empty(one: Explanation) -> bool:
    """Whether there is no text in it for a service to read."""
    return one.value in (None, "", ABSENT) and not one.on_nodes


def explain_path(release: RegionRelease, path: Path, causes: Causes = _NONE) -> tuple[Explanation, ...]:
    """The value at the path, or every value below it if it is a map.

    Raises SpecInvalid if neither the release nor any layer has such a value.
    """
    merged = release.merged
    value = lookup(merged.values, path, ABSENT)
    on_nodes = node_values(merged, path)
    here = {known for known in _known_paths(merged) if known[: len(path)] == path}
    below = sorted(here | {one.path for one in on_nodes})
    if value is ABSENT and not below:
        raise SpecInvalid([_unknown(release, path)])
    if value is not ABSENT and (not is_map(value) or not value):
        below = [path]
    return tuple(_explanation(release, known, causes, on_nodes) for known in below)


def explain_set(release: RegionRelease, causes: Causes = _NONE) -> tuple[Explanation, ...]:
    """Every value that some layer over the chart's defaults has set or deleted."""
    merged = release.merged
    on_nodes = node_values(merged)
    explained = {path for path in merged.history.settings if _is_explained(merged, path)}
    paths = sorted(explained | {one.path for one in on_nodes})
    return tuple(_explanation(release, path, causes, on_nodes) for path in paths)


def _is_explained(merged: MergedValues, path: Path) -> bool:
    """Whether the path is a leaf, or a deleted map, which explains its deleted content."""
    value = lookup(merged.values, path, ABSENT)
    if value is ABSENT:
        return lookup(merged.values, path[:-1], ABSENT) is not ABSENT
    return not is_map(value) or not value


def _known_paths(merged: MergedValues) -> list[Path]:
    present = {path for path, _ in leaves(merged.values)}
    return sorted(
        present | {path for path in merged.history.settings if lookup(merged.values, path, ABSENT) is ABSENT}
    )


def _explanation(
    release: RegionRelease, path: Path, causes: Causes, on_nodes: Iterable[NodeValue]
) -> Explanation:
    merged = release.merged
    steps = tuple(_steps(merged, path, release.spec.chart.version, causes))
    others = tuple(one for one in on_nodes if one.path == path)
    return Explanation(release.spec.name, path, lookup(merged.values, path, ABSENT), steps, others)


def _steps(merged: MergedValues, path: Path, version: str, causes: Causes) -> Iterator[SettingStep]:
    default = lookup(merged.defaults, path, ABSENT)
    if default is not ABSENT:
        yield SettingStep(CHART_DEFAULTS, default, place=version)
    for setting in merged.history.chain(path):
        yield SettingStep(setting.layer, setting.value, setting.path, setting.place, behind(causes, setting))


def behind(causes: Causes, setting: Setting) -> tuple[FieldOrigin, ...]:
    """The fields behind this output of a template: a value, or the mark that deleted one."""
    written = setting.written
    return causes.get((setting.layer, written)) or causes.get((setting.layer, (*written, PATCH)), ())


def _unknown(release: RegionRelease, path: Path) -> Problem:
    """Names the first wrong part, with a suggestion."""
    here: Any = release.merged.values
    for depth, key in enumerate(path):
        known = list(here) if isinstance(here, dict) else []
        if key not in known:
            shown = format_path(path[:depth]) or "the values"
            meant = nearest(key, known)
            listing = f"there is: {', '.join(sorted(known)[:20])}" if known else "the value is not a map"
            remedy = f'did you mean "{meant}"?' if meant else listing
            return Problem(format_path(path), f'{release.spec.name}: no "{key}" in {shown}', remedy)
        here = here[key]
    return Problem(format_path(path), f"{release.spec.name}: no such value")
