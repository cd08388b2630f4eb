"""Texts where charts have a boolean or a number: to Helm's templates every text but an empty one is true.

Files of oslo.config are another matter (`wrong_option_values`), and so is all that services read as text.
"""

from __future__ import annotations

from collections.abc import Iterator

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
            message = f"expected true or false, got {type_name(value)}, which charts read as true"
            yield Problem(
                layer.full_path(path), message, "write true or false without quotes", layer.place(path)
            )
        elif _is_number(there) and not any(map(str.isdigit, value)):
            message = f"expected a number, as in the chart and the controller, got {type_name(value)}"
            yield Problem(layer.full_path(path), message, "give a number", layer.place(path))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
