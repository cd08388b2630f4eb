"""The report on the source: the condition Synchronized, and the generation on which both copies agree."""

from __future__ import annotations

from typing import Any

from controller.domain.api.conditions import find, timestamp
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.machines.writes import EventMessage, Part, Raw, Verb, Write

SYNCHRONIZED = "Synchronized"
# A condition of the machine API has no bound; the bound of an Event is the smallest for this text.
_MESSAGE_LIMIT = 1024


def say(
    source: Raw,
    *,
    reason: Reason,
    message: str,
    now: float,
    generation: int | None = None,
    warnings: tuple[str, ...] = (),
) -> Write | None:
    """The write of the report, or None if it is up to date.

    `generation` is that of the copy in charge, if the other one matches it now, otherwise None. An Event
    reports each of the `warnings` once for a generation, and each new reason.
    """
    status = dict(source.get("status") or {})
    conditions = list(status.get("conditions") or ())
    before = find(conditions, SYNCHRONIZED)
    entry = _entry(before, "False" if generation is None else "True", reason, message, now)
    agreed = status.get("synchronizedGeneration") if generation is None else generation
    if entry == before and agreed == status.get("synchronizedGeneration"):
        return None
    status["conditions"] = [*(one for one in conditions if one.get("type") != SYNCHRONIZED), entry]
    if agreed is not None:
        status["synchronizedGeneration"] = agreed
    if generation is None:
        events: tuple[EventMessage, ...] = (EventMessage(reason, entry["message"]),)
    elif generation != (source.get("status") or {}).get("synchronizedGeneration"):
        events = tuple(EventMessage(Reason.CONVERSION_WARNING, warning) for warning in warnings)
    else:
        events = ()
    return Write(Verb.STATUS, Part.SOURCE, {**source, "status": status}, str(reason), events)


def unsynchronized(status: Raw) -> dict[str, Any]:
    """The status of a set whose authority has just changed: the other copy is now the one to be read."""
    found = {key: value for key, value in status.items() if key != "synchronizedGeneration"}
    found["conditions"] = [
        {**one, "status": "Unknown", "reason": str(Reason.AUTHORITY_SWITCHED), "message": ""}
        if one.get("type") == SYNCHRONIZED
        else one
        for one in status.get("conditions") or ()
    ]
    return found


def _entry(before: Raw, status: str, reason: Reason, message: str, now: float) -> dict[str, Any]:
    kept = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": SYNCHRONIZED,
        "status": status,
        **({"severity": "Error"} if status == "False" else {}),
        "reason": str(reason),
        "message": shorten(message, _MESSAGE_LIMIT),
        "lastTransitionTime": kept or timestamp(now),
    }
