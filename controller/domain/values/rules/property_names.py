"""Properties of volume types, their limits, and flavors that nothing reads: the APIs store any name. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules.properties import PLUGIN_UNKNOWN, PROPERTY_UNKNOWN, PROPERTY_VALUE
from controller.domain.values.chart_values import DocumentPath, Path
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.option_types import parts_of, unmet, words_of
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
    for path, name, value in _written(merged.values, one.at, one.when):
        wanted = _wanted(one.kind_of(name), value) if value is not None else ""
        if wanted and (setting := merged.history.setting_of(path)) and setting.path.startswith("spec."):
            yield PROPERTY_VALUE.at(
                setting.path, source=setting.place, name=name, value=value, reader=one.reader, wanted=wanted
            )
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


def _wanted(kind: str, value: str) -> str:
    """What a value of this kind has to be, empty where it is."""
    name, about, _ = parts_of(kind)
    wanted = unmet(kind, value)
    return f"one of {', '.join(words_of(about))}" if wanted and name == "one" else wanted


def _printed(value: Any) -> str | None:
    """A scalar as a text; None for what is no scalar, or made by a template of Helm."""
    if isinstance(value, dict | list) or "{{" in str(value):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _nearest(name: str, one: KnownProperties) -> str:
    cutoff = _NEAR if one.excludes(name) else _PLUGIN if one.plugins else _SLIP
    names = [known for known in one.names if "*" not in known]
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), "")


def _written(
    values: Any, rest: Path, when: tuple[str, str] | None, path: DocumentPath = ()
) -> Iterator[tuple[DocumentPath, str, str | None]]:
    """Each name, where it stands, and its value if it has one: the keys of a map, what is before `=` in the
    texts of a list, or what is between the commas of a text."""
    if not rest:
        if isinstance(values, Mapping):
            found = ((key, value) for key, value in values.items() if value is not None)
            yield from (((*path, key), str(key), _printed(value)) for key, value in found)
        elif isinstance(values, list):
            for n, (name, equals, value) in enumerate(str(one).partition("=") for one in values):
                yield (*path, n), name.strip(), _printed(value.strip()) if equals else None
        elif isinstance(values, str):
            names = (one.strip() for one in values.strip("[]").split(","))
            yield from ((path, name, None) for name in names if name)
        return
    if not isinstance(values, Mapping):
        return
    if len(rest) == 1 and when is not None and values.get(when[0]) != when[1]:
        return
    for key in values if rest[0] == "*" else (rest[0],):
        yield from _written(values.get(key), rest[1:], when, (*path, key))
