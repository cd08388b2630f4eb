"""Label and field selectors, as the API server reads them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

_SET_BASED = re.compile(r"^\s*(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)\s*$")


@functools.cache
def _terms(selector: str) -> tuple[str, ...]:
    """Splits at commas outside of parentheses."""
    return tuple(term.strip() for term in re.split(r",(?![^(]*\))", selector) if term.strip())


def _label_holds(labels: Mapping[str, str], term: str) -> bool:
    members = _SET_BASED.match(term)
    if members:
        values = {value.strip() for value in members["values"].split(",")}
        inside = labels.get(members["key"]) in values
        return inside if members["operator"] == "in" else not inside
    if "!=" in term:
        key, value = term.split("!=", 1)
        return labels.get(key.strip()) != value.strip()
    if "=" in term:
        key, value = term.replace("==", "=").split("=", 1)
        return labels.get(key.strip()) == value.strip()
    if term.startswith("!"):
        return term[1:].strip() not in labels
    return term in labels


def matches_labels(obj: Mapping[str, Any], selector: str) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return all(_label_holds(labels, term) for term in _terms(selector))


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
