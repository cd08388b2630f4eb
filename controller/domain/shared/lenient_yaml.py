"""A lenient and bounded reader of foreign YAML.

PyYAML's own composer recurses in C for each level, so a text of brackets kills the process. Its merges copy,
and with aliases a few lines can expand to gigabytes. Here nothing recurses, and the content of aliases and
merges counts as if it were written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

# Far more than any chart has: the largest definition of a resource has some 10,000 values.
MOST_VALUES = 300_000
MOST_CHARACTERS = 32 * 1024 * 1024
MOST_LEVELS = 500

Make = Callable[[Any], Any]
_MERGE = "tag:yaml.org,2002:merge"
_COLLECTIONS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_OPENING = yaml.MappingStartEvent | yaml.SequenceStartEvent
_CLOSING = yaml.MappingEndEvent | yaml.SequenceEndEvent
_NO_KEY, _MERGE_KEY = object(), object()


def read_document(text: str | bytes, scalar: Make, key: Make = lambda value: value) -> Any:
    """The one document of a text, None for none; of a key that is there twice the last one counts.

    `scalar` makes a value of a ScalarEvent, and may raise ValueError; `key` makes a key of such a value.
    Raises yaml.YAMLError for what is no YAML, for tags of collections, for a second document, and beyond
    the bounds.
    """
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    builder = _Builder(scalar, key)
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _refused("expected a single document, and found another", event)
            builder.build(events)
    return builder.root


@dataclass(slots=True)
class _OpenValue:
    """A map or list that is being read. `key` is the pending key of a map, `merges` what its `<<` name."""

    value: Any
    anchor: str | None
    before: tuple[int, int]
    key: Any = _NO_KEY
    merges: list[dict[Any, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Anchored:
    """What an alias stands for, and what it counts for."""

    value: Any
    values: int
    characters: int


class _Builder:
    """Builds one document from parser events."""

    def __init__(self, scalar: Make, key: Make) -> None:
        self.root: Any = None
        self._scalar = scalar
        self._key = key
        self._stack: list[_OpenValue] = []
        self._anchors: dict[str, _Anchored] = {}
        self._values = self._characters = 0

    def build(self, events: Iterator[Any]) -> None:
        """Takes the events of one document."""
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._count(1, len(event.value), event)
                value = _MERGE_KEY if self._begins_merge(event) else self._scalar_value(event)
                self._note(event.anchor, value, (self._values - 1, self._characters - len(event.value)))
                self._add(value, event)
            elif isinstance(event, yaml.AliasEvent):
                known = self._anchors.get(str(event.anchor))
                if known is None:
                    raise _refused(f"alias {event.anchor!r} has no anchor that ends before it", event)
                self._count(known.values, known.characters, event)
                self._add(known.value, event)
            elif isinstance(event, _OPENING):
                self._open(event)
            elif isinstance(event, _CLOSING):
                self._close(event)
            else:
                return

    def _begins_merge(self, event: Any) -> bool:
        top = self._stack[-1] if self._stack else None
        expected = top is not None and isinstance(top.value, dict) and top.key is _NO_KEY
        return expected and (event.tag == _MERGE or (event.value == "<<" and event.implicit[0]))

    def _scalar_value(self, event: Any) -> Any:
        try:
            return self._scalar(event)
        except ValueError as error:
            raise _refused(str(error), event) from None

    def _open(self, event: Any) -> None:
        if event.tag not in _COLLECTIONS:
            raise _refused("a tag of a map or list is not supported", event)
        if len(self._stack) >= MOST_LEVELS:
            raise _refused(f"nested deeper than {MOST_LEVELS} levels", event)
        before = self._values, self._characters
        self._count(1, 0, event)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._stack.append(_OpenValue(value, event.anchor, before))

    def _close(self, event: Any) -> None:
        done = self._stack.pop()
        value = done.value
        if done.merges:
            value = {}
            for part in done.merges:
                value.update(part)
            value.update(done.value)
        self._note(done.anchor, value, done.before)
        self._add(value, event)

    def _note(self, anchor: str | None, value: Any, before: tuple[int, int]) -> None:
        if anchor:
            values, characters = before
            self._anchors[anchor] = _Anchored(value, self._values - values, self._characters - characters)

    def _add(self, value: Any, event: Any) -> None:
        if not self._stack:
            self.root = value
            return
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is _NO_KEY:
            if isinstance(value, dict | list):
                raise _refused("a map or list cannot be a key", event)
            top.key = value if value is _MERGE_KEY else self._key(value)
        elif top.key is _MERGE_KEY:
            top.key = _NO_KEY
            # Of several the first counts, and what the map says itself counts more.
            top.merges.extend(reversed(_merged(value, event)))
        else:
            top.value[top.key] = value
            top.key = _NO_KEY

    def _count(self, values: int, characters: int, event: Any) -> None:
        self._values += values
        self._characters += characters
        if self._values > MOST_VALUES:
            raise _refused(f"more than {MOST_VALUES:,} values, aliases counted", event)
        if self._characters > MOST_CHARACTERS:
            raise _refused(f"more than {MOST_CHARACTERS:,} characters, aliases counted", event)


def _merged(value: Any, event: Any) -> list[dict[Any, Any]]:
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, dict) for part in parts):
        raise _refused("<< takes a map, or several in a list", event)
    return parts


def _refused(problem: str, event: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, event.start_mark)
