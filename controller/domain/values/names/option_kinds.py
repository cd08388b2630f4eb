"""Values of options that the service cannot read as what its packages want: a number, true or false, a word.

OpenStack-Helm's charts print what they are given (helm-toolkit, `to_oslo_conf`): a list as one text with
commas, a map as nothing, unless it says `type: multistring` or `type: csv`. oslo.config reads the text when a
service asks for the option, and the service fails then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import (
    PATCH,
    Path,
    Values,
    is_map,
    is_secret_ref,
    lookup,
    type_name,
)
from controller.domain.values.merge import Layer
from controller.domain.values.names.known_names import Service, option_files
from controller.errors import Problem

# oslo.config, types.Boolean.
_BOOLEANS = frozenset(("true", "1", "on", "yes", "false", "0", "off", "no"))
_KIND = re.compile(r"(int|float|one)\((.*)\)")
_TYPED = ("multistring", "csv")


def wrong_values(layer: Layer, lower: Values, service: Service) -> Iterator[Problem]:
    """Warnings of values of the layer that the service of the chart cannot read in its files. Options
    not known, as those of plugins, are passed over but for their shape."""
    conf = layer.values.get("conf")
    if conf is None or not is_map(conf) or not service.sections:
        return
    for file, below, content in option_files(conf):
        there = lookup(lower, ("conf", *below))
        if not is_map(content) or not is_map(there):
            continue  # the release has no such file
        for section, options in content.items():
            if not is_map(options):
                continue
            merged = {name: _merged(value, lookup(there, (section, name))) for name, value in options.items()}
            for name, message, remedy in _wrong(service, file, section, merged):
                path: Path = ("conf", *below, section, name)
                yield Problem(layer.full_path(path), message, remedy, layer.place(path))


def _merged(value: Any, there: Any) -> Any:
    """The value with what it leaves as it is below it: of a typed map mostly the type."""
    if not is_map(value) or is_secret_ref(value) or PATCH in value:
        return None if is_map(value) and value.get(PATCH) == "delete" else value
    return {**there, **value} if is_map(there) else value


def wrong_store_values(options: Mapping[str, Any], service: Service) -> Iterator[tuple[str, str, str]]:
    """Name, message and remedy of each option of a store that Cinder cannot read."""
    yield from _wrong(service, "backends", "", options)


def _wrong(
    service: Service, file: str, section: str, options: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    where = f"section {section} of {file}.conf" if section else "a store"
    for name, value in options.items():
        if value is None or name == PATCH or is_secret_ref(value):
            continue
        kind = service.kind_of(file, section, name.replace("-", "_"))
        found = _of_shape(kind, value) or _of_kind(kind, value)
        if found:
            message, remedy = found
            yield name, f'option "{name}" of {where} {message}', remedy


def _of_shape(kind: str, value: Any) -> tuple[str, str] | None:
    """What is wrong with a list or map, whatever the option takes."""
    if is_map(value):
        if value.get("type") not in _TYPED:
            return (
                "has a map, and charts write nothing for it",
                "give a text, a number, true, false or a list",
            )
        if value["type"] == "multistring" and kind and kind != "multi" and len(_parts(value)) > 1:
            return "has several lines, and the service takes the last one", "give one value"
    elif isinstance(value, list) and kind == "multi" and len(value) > 1:
        remedy = "write {type: multistring, values: [...]}, which becomes a line for each"
        return "may stand there several times, and a list becomes one line, with commas", remedy
    return None


def _of_kind(kind: str, value: Any) -> tuple[str, str] | None:
    found = _KIND.fullmatch(kind)
    for part in _parts(value) if kind == "bool" or found else ():
        text = _printed(part)
        if not text.strip() or "$" in text or "{{" in text:
            continue  # what the service has itself, another option's value, or a template's
        got = type_name(value)
        if found is None:
            if text.strip().lower() not in _BOOLEANS:
                return f"is true or false, got {got}", "give true or false"
        elif found[1] == "one":
            if text not in found[2].split("|"):
                return f"is one of a few words, got {got}", f"known are {', '.join(found[2].split('|'))}"
        elif wrong := _of_number(found[1], found[2], text.strip()):
            return f"is {wrong}, got {got}", f"give {wrong}"
    return None


def _of_number(kind: str, bounds: str, text: str) -> str:
    """What the number is to be, where it is not."""
    least, most = bounds.split("..")
    what = "a whole number" if kind == "int" else "a number"
    if least and most:
        what += f" from {least} to {most}"
    elif least or most:
        what += f" of at least {least}" if least else f" of at most {most}"
    try:
        number = int(text) if kind == "int" else float(text)
    except ValueError:
        return what
    inside = (not least or number >= float(least)) and (not most or number <= float(most))
    return "" if inside else what


def _parts(value: Any) -> list[Any]:
    """The texts that the service reads one by one: lines of a typed map, else the one that is printed."""
    if is_map(value):
        values = value.get("values")
        values = values if isinstance(values, list) else [values]
        return values if value.get("type") == "multistring" else [values]
    return [value]


def _printed(value: Any) -> str:
    """As the chart prints it."""
    if isinstance(value, list):
        return ",".join(map(_printed, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
