"""When a release is tried next: the pause after a failed action, and between corrections of drift. Pure.

The gates of `gates.py` hold an action back until then. An edit of the spec is served at once, because a pause
belongs to the digest that failed.
"""

from __future__ import annotations

import math

from controller.domain.releases.actions import Action
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.drift.difference import FIGHT_AFTER, Drift
from controller.domain.shared import backoff
from controller.domain.shared.times import is_ahead

# Seconds between tries of an action that Helm or a cluster has refused.
RETRY_PAUSES = backoff.Pauses(5.0, 300.0)

# The first pause, in seconds, before an object is corrected that others change again and again.
FIGHT_PAUSE = 15.0

# The longest pause, in seconds, after a failure that was none of the release's own.
INTERRUPTED_CAP = 60.0

# The pause, in seconds, after each failure because of a missing right, which only others can grant.
DENIED_PAUSE = 60.0

# How often, in seconds, it is looked whether others have given a release or an object up, or handed it over.
OWNER_CHECK_SECONDS = 30.0


def retry_time(last: Attempt, *, jitter: float, longest: float, now: float) -> float | None:
    """When the failed action may be tried again (seconds since the epoch); None for at once."""
    # Whoever is cut off once goes on at once: it was a restart. Cut off again and again, it may be the cause.
    failures = last.failures - (last.action == Action.UNLOCK)
    if failures == 0:
        return None
    if last.lacks_right:
        pause = DENIED_PAUSE
    else:
        cap = min(longest, _cap(last))
        pause = backoff.delay(failures, jitter, first=RETRY_PAUSES.first, cap=cap)
    return _due(last.finished, pause, now)


def correction_time(drift: Drift, *, jitter: float, longest: float, now: float) -> float | None:
    """When objects that others change again and again may be corrected next; None for at once."""
    if drift.corrections < FIGHT_AFTER:
        return None
    fights = drift.corrections - FIGHT_AFTER + 1
    return _due(drift.corrected, backoff.delay(fights, jitter, first=FIGHT_PAUSE, cap=longest), now)


def _cap(last: Attempt) -> float:
    if last.taken:
        return OWNER_CHECK_SECONDS
    return INTERRUPTED_CAP if last.interrupted else math.inf


def _due(since: float, pause: float, now: float) -> float | None:
    """A time from a clock that was ahead holds nothing up."""
    due = since + pause
    return None if due <= now or is_ahead(since, now) else due
