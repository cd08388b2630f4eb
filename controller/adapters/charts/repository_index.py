"""The index of an HTTP chart repository (index.yaml), of which only the parts for a pull are read.

Indexes of big repositories have many megabytes of descriptions and maintainers. They are read as a stream of
events, so that only versions, addresses and digests stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import yaml

from controller.domain.shared.lenient_yaml import MOST_LEVELS
from controller.errors import ChartInvalid

# OpenStack-Helm lists about 80 charts in dozens of versions each, each with one address.
MOST_ENTRIES = 100_000
MOST_ADDRESSES = 16
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


@dataclass(frozen=True)
class IndexEntry:
    """One version of a chart. `digest` is that of the index, or empty."""

    version: str
    urls: tuple[str, ...]
    digest: str


Index = Mapping[str, tuple[IndexEntry, ...]]


def read_index(text: bytes, where: str) -> Index:
    """All charts and versions of an index, in its order. Raises ChartInvalid if it is not an index."""
    try:
        events = _Events(yaml.parse(text, Loader=yaml.CSafeLoader))
        return _index(events, where)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ChartInvalid(
            f"{where} is not the index of a chart repository ({type(error).__name__})"
        ) from None


def _index(events: _Events, where: str) -> Index:
    found: dict[str, tuple[IndexEntry, ...]] = {}
    entries = 0
    for _ in range(2):  # the stream and its document begin
        events.take()
    if not isinstance(events.take(), yaml.MappingStartEvent):
        raise ChartInvalid(f"{where} is not the index of a chart repository: the document is no map")
    for key in events.each_key():
        if key != "entries" or not events.opens(yaml.MappingStartEvent):
            events.skip()
            continue
        for chart in events.each_key():
            versions = tuple(islice(_versions(events), MOST_ENTRIES - entries + 1))
            # A chart without a version also counts: it is kept by its name.
            entries += max(len(versions), 1)
            if entries > MOST_ENTRIES:
                raise ChartInvalid(f"{where} lists more than {MOST_ENTRIES:,} versions")
            found[chart] = versions
    return found


def _versions(events: _Events) -> Iterator[IndexEntry]:
    if not events.opens(yaml.SequenceStartEvent):
        events.skip()
        return
    while not events.closes():
        if not events.opens(yaml.MappingStartEvent):
            events.skip()
            continue
        version = digest = ""
        urls: list[str] = []
        for key in events.each_key():
            if key == "version":
                version = events.text()
            elif key == "digest":
                digest = events.text()
            elif key == "urls" and events.opens(yaml.SequenceStartEvent):
                while not events.closes():
                    address = events.text()
                    if len(urls) < MOST_ADDRESSES:
                        urls.append(address)
            else:
                events.skip()
        if version:
            yield IndexEntry(version, tuple(urls), digest)


class _Events:
    """YAML events with one look-ahead. Nothing recurses, because the depth of a document is not known."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._next: Any = None

    def peek(self) -> Any:
        if self._next is None:
            self._next = next(self._events, None)
            if self._next is None:
                raise yaml.YAMLError("ends too early")
        return self._next

    def take(self) -> Any:
        event, self._next = self.peek(), None
        return event

    def opens(self, kind: type) -> bool:
        """Consumes the next event if it begins such a collection."""
        if not isinstance(self.peek(), kind):
            return False
        self.take()
        return True

    def closes(self) -> bool:
        """Consumes the next event if it ends the collection."""
        if not isinstance(self.peek(), _CLOSING):
            return False
        self.take()
        return True

    def each_key(self) -> Iterator[str]:
        """The keys of a map that has begun; the caller reads each value."""
        while not self.closes():
            yield self.text()

    def text(self) -> str:
        """The next node's text, empty if it is not a scalar."""
        if isinstance(self.peek(), yaml.ScalarEvent):
            return str(self.take().value)
        self.skip()
        return ""

    def skip(self) -> None:
        """Takes one whole node."""
        depth = 0
        while True:
            event = self.take()
            depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
            if depth <= 0:
                return
            if depth > MOST_LEVELS:
                # Far deeper than any index, and the parser takes ever longer for each further level.
                raise yaml.YAMLError("nested too deeply")
