"""What was probably meant by an unknown key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from controller.domain.api.spec_rules.values import KEY_UNKNOWN
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.errors import Problem


def suggestion(key: str, known: Iterable[str]) -> str:
    """A remedy for a key that is unknown: the nearest known one, or all of them when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"known are {', '.join(names)}" if names else "no name is known here"


def unknown_key(path: DocumentPath, what: str, key: str, known: Iterable[str]) -> Problem:
    """The problem of an unknown key: `no chart "nvoa" in service compute; did you mean "nova"?`"""
    field = format_path((*path, key))
    return KEY_UNKNOWN.at(field, what=what.replace("%", key), suggestion=suggestion(key, known))
