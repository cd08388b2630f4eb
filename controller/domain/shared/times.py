"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime

# The last second that a time of four digits for the year can say.
_LAST = 253402300799.0

# Clocks of hosts differ by so much: what is later than this after now was written by a clock that was ahead,
# and says nothing. Nothing waits for it.
AHEAD = 60.0
# As much where the clock of today may be the wrong one, and a request would be made twice.
FAR_AHEAD = 86400.0


def is_ahead(moment: float, now: float) -> bool:
    """Whether a stored time lies so far in the future that a clock that was wrong has written it."""
    return moment > now + AHEAD


def seconds_of(text: object) -> float:
    """Seconds since the epoch of an RFC 3339 time, in UTC where it names no zone; 0.0 where there is none, it
    cannot be read, or is before 1970 or after 9999, which no status can say again."""
    if not isinstance(text, str) or not text:
        return 0.0
    try:
        found = datetime.fromisoformat(text)
        seconds = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return seconds if 0.0 <= seconds <= _LAST else 0.0
