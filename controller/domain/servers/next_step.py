"""What is done next about the things of a server: which are taken up, made, waited for or removed. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.plan import PlannedThing
from controller.domain.servers.server_spec import ServerSpec, Update
from controller.domain.servers.server_status import Recorded, ServerRecord
from controller.domain.shared.times import FAR_AHEAD

# Seconds in which a request whose answer did not come may still be carried out: a service, or a proxy before
# it, may have it in hand when we have given up. Longer than we wait for an answer (adapters: ANSWER_WITHIN).
SETTLES_WITHIN = 60.0


@dataclass(frozen=True, slots=True)
class MissingDecision:
    """What follows from looking for things whose ids are not known.

    `adopted`: found, and ours. `make`: there are none. `surplus`: ours, and more than was asked for.
    `until`: when to look again, as an answer is still out; 0.0 for none.
    """

    adopted: tuple[Recorded, ...] = ()
    make: tuple[PlannedThing, ...] = ()
    surplus: tuple[CloudResource, ...] = ()
    until: float = 0.0


def decide_missing(
    planned: Sequence[PlannedThing],
    record: ServerRecord,
    marked: Iterable[CloudResource],
    mark: str,
    now: float,
) -> MissingDecision:
    """What to do about those of `planned` without an id; `marked`: all of their kind that bear our mark.

    A thing is taken up by its name among our own: the oldest, so that each pass decides alike. Of volumes
    only what a request made whose answer is out: another one may be a restored backup, and is left alone.
    """
    known = {one.id for one in record.things.values() if one.id}
    own = sorted(
        (
            one
            for one in marked
            if one.is_of(mark) and one.id not in known and not one.leaving
            if one.kind != Kind.VOLUME or record.is_answer(one)
        ),
        key=lambda one: (one.created, one.id),
    )
    adopted: list[Recorded] = []
    make: list[PlannedThing] = []
    until = 0.0
    for thing in planned:
        if record.id_of(thing.kind, thing.name):
            continue
        found = next((one for one in own if _is_it(one, thing)), None)
        if found is not None:
            own.remove(found)
            adopted.append(Recorded(thing.kind, thing.name, found.id))
            continue
        asked = record.things.get(thing.key)
        if asked is not None and _is_out(asked, now):
            until = max(until, asked.requested + SETTLES_WITHIN)
        else:
            make.append(thing)
    return MissingDecision(tuple(adopted), tuple(make), tuple(own), until)


def volumes_of_lost_status(
    planned: Sequence[PlannedThing], marked: Iterable[CloudResource], mark: str
) -> tuple[Recorded, ...]:
    """The volumes of a server without a record: by their names, and the oldest of each.

    A volume restored from a backup is younger than its original. Whether they contain data is not known.
    """
    own = sorted(
        (one for one in marked if one.is_of(mark) and not one.leaving), key=lambda one: (one.created, one.id)
    )
    oldest = {thing.name: next((one for one in own if _is_it(one, thing)), None) for thing in planned}
    return tuple(
        Recorded(Kind.VOLUME, name, one.id, available=one.status != "creating")
        for name, one in oldest.items()
        if one is not None
    )


def _is_it(one: CloudResource, thing: PlannedThing) -> bool:
    # A floating IP has no name, and there is at most one.
    return one.kind == thing.kind and (one.kind == Kind.FLOATING_IP or one.name == thing.name)


def outstanding_until(record: ServerRecord, kinds: Collection[Kind], now: float) -> float:
    """When the last request of these kinds whose answer is out has come to its end; 0.0 for none."""
    ends = (
        one.requested + SETTLES_WITHIN
        for one in record.things.values()
        if one.kind in kinds and not one.id and _is_out(one, now)
    )
    return max((end for end in ends if end > now), default=0.0)


def _is_out(asked: Recorded, now: float) -> bool:
    """Whether a request may still come about. One that was sent by far later than now was sent while a clock
    was wrong; within a day it may be ours that is behind, and two of the same would be made."""
    return (
        bool(asked.requested) and now < asked.requested + SETTLES_WITHIN <= now + SETTLES_WITHIN + FAR_AHEAD
    )


def is_carried_out(spec: ServerSpec, digest: str, record: ServerRecord) -> bool:
    """Whether a spec with this digest leaves nothing to be made or removed, as far as is noted."""
    if record.removing or not spec.enabled:
        return not record.removing and record.resolved is None
    resolved = record.resolved
    if resolved is None or not record.server_id:
        return False
    edited = spec.update == Update.REPLACE and resolved.digest != digest
    has_floating_ip = any(not one.let_go for one in record.of(Kind.FLOATING_IP))
    return not edited and has_floating_ip == (spec.floating_ip is not None)


def to_delete(present: Collection[CloudResource], mark: str) -> tuple[CloudResource, ...]:
    """Of what is to go those whose deletion is to be asked for: only what bears our mark, and each once."""
    return tuple(one for one in present if one.is_of(mark) and not one.leaving)


def pause_until(until: float, now: float) -> float:
    """Seconds to wait for a moment: it has passed then, also by the whole seconds of a status."""
    return max(1.0, float(math.ceil(until - now)))
