"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import datetime


def seconds_of(text: object) -> float:
    """Seconds since the epoch of an RFC 3339 time, 0.0 where there is none or it cannot be read."""
    if not isinstance(text, str) or not text:
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
