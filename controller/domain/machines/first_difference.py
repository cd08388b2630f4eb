"""Whether two objects are equivalent: null and empty fields do not count, as for their API servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.values.chart_values import DocumentPath


def first_difference(left: Any, right: Any, path: DocumentPath = ()) -> DocumentPath | None:
    """The path of the first field that differs, in the order of names; or None."""
    if _says_nothing(left) and _says_nothing(right):
        return None
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            found = first_difference(left.get(key), right.get(key), (*path, key))
            if found is not None:
                return found
        return None
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            found = first_difference(one, other, (*path, index))
            if found is not None:
                return found
        return None
    return None if type(left) is type(right) and left == right else path


def is_same(left: Any, right: Any) -> bool:
    return first_difference(left, right) is None


def _says_nothing(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_says_nothing(one) for one in value.values())
    return value is None or value == []
