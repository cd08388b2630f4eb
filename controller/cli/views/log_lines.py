"""Lines of logs of several containers as one text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# The containers of the controller.
CONTAINERS = ("core", "helmbundle", "health", "secrets", "node", "servers")
# The fields of a line of the controller that are part of its head.
_HEAD = ("time", "level", "container", "message", "logger")


@dataclass(frozen=True)
class LogSource:
    """One container of one pod. `previous`: its run before."""

    namespace: str
    pod: str
    container: str
    previous: bool = False

    @property
    def title(self) -> str:
        """As a line begins."""
        return f"{self.pod}/{self.container}"


@dataclass(frozen=True)
class LogLine:
    """A line and when it was written, as the node says."""

    time: str
    source: LogSource
    text: str


def parse_lines(source: LogSource, text: str) -> tuple[LogLine, ...]:
    """The lines of a log whose lines begin with their times."""
    found = []
    for line in text.splitlines():
        time, _, rest = line.partition(" ")
        found.append(LogLine(time, source, rest))
    return tuple(found)


def in_order(lines: Iterable[LogLine]) -> list[LogLine]:
    """By time; lines of one container keep their order."""
    return sorted(lines, key=lambda line: comparable(line.time))


def comparable(time: str) -> str:
    """The time as a text that sorts: nanoseconds are written without zeros at the end."""
    whole, _, fraction = time.removesuffix("Z").partition(".")
    return f"{whole}.{fraction:<09}"


def shown(line: LogLine, several: bool) -> str:
    """The line for a person. A line of the controller, which is JSON, becomes its time, level and message."""
    fields = _fields(line.text)
    source = f"{line.source.title}  " if several else ""
    if fields is None:
        return f"{source}{line.text}"
    about = " ".join(f"{name}={_word(value)}" for name, value in fields.items() if name not in _HEAD)
    return f"{source}{fields['time']} {fields['level']} {fields['message']}" + (
        f"  [{about}]" if about else ""
    )


def line_data(line: LogLine) -> dict[str, Any]:
    """The line for programs."""
    source = line.source
    data = {
        "time": line.time,
        "namespace": source.namespace,
        "pod": source.pod,
        "container": source.container,
    }
    return {**data, "line": line.text}


def _fields(text: str) -> dict[str, Any] | None:
    if not text.startswith('{"time"'):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    whole = isinstance(found, dict) and all(name in found for name in ("time", "level", "message"))
    return found if whole else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
