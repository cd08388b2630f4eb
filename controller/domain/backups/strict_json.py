"""Reads JSON of foreign origin: every field, nothing else, within bounds, and with a path for each problem.

No message quotes the document, which may hold anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from controller.errors import ManifestInvalid, Problem

# As much as JavaScript's and Go's readers of JSON store exactly.
_LARGEST_NUMBER = 2**53 - 1
_REMEDY = "use another backup"
_FILE = "manifest.json"


def parse_document(document: bytes) -> dict[str, Any]:
    """The map that the document is. Raises ManifestInvalid, also for a key that is there twice."""
    try:
        whole = json.loads(document.decode(), object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError):
        # Without the error's text, which may quote the document.
        raise ManifestInvalid([Problem(_FILE, "the manifest is not valid JSON", _REMEDY)]) from None
    if not isinstance(whole, dict):
        raise ManifestInvalid([Problem(_FILE, "the manifest is not a map", _REMEDY)])
    return whole


class Reader:
    """Reads one map, and collects the problems of all maps below the same document."""

    def __init__(
        self, given: Any, path: str, fields: Sequence[str], problems: list[Problem] | None = None
    ) -> None:
        self.problems: list[Problem] = [] if problems is None else problems
        self._path = path
        self._given: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if not isinstance(given, Mapping):
            self._add("", "must be a map")
        elif set(given) - set(fields):
            self._add("", f"has an unknown field; known: {', '.join(fields)}")

    def text(self, key: str, pattern: re.Pattern[str]) -> str:
        """A text that matches the pattern as a whole."""
        value = self._given.get(key)
        if isinstance(value, str) and pattern.fullmatch(value):
            return value
        self._add(key, f"must be a text of the form {pattern.pattern}")
        return ""

    def number(self, key: str) -> int:
        """A number of things or bytes."""
        value = self._given.get(key)
        if isinstance(value, int) and _is_number(value):
            return value
        self._add(key, "must be a whole number, not negative")
        return 0

    def numbers(self, key: str, names: re.Pattern[str], most: int) -> dict[str, int]:
        """A number for each name."""
        value = self._given.get(key)
        if not isinstance(value, Mapping) or len(value) > most:
            self._add(key, f"must be a map of at most {most} entries")
            return {}
        if not all(names.fullmatch(name) and _is_number(number) for name, number in value.items()):
            self._add(key, f"must have names of the form {names.pattern}, and whole numbers")
            return {}
        return dict(value)

    def map(self, key: str, fields: Sequence[str]) -> Reader:
        """A map with these fields."""
        return Reader(self._given.get(key), self._at(key), fields, self.problems)

    def maps(self, key: str, fields: Sequence[str], most: int) -> list[Reader]:
        """A list of maps with these fields."""
        value = self._given.get(key)
        if not isinstance(value, list) or len(value) > most:
            self._add(key, f"must be a list of at most {most} entries")
            return []
        where = self._at(key)
        return [Reader(one, f"{where}[{index}]", fields, self.problems) for index, one in enumerate(value)]

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path and key else self._path or key

    def _add(self, key: str, message: str) -> None:
        # A document with a problem in each of many entries says the same with the first ones.
        if len(self.problems) < 20:
            where = self._at(key)
            self.problems.append(Problem(f"{_FILE}:{where}" if where else _FILE, message, _REMEDY))


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_NUMBER


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(_: str) -> NoReturn:
    raise ValueError
