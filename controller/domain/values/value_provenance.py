"""Provenance: which layer set each value, what it replaced, and what was deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Path, is_map
from controller.domain.values.layer import Layer

CHART_DEFAULTS = "chart defaults"


@dataclass(frozen=True)
class Deleted:
    """Stands for the value of a path that a layer deleted."""


DELETED = Deleted()


@dataclass(frozen=True)
class Setting:
    """One layer setting (or deleting) the value of one path.

    `written` is the path in the layer of what says it: the map, where one was deleted or replaced.
    """

    origin: Layer = field(repr=False)
    written: Path
    value: Any

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return self.origin.name

    @property
    def path(self) -> str:
        """The field as seen from the top of its source."""
        return self.origin.full_path(self.written)

    @property
    def place(self) -> str:
        """`file:line`, or empty."""
        return self.origin.place(self.written)


@dataclass(frozen=True)
class ValueHistory:
    """`settings`: for every path that any layer touched, who set it, lowest first."""

    settings: Mapping[Path, tuple[Setting, ...]] = field(default_factory=dict)

    def __contains__(self, path: Path) -> bool:
        return path in self.settings

    def origin(self, path: Path) -> str:
        """The layer that set this leaf."""
        settings = self.settings.get(path)
        return settings[-1].layer if settings else CHART_DEFAULTS

    def chain(self, path: Path) -> tuple[Setting, ...]:
        """Everything that had a say about this path, lowest first: also the end of a map above it."""
        return self.settings.get(path, ())

    def layer_of(self, path: Path) -> Layer | None:
        """A layer that gave this path a value, or something below it; None where only the chart did."""
        found = [
            settings[-1].origin
            for known, settings in self.settings.items()
            if known[: len(path)] == path and settings[-1].value is not DELETED
        ]
        return found[-1] if found else None

    def setting_of(self, path: DocumentPath) -> Setting | None:
        """What set the leaf, or the list or map around it."""
        for length in range(len(path), 0, -1):
            keys = path[:length]
            settings = self.chain(tuple(map(str, keys)))
            if settings and not isinstance(keys[-1], int):
                return settings[-1]
        return None


class HistoryRecorder:
    """The history of a merge while layers are laid over each other."""

    def __init__(self, lower: ValueHistory) -> None:
        self._settings = dict(lower.settings)

    def recorded(self) -> ValueHistory:
        """The history up to now."""
        return ValueHistory(dict(self._settings))

    def record(self, layer: Layer, path: Path, value: Any, said_at: Path | None = None) -> None:
        """The layer sets the path. `said_at`: where it says so, if that is not the path."""
        setting = Setting(layer, path if said_at is None else said_at, value)
        before = self._settings.get(path, ())
        if before and before[-1].origin is layer and before[-1].value is DELETED:
            before = before[:-1]  # ended with the map around it, and set again by the same words
        self._settings[path] = (*before, setting)

    def end_below(self, layer: Layer, path: Path, ended: Any) -> None:
        """The layer deletes or replaces a map: that ends all that is in it, chart defaults too."""
        for within in _paths_below(path, ended):
            self.record(layer, within, DELETED, said_at=path)

    def owner(self, path: Path) -> str:
        """Who gave the value at this path its type, with its place."""
        for known in sorted(self._settings):
            if known[: len(path)] == path:
                settings = [one for one in self._settings[known] if one.value is not DELETED]
                if settings:
                    last = settings[-1]
                    return f"{last.layer} ({last.place or last.path})"
        return f"the {CHART_DEFAULTS}"


def _paths_below(path: Path, value: Any) -> Iterator[Path]:
    """Every key in the map, those of maps within it included."""
    for key, item in value.items() if is_map(value) else ():
        yield (*path, key)
        yield from _paths_below((*path, key), item)
