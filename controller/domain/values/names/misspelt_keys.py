"""Keys that are nearly known ones, and so probably slips.

Charts accept any key silently, and many maps are free on purpose: oslo.config options, policies, extra
objects. A new key is therefore no error. A key that looks misspelt gives a warning.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import values as rules
from controller.domain.values.chart_values import Path, Values, is_map
from controller.domain.values.layer import Layer
from controller.domain.values.names.known_names import Service
from controller.errors import Problem

_NEAR = 0.85
_PLUGINS = "plugins"
_SHORTEST = 4  # shorter names are near to everything


def misspelt_keys(layer: Layer, lower: Values, service: Service) -> Iterator[Problem]:
    """Warnings about keys of the layer that are not among `lower`, the values below it, but nearly are; but
    for options and sections that packages of the service have."""
    yield from _walk(layer, layer.values, lower, service, ())


def _walk(
    layer: Layer, values: Mapping[str, Any], lower: Any, service: Service, path: Path
) -> Iterator[Problem]:
    if not is_map(lower):
        return
    for key, value in values.items():
        if key in lower:
            if is_map(value):
                yield from _walk(layer, value, lower[key], service, (*path, key))
        elif (near := _near(key, lower)) and not _is_of_packages((*path, key), service):
            yield rules.KEY_MISSPELT.at(
                layer.full_path((*path, key)),
                source=layer.place((*path, key)),
                chart=service.chart,
                key=key,
                near=near,
            )


def _is_of_packages(path: Path, service: Service) -> bool:
    """Whether it is the path of an option or a section that a package has."""
    option, section = service.files.option_of(path), service.files.option_of((*path, ""))
    if option is not None:
        file, at, name = option
        return service.has_option(file, at, name.replace("-", "_"))
    return section is not None and section[1] in service.sections


def _near(key: str, known: Mapping[str, Any]) -> str:
    """The known key that was probably meant: of a file without its ending (`nova.conf`), with other capitals
    (`default`), or misspelt; and of a file of Neutron's plug-ins, which are one level further down. Names
    that differ in digits only are different things."""
    if len(key) < _SHORTEST or key.startswith("$"):
        return ""
    stem, dot, ending = key.rpartition(".")
    if dot and is_map(known.get(stem)):
        return stem
    file = stem if ending in ("conf", "ini") else key
    if is_map(known.get(_PLUGINS)) and is_map(known[_PLUGINS].get(file)):
        return f"{_PLUGINS}.{file}"
    candidates = {name.lower(): name for name in known if _letters(name) != _letters(key)}
    near = difflib.get_close_matches(key.lower(), candidates, n=1, cutoff=_NEAR)
    return candidates[near[0]] if near else ""


def _letters(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())
