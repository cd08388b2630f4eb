"""Properties of volume types, their limits, and flavors that nothing reads: the APIs store any name. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules.properties import PLUGIN_UNKNOWN, PROPERTY_UNKNOWN
from controller.domain.values.chart_values import DocumentPath, Path
from controller.domain.values.merge import MergedValues
from controller.domain.values.rules.properties import KnownProperties
from controller.errors import Problem

_NEAR, _PLUGIN, _SLIP = 0.6, 0.75, 0.85
_OPEN = "remove it, or correct the name"


def unknown_properties(
    releases: Mapping[str, MergedValues], known: Iterable[KnownProperties]
) -> Iterator[Problem]:
    """A warning for each property of the operator that its reader does not know. Where names of vendors may
    stand, only for one that is almost a known name."""
    for one in known:
        if one.release in releases:
            yield from _unknown(one, releases[one.release])


def _unknown(one: KnownProperties, merged: MergedValues) -> Iterator[Problem]:
    for path, name in _written(merged.values, one.at, one.when):
        near = _nearest(name, one)
        if one.has(name) or not (near or one.excludes(name)):
            continue
        setting = merged.history.setting_of(path)
        if setting is None or not setting.path.startswith("spec."):
            continue
        names = ", ".join(one.names)
        remedy = f'did you mean "{near}"?' if near else f"known are {names}" if one.complete else _OPEN
        if one.plugins:
            yield PLUGIN_UNKNOWN.at(
                setting.path,
                source=setting.place,
                reader=one.reader,
                name=name,
                option=one.at[-1],
                suggestion=remedy,
            )
            continue
        yield PROPERTY_UNKNOWN.at(
            setting.path, source=setting.place, reader=one.reader, name=name, suggestion=remedy
        )


def _nearest(name: str, one: KnownProperties) -> str:
    cutoff = _NEAR if one.excludes(name) else _PLUGIN if one.plugins else _SLIP
    names = [known for known in one.names if "*" not in known]
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), "")


def _written(
    values: Any, rest: Path, when: tuple[str, str] | None, path: DocumentPath = ()
) -> Iterator[tuple[DocumentPath, str]]:
    """Each name, and where it stands: the keys of a map, what is before `=` in the texts of a list, or what
    is between the commas of a text."""
    if not rest:
        if isinstance(values, Mapping):
            yield from (((*path, key), str(key)) for key, value in values.items() if value is not None)
        elif isinstance(values, list):
            yield from (((*path, n), str(one).partition("=")[0].strip()) for n, one in enumerate(values))
        elif isinstance(values, str):
            yield from ((path, name) for one in values.strip("[]").split(",") if (name := one.strip()))
        return
    if not isinstance(values, Mapping):
        return
    if len(rest) == 1 and when is not None and values.get(when[0]) != when[1]:
        return
    for key in values if rest[0] == "*" else (rest[0],):
        yield from _written(values.get(key), rest[1:], when, (*path, key))
