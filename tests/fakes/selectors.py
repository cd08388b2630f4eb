"""Label and field selectors, as the API server reads them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

_SET_BASED = re.compile(r"^\s*(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)\s*$")


@functools.cache
def _terms(selector: str) -> tuple[str, ...]:
    """Splits at commas outside of parentheses."""
    return tuple(term.strip() for term in re.split(r",(?![^(]*\))", selector) if term.strip())


Labels = Mapping[str, str]


@functools.cache
def _holds(term: str) -> Callable[[Labels], bool]:
    """Whether labels hold a term."""
    members = _SET_BASED.match(term)
    if members:
        name, inside = members["key"], members["operator"] == "in"
        values = frozenset(value.strip() for value in members["values"].split(","))
        return lambda labels: (labels.get(name) in values) == inside
    if "!=" in term:
        name, value = (part.strip() for part in term.split("!=", 1))
        return lambda labels: labels.get(name) != value
    if "=" in term:
        name, value = (part.strip() for part in term.replace("==", "=").split("=", 1))
        return lambda labels: labels.get(name) == value
    if term.startswith("!"):
        name = term[1:].strip()
        return lambda labels: name not in labels
    return lambda labels: term in labels


@functools.cache
def _tests(selector: str) -> tuple[Callable[[Labels], bool], ...]:
    return tuple(map(_holds, _terms(selector)))


def matches_labels(obj: Mapping[str, Any], selector: str) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return all(holds(labels) for holds in _tests(selector))


def matches_fields(obj: Mapping[str, Any], selector: str) -> bool:
    for term in _terms(selector):
        desired = "!=" not in term
        key, value = re.split(r"!=|==|=", term, maxsplit=1)
        found: Any = obj
        for part in key.strip().split("."):
            found = found.get(part, {}) if isinstance(found, Mapping) else {}
        if ((found or "") == value.strip()) != desired:
            return False
    return True
