"""Lengths of time as Kubernetes resources write them: `30m`, `1h30m`, `45s`."""

from __future__ import annotations

import re

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:[0-9]{1,5}[hms]){1,3}")


def parse_duration(text: str) -> int:
    """Seconds in a duration of whole hours, minutes and seconds. Raises ValueError on anything else."""
    if not _DURATION.fullmatch(text):
        raise ValueError("expected hours, minutes and seconds such as 1h30m")
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9]+)([hms])", text))


def format_duration(seconds: int) -> str:
    """The shortest writing of a number of seconds, zero or more: 5400 is `1h30m`."""
    parts = []
    for unit, length in _SECONDS.items():
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
