"""View of `osctl events`: in the order of time, and what repeats only once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.cli.output import Cell, Row
from controller.cli.views.release_rows import parse_time, short_duration
from controller.domain.api.conditions import timestamp

HEADERS = ("LAST", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE")
# What differs between pods of one workload and between attempts: figures, and the ends of generated names.
_GENERATED = re.compile(
    r"-[bcdfghjklmnpqrstvwxz2456789]{5,10}(?:-[bcdfghjklmnpqrstvwxz2456789]{5})?(?![\w-])"
)
_FIGURES = re.compile(r"\d+")


@dataclass(frozen=True)
class EventLine:
    """What happened once or several times. `objects`: how many objects it happened to, `name` the last."""

    first: float
    last: float
    count: int
    type: str
    reason: str
    kind: str
    namespace: str
    name: str
    objects: int
    message: str
    source: str

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for events that say the same of objects of one workload."""
        return (self.type, self.reason, self.kind, self.namespace, _same(self.name), _same(self.message))


def event_lines(events: Iterable[Mapping[str, Any]], since: float = 0.0) -> tuple[EventLine, ...]:
    """The newest last; those after `since`, in seconds since the epoch."""
    found: dict[tuple[str, ...], tuple[EventLine, set[str]]] = {}
    for event in events:
        line = _line(event)
        if line.last < since:
            continue
        known, names = found.get(line.key, (None, set()))
        names.add(line.name)
        found[line.key] = (_joined(known, line) if known else line, names)
    lines = (replace(line, objects=len(names)) for line, names in found.values())
    return tuple(sorted(lines, key=lambda one: (one.last, one.first, one.kind, one.name, one.reason)))


def _joined(one: EventLine, other: EventLine) -> EventLine:
    newest = max(one, other, key=lambda line: (line.last, line.name))
    return replace(
        newest,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        count=one.count + other.count,
    )


def _same(text: str) -> str:
    return _FIGURES.sub("#", _GENERATED.sub("-*", text))


def _line(event: Mapping[str, Any]) -> EventLine:
    about, series = event.get("involvedObject") or {}, event.get("series") or {}
    created = event["metadata"].get("creationTimestamp")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or created
    first = event.get("firstTimestamp") or event.get("eventTime") or created
    return EventLine(
        first=parse_time(first) or 0.0,
        last=parse_time(last) or 0.0,
        count=int(series.get("count") or event.get("count") or 1),
        type=str(event.get("type") or "Normal"),
        reason=str(event.get("reason") or ""),
        kind=str(about.get("kind") or ""),
        namespace=str(about.get("namespace") or ""),
        name=str(about.get("name") or ""),
        objects=1,
        message=" ".join(str(event.get("message") or "").split()),
        source=str(event.get("reportingComponent") or (event.get("source") or {}).get("component") or ""),
    )


def event_rows(lines: Iterable[EventLine], now: float) -> Iterator[Row]:
    """Rows under HEADERS."""
    for one in lines:
        more = f" and {one.objects - 1} more" if one.objects > 1 else ""
        style = "yellow" if one.type == "Warning" else ""
        yield (
            f"{short_duration(max(0.0, now - one.last))} ago",
            str(one.count),
            Cell(one.type, style),
            one.reason,
            f"{one.kind}/{one.name}{more}",
            one.message,
        )


def event_data(lines: Iterable[EventLine]) -> list[dict[str, Any]]:
    """The lines for programs."""
    return [
        {
            "first": timestamp(one.first),
            "last": timestamp(one.last),
            "count": one.count,
            "type": one.type,
            "reason": one.reason,
            "object": {"kind": one.kind, "namespace": one.namespace, "name": one.name},
            "objects": one.objects,
            "message": one.message,
            "source": one.source,
        }
        for one in lines
    ]
