"""Keys of our own values that a build of a chart does not have: Helm would accept them silently."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.values.chart_values import (
    PATCH,
    PATCH_DELETE,
    Path,
    Values,
    format_path,
    is_map,
    is_secret_ref,
)
from controller.domain.values.layer import Layer


@dataclass(frozen=True)
class OpenMaps:
    """Paths below which charts take any key; `*` stands for one key, or for a part of one."""

    patterns: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, *parts: Mapping[str, Iterable[str]]) -> OpenMaps:
        """From values/charts/open-maps.yaml and the folders of services: paths by the reason why they are
        open."""
        paths = (path for by_reason in parts for some in by_reason.values() for path in some)
        return cls(tuple(tuple(path.split(".")) for path in paths))

    def __contains__(self, path: Path) -> bool:
        return any(
            len(pattern) == len(path) and all(map(fnmatch.fnmatchcase, path, pattern))
            for pattern in self.patterns
        )


NO_OPEN_MAPS = OpenMaps()


def unknown_keys(
    values: Values, known: Any, open_maps: OpenMaps, path: Path = ()
) -> Iterator[tuple[Path, Any]]:
    """Keys, with what is under them, that are not among `known`, the values.yaml of a chart."""
    for key, value in values.items():
        below = (*path, key)
        if below in open_maps:
            continue
        if not isinstance(known, Mapping) or key not in known:
            yield below, value
        elif is_map(value) and isinstance(known[key], Mapping):
            yield from unknown_keys(value, known[key], open_maps, below)


@dataclass(frozen=True)
class KnownPart:
    """What of a layer a chart knows, and the paths of what it does not.

    `needed`: those without which the region would not be what was asked for: an object that is switched
    on, and a secret. `left_out`: the others.
    """

    layer: Layer
    needed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def known_part(layer: Layer, defaults: Values, open_maps: OpenMaps) -> KnownPart:
    """Takes from a layer what the chart with these defaults does not know."""
    unknown = {
        path: value for path, value in unknown_keys(layer.values, defaults, open_maps) if path[-1] != PATCH
    }
    if not unknown:
        return KnownPart(layer)
    set_paths = {path: value for path, value in unknown.items() if not _deletes(value)}
    needed = [path for path, value in set_paths.items() if _is_needed(path, value)]
    return KnownPart(
        replace(layer, values=without_paths(layer.values, unknown)),
        tuple(format_path(path) for path in needed),
        tuple(format_path(path) for path in set_paths if path not in needed),
    )


def _deletes(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and value.get(PATCH) == PATCH_DELETE)


def _is_needed(path: Path, value: Any) -> bool:
    return (path[0] == "manifests" and value is True) or _has_secret(value)


def _has_secret(value: Any) -> bool:
    if is_secret_ref(value):
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(_has_secret(part) for part in parts)


def without_paths(values: Values, paths: Iterable[Path], prefix: Path = ()) -> dict[str, Any]:
    """The values without what is at these paths."""
    gone = set(paths)
    kept: dict[str, Any] = {}
    for key, value in values.items():
        below = (*prefix, key)
        if below in gone:
            continue
        inside = is_map(value) and any(path[: len(below)] == below for path in gone)
        kept[key] = without_paths(value, gone, below) if inside else value
    return kept
