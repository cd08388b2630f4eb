"""Who is in charge of a set: one of the two APIs, or none while it is handed over.

`spec.authoritativeAPI` of the source asks, `status.authoritativeAPI` is so. The controllers of the machine
API stand still unless the status says MachineAPI, and say so in the condition Paused of the source; those of
Cluster API stand still while the mirror has the annotation, and say so in its condition Paused. A hand-over
goes by Migrating: the one that gives is paused and has said so before the other is unpaused, and nothing new
begins before the last change has been taken up, lest an old word be read as a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import MANAGED_BY_US
from controller.domain.api.reasons import Reason
from controller.domain.machines.metadata import PAUSED
from controller.domain.machines.synchronized import SYNCHRONIZED, say, unsynchronized
from controller.domain.machines.writes import (
    FINALIZER,
    Part,
    Raw,
    Snapshot,
    Verb,
    Write,
    has_finalizer,
    with_metadata,
)

PAUSED_CONDITION = "Paused"
#: The value of the annotation where the controller itself has paused a mirror.
PAUSED_BY_US = MANAGED_BY_US


class Authority(StrEnum):
    """Values of `authoritativeAPI`."""

    MACHINE_API = "MachineAPI"
    CLUSTER_API = "ClusterAPI"
    MIGRATING = "Migrating"


def authority(source: Raw) -> Authority | None:
    """Who is in charge; None where the machine API has not said so yet, or says what is not known."""
    return _known((source.get("status") or {}).get("authoritativeAPI"))


def asked_authority(source: Raw) -> Authority:
    """Who is to be in charge; the machine API where nothing is said."""
    return _known((source.get("spec") or {}).get("authoritativeAPI")) or Authority.MACHINE_API


def _known(word: Any) -> Authority | None:
    return Authority(word) if word in tuple(Authority) else None


def is_reported_paused(obj: Raw) -> bool | None:
    """What the condition Paused says, in the form of either version of Cluster API; None for nothing."""
    for conditions in _conditions(obj):
        status = find(conditions, PAUSED_CONDITION).get("status")
        if status in ("True", "False"):
            return bool(status == "True")
    return None


def _conditions(obj: Raw) -> Iterator[Any]:
    status = obj.get("status") or {}
    yield (status.get("v1beta2") or {}).get("conditions") or ()
    yield status.get("conditions") or ()


def is_asked_paused(mirror: Raw) -> bool:
    """Whether the mirror is to stand still, whoever wants it."""
    return PAUSED in (mirror["metadata"].get("annotations") or {})


def is_paused_by_us(mirror: Raw) -> bool:
    """Whether it is paused by the controller alone: no other writer may remove that."""
    return (mirror["metadata"].get("annotations") or {}).get(PAUSED) == PAUSED_BY_US


def paused(mirror: Raw, value: str | None = PAUSED_BY_US) -> dict[str, Any]:
    """The mirror with the annotation, or without it."""
    annotations = {**(mirror["metadata"].get("annotations") or {}), PAUSED: value}
    kept = {key: text for key, text in annotations.items() if text is not None}
    return with_metadata(mirror, annotations=kept or None)


def begin_hand_over(seen: Snapshot) -> Write | None:
    """Once both copies are the same: neither is in charge."""
    current, asked = authority(seen.source), asked_authority(seen.source)
    if current is None or asked in (current, Authority.MIGRATING) or seen.mirror is None:
        return None
    by_machine_api = current is Authority.MACHINE_API
    giving = seen.source if by_machine_api else seen.mirror
    status = seen.source.get("status") or {}
    synchronized = find(status.get("conditions") or (), SYNCHRONIZED).get("status") == "True"
    if not synchronized or status.get("synchronizedGeneration") != giving["metadata"].get("generation"):
        return None
    # Who is in charge may still say that it stands still, from the time before it was in charge.
    if is_reported_paused(giving) is True and (by_machine_api or not is_asked_paused(giving)):
        return None
    return _now(seen, Authority.MIGRATING, f"{current} hands over to {asked}", synchronizedAPI=str(current))


def go_on_with_hand_over(seen: Snapshot, now: float) -> Write | None:
    """The next write while neither is in charge, None where another controller has to act first."""
    mirror = seen.mirror
    if mirror is not None and not has_finalizer(mirror):
        # Whose it is now is not known, and Cluster API may serve it.
        text = f"the mirror has lost the finalizer {FINALIZER}; put it back, or delete the mirror"
        return say(seen.source, reason=Reason.MIRROR_TAKEN, message=text, now=now)
    if asked_authority(seen.source) is Authority.CLUSTER_API:
        return _to_cluster_api(seen, mirror)
    return _to_machine_api(seen, mirror, now)


def _to_cluster_api(seen: Snapshot, mirror: Raw | None) -> Write | None:
    if mirror is None or is_reported_paused(seen.source) is not True:
        return None
    if is_paused_by_us(mirror):
        return Write(Verb.REPLACE, Part.MIRROR, paused(mirror, None), "Cluster API takes over")
    if is_reported_paused(mirror) is True and not is_asked_paused(mirror):
        return None
    return _now(seen, Authority.CLUSTER_API, "Cluster API is in charge")


def _to_machine_api(seen: Snapshot, mirror: Raw | None, now: float) -> Write | None:
    if mirror is None:
        return _now(seen, Authority.MACHINE_API, "there is no mirror that Cluster API could serve")
    reported = is_reported_paused(mirror)
    if is_paused_by_us(mirror):
        return _now(seen, Authority.MACHINE_API, "the machine API is in charge") if reported is True else None
    if reported is not True:
        return Write(Verb.REPLACE, Part.MIRROR, paused(mirror), "Cluster API hands over")
    if not is_asked_paused(mirror):
        return None  # from before: it has not heard yet that it goes on
    # If another writer removed it and set it again, Cluster API may speak of the earlier one.
    text = f"another writer paused the mirror; remove the annotation {PAUSED} from it to hand it over"
    return say(seen.source, reason=Reason.MIRROR_PAUSED, message=text, now=now)


def _now(seen: Snapshot, who: Authority, because: str, **more: Any) -> Write:
    status = {**(seen.source.get("status") or {}), "authoritativeAPI": str(who), **more}
    if who is not Authority.MIGRATING:
        status = unsynchronized({**status, "synchronizedAPI": str(who)})
    return Write(Verb.STATUS, Part.SOURCE, {**seen.source, "status": status}, because)
