"""Which API is in charge of a set: one of the two, or none during a hand-over.

`spec.authoritativeAPI` of the source is the request, `status.authoritativeAPI` the state. The controllers of
the machine API stop unless the status is MachineAPI, and report that in the condition Paused of the source.
Those of Cluster API stop while the mirror has the annotation, and report that in its condition Paused. A
hand-over passes through Migrating: the former API is paused and has reported it before the other one is
unpaused. Nothing new begins before the last change was observed, so that an old report is not read as a new
one.
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
    """The API in charge; None if the machine API has not reported it yet, or the value is unknown."""
    return _known((source.get("status") or {}).get("authoritativeAPI"))


def asked_authority(source: Raw) -> Authority:
    """The desired API; by default the machine API."""
    return _known((source.get("spec") or {}).get("authoritativeAPI")) or Authority.MACHINE_API


def _known(word: Any) -> Authority | None:
    return Authority(word) if word in tuple(Authority) else None


def is_reported_paused(obj: Raw) -> bool | None:
    """The condition Paused, in the form of either version of Cluster API; None without one."""
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
    """Whether the mirror is paused, by anyone."""
    return PAUSED in (mirror["metadata"].get("annotations") or {})


def is_paused_by_us(mirror: Raw) -> bool:
    """Whether only the controller has paused it, so that no other writer may resume it."""
    return (mirror["metadata"].get("annotations") or {}).get(PAUSED) == PAUSED_BY_US


def paused(mirror: Raw, value: str | None = PAUSED_BY_US) -> dict[str, Any]:
    """The mirror with the annotation, or without it."""
    annotations = {**(mirror["metadata"].get("annotations") or {}), PAUSED: value}
    kept = {key: text for key, text in annotations.items() if text is not None}
    return with_metadata(mirror, annotations=kept or None)


def begin_hand_over(seen: Snapshot) -> Write | None:
    """The state once both copies are the same: neither is in charge."""
    current, asked = authority(seen.source), asked_authority(seen.source)
    if current is None or asked in (current, Authority.MIGRATING) or seen.mirror is None:
        return None
    by_machine_api = current is Authority.MACHINE_API
    giving = seen.source if by_machine_api else seen.mirror
    status = seen.source.get("status") or {}
    synchronized = find(status.get("conditions") or (), SYNCHRONIZED).get("status") == "True"
    if not synchronized or status.get("synchronizedGeneration") != giving["metadata"].get("generation"):
        return None
    # The API in charge may still report a pause from before it was in charge.
    if is_reported_paused(giving) is True and (by_machine_api or not is_asked_paused(giving)):
        return None
    return _now(seen, Authority.MIGRATING, f"{current} hands over to {asked}", synchronizedAPI=str(current))


def go_on_with_hand_over(seen: Snapshot, now: float) -> Write | None:
    """The next write while neither is in charge; None if another controller must act first."""
    mirror = seen.mirror
    if mirror is not None and not has_finalizer(mirror):
        # Its API is not known now, and Cluster API may serve it.
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
        return _now(seen, Authority.MACHINE_API, "there is no mirror for Cluster API")
    reported = is_reported_paused(mirror)
    if is_paused_by_us(mirror):
        return _now(seen, Authority.MACHINE_API, "the machine API is in charge") if reported is True else None
    if reported is not True:
        return Write(Verb.REPLACE, Part.MIRROR, paused(mirror), "Cluster API hands over")
    if not is_asked_paused(mirror):
        return None  # from before: it has not observed the resumption yet
    # If another writer removed and restored it, Cluster API may describe the earlier one.
    text = f"another client paused the mirror; remove its annotation {PAUSED} to hand it over"
    return say(seen.source, reason=Reason.MIRROR_PAUSED, message=text, now=now)


def _now(seen: Snapshot, who: Authority, because: str, **more: Any) -> Write:
    status = {**(seen.source.get("status") or {}), "authoritativeAPI": str(who), **more}
    if who is not Authority.MIGRATING:
        status = unsynchronized({**status, "synchronizedAPI": str(who)})
    return Write(Verb.STATUS, Part.SOURCE, {**seen.source, "status": status}, because)
