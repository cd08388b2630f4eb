"""Reads a map of another writer, field by field, and collects its mistakes.

Every field is read by its name. Any other field is unknown, and an error, so that nothing is lost silently. A
null counts as absent, as for the Go programs that read the same objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.object_meta import a
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem

# Further mistakes are not listed: a long list is not useful, and a hostile one is endless.
MOST_FINDINGS = 200
_INT32 = 2**31 - 1
# The format `uuid` of the API server (k8s.io/kube-openapi, strfmt.UUIDPattern): dashes are optional.
_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_NOT_LOOKED_AT = "the field is deprecated, and the machine API ignores it"


@dataclass(frozen=True)
class Findings:
    """The mistakes (`errors`), and fields that are not converted or need attention (`warnings`)."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def refuse(self, path: DocumentPath, message: str, remedy: str = "") -> None:
        _add(self.errors, Problem(format_path(path), message, remedy))

    def warn(self, path: DocumentPath, message: str, remedy: str = "") -> None:
        _add(self.warnings, Problem(format_path(path), message, remedy))


def _add(problems: list[Problem], problem: Problem) -> None:
    if len(problems) < MOST_FINDINGS and problem not in problems:
        problems.append(problem)


class Fields:
    """One map of the source at its path. `finish` reports unknown fields."""

    def __init__(self, value: object, path: DocumentPath, findings: Findings) -> None:
        self.path = path
        self.findings = findings
        self._known: list[str] = []
        self._map: Mapping[Any, Any] = {}
        if isinstance(value, Mapping):
            self._map = value
        elif value is not None:
            findings.refuse(path, f"expected a map, got {a(value)}")

    def text(self, key: str, *, required: str = "", most: int = 0) -> str:
        """The text, or empty. `required`: its description, if it must not be empty."""
        value = self._value(key)
        text = ""
        if isinstance(value, str) and _is_unicode(value):
            text = value
        elif value is not None:
            self.refuse(key, f"expected a string, got {a(value)}")
            return ""
        if required and not text:
            self.refuse(key, f"is missing: {required}")
        if most and len(text) > most:
            self.refuse(key, f"has {len(text)} characters; Cluster API accepts {most}")
            return ""
        return text

    def uuid(self, key: str) -> str:
        """The text as an id, or empty; Cluster API's provider accepts only UUIDs."""
        text = self.text(key)
        if text and not _UUID.fullmatch(text):
            self.refuse(
                key, "is not a UUID, and Cluster API accepts only UUIDs as ids", "name it by a filter"
            )
            return ""
        return text

    def uuids(self, key: str) -> list[str]:
        """A list of ids."""
        found = self.texts(key)
        for index, text in enumerate(found):
            if not _UUID.fullmatch(text):
                message = "is not a UUID, and Cluster API accepts only UUIDs as ids"
                self.findings.refuse((*self.path, key, index), message)
        return found

    def flag(self, key: str) -> bool | None:
        value = self._value(key)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(key, f"expected true or false, got {a(value)}")
        return None

    def whole(self, key: str, *, least: int = 0) -> int | None:
        value = self._value(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(key, f"expected a whole number, got {a(value)}")
            return None
        if not least <= value <= _INT32:
            self.refuse(key, f"must be from {least} to {_INT32}, and is {a(value)}")
            return None
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        found = []
        for index, value in enumerate(self._list(key)):
            if isinstance(value, str) and _is_unicode(value):
                found.append(value)
            else:
                self.findings.refuse((*self.path, key, index), f"expected a string, got {a(value)}")
        return found

    def text_map(self, key: str) -> dict[str, str]:
        """A map of texts, sorted by key."""
        value = self._value(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.refuse(key, f"expected a map, got {a(value)}")
            return {}
        found = {}
        for name, one in value.items():
            if isinstance(name, str) and isinstance(one, str) and _is_unicode(name) and _is_unicode(one):
                found[name] = one
            else:
                self.findings.refuse((*self.path, key, str(name)), f"expected a string, got {a(one)}")
        return dict(sorted(found.items()))

    def below(self, key: str) -> Fields:
        """The map under the key, or an empty one."""
        return Fields(self._value(key), (*self.path, key), self.findings)

    def each(self, key: str) -> Iterator[Fields]:
        """The maps of a list."""
        for index, value in enumerate(self._list(key)):
            yield Fields({} if value is None else value, (*self.path, key, index), self.findings)

    def has(self, key: str) -> bool:
        """Whether the field is there, and is not null."""
        return self._value(key) is not None

    def ignored(self, *keys: str, why: str = _NOT_LOOKED_AT) -> None:
        """Fields that the machine API itself ignores: a warning if one is set."""
        for key in keys:
            value = self._value(key)
            if value not in (None, "", 0, [], {}) or value is False:
                self.warn(key, f"is not converted: {why}")

    def refused(self, key: str, why: str, remedy: str) -> None:
        """A field that cannot be converted: an error if it is set."""
        if self._value(key) not in (None, "", [], {}):
            self.refuse(key, why, remedy)

    def refuse(self, key: str, message: str, remedy: str = "") -> None:
        self.findings.refuse((*self.path, key), message, remedy)

    def warn(self, key: str, message: str, remedy: str = "") -> None:
        self.findings.warn((*self.path, key), message, remedy)

    def finish(self) -> None:
        """Reports every unknown field."""
        for key in self._map:
            if len(self.findings.errors) >= MOST_FINDINGS:
                return
            if key not in self._known:
                remedy = suggestion(str(key), self._known) if len(str(key)) < 64 else ""
                self.findings.refuse((*self.path, str(key)), "is not a known field", remedy)

    def _value(self, key: str) -> Any:
        if key not in self._known:
            self._known.append(key)
        return self._map.get(key)

    def _list(self, key: str) -> list[Any]:
        value = self._value(key)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        self.refuse(key, f"expected a list, got {a(value)}")
        return []


def unique(texts: list[str]) -> list[str]:
    """Each once, in the order of first occurrence, because Cluster API keeps such lists as sets."""
    return list(dict.fromkeys(texts))


def filled(**values: Any) -> dict[str, Any]:
    """The set fields: without None and without empty texts, lists and maps."""
    return {key: value for key, value in values.items() if value is not None and value not in ("", [], {})}


def _is_unicode(text: str) -> bool:
    """False for an incomplete surrogate pair, which JSON allows and UTF-8 does not."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
