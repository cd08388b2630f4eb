"""Whole numbers of values that a chart prints with an exponent: `1.048576e+06`, which few programs read.

Helm reads each number of given values as a float, and Go prints it so from a million on.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Values
from controller.domain.values.option_files import EXPONENT_FROM, printed_number

Object = Mapping[str, Any]


def misprinted(values: Values, objects: Iterable[Object]) -> list[tuple[DocumentPath, int, str]]:
    """Path, number and what became of it, for each large number of the values that the objects have so."""
    large = [(path, number, printed_number(float(number))) for path, number in _numbers(values, ())]
    if not large:
        return []
    text = "\n".join(part for obj in objects for part in _texts(obj))
    return [found for found in large if found[2] in text]


def has_large_numbers(values: Values) -> bool:
    """Whether Go would print a number of the values with an exponent."""
    return next(_numbers(values, ()), None) is not None


def _numbers(value: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, int]]:
    if value.__class__ is int:
        if abs(value) >= EXPONENT_FROM:
            yield path, value
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _numbers(part, (*path, key))


def _texts(value: Any, *, of_secret: bool = False) -> Iterator[str]:
    """Every text of an object; those of a Secret as they are read."""
    if isinstance(value, str):
        yield _decoded(value) if of_secret else value
    elif isinstance(value, Mapping):
        secret = of_secret or value.get("kind") == "Secret"
        for part in value.values():
            yield from _texts(part, of_secret=secret)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, of_secret=of_secret)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return text
