"""Texts where charts have a boolean or a number: to Helm's templates every text but an empty one is true.

Files of oslo.config are another matter (`wrong_option_values`), and so is all that services read as text.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.domain.api.spec_rules import options as rules
from controller.domain.values.chart_values import Values, leaves, lookup, type_name
from controller.domain.values.layer import Layer
from controller.errors import Problem

# What stands below is printed into files, or handed to Kubernetes as it is.
_PRINTED = frozenset(("conf", "labels", "images", "overrides"))


def misread_texts(layer: Layer, lower: Values) -> Iterator[Problem]:
    """Warnings of texts of the layer where the values below it have true or false, or a number, and the text
    no digit."""
    for path, value in leaves(layer.values):
        if not isinstance(value, str) or not value or "{{" in value or path[0] in _PRINTED:
            continue
        there = lookup(lower, path)
        if isinstance(there, bool):
            yield rules.TEXT_READ_AS_TRUE.at(
                layer.full_path(path), source=layer.place(path), got=type_name(value)
            )
        elif _is_number(there) and not any(map(str.isdigit, value)):
            yield rules.TEXT_FOR_NUMBER.at(
                layer.full_path(path), source=layer.place(path), got=type_name(value)
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
