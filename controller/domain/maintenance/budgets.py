"""The budgets of maintenances: how many servers move at once, and how many hosts are out of service. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.domain.shared.cloud_facts import Aggregate
from controller.domain.shared.plurals import count


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """The requests of one maintenance: waiting servers, and moving ones.

    `created` orders requests; `per_host` and `per_region` are its budgets.
    """

    name: str
    created: float
    waiting: int
    moving: int
    per_host: int
    per_region: int


def share_slots(requests: Iterable[BudgetRequest]) -> dict[str, int]:
    """The number of servers that each may begin to move now.

    Slots are given one by one to the maintenance with the fewest moving servers, the oldest first, so that
    none waits for the end of another. The region's budget is the smallest of all claims with work.
    """
    known = sorted(requests, key=lambda one: (one.created, one.name))
    busy = [one for one in known if one.waiting or one.moving]
    given = dict.fromkeys((one.name for one in known), 0)
    if not busy:
        return given
    free = min(one.per_region for one in busy) - sum(one.moving for one in busy)
    while free > 0:
        open_ = [
            one
            for one in busy
            if given[one.name] < one.waiting and one.moving + given[one.name] < one.per_host
        ]
        if not open_:
            break
        next_ = min(open_, key=lambda one: one.moving + given[one.name])
        given[next_.name] += 1
        free -= 1
    return given


def waits_for_slots(requests: Iterable[BudgetRequest], slots: Mapping[str, int]) -> dict[str, str]:
    """For each maintenance that may begin no server because of the region's budget: the holders of the slots.

    `slots` is the result of `share_slots` for these requests.
    """
    known = sorted(requests, key=lambda one: (one.created, one.name))
    busy = [one for one in known if one.waiting or one.moving]
    used = {one.name: one.moving + slots[one.name] for one in busy if one.moving + slots[one.name]}
    budget = min((one.per_region for one in busy), default=0)
    if sum(used.values()) < budget:
        return {}
    holders = ", ".join(f"{name} ({number})" for name, number in used.items())
    text = (
        f"waits for a slot: {count(budget, 'server')} of the region may move at once; "
        f"the slots belong to {holders}"
    )
    return {one.name: text for one in busy if one.waiting and not (one.moving or slots[one.name])}


@dataclass(frozen=True, slots=True)
class QueuedMaintenance:
    """A maintenance that takes its host out of service. `begun`: it already has."""

    name: str
    host: str
    created: float
    begun: bool
    most_unavailable: int


@dataclass(frozen=True)
class Availability:
    """The hosts that are out of service for other reasons, and the groups of equivalent hosts."""

    away: frozenset[str] = frozenset()
    aggregates: tuple[Aggregate, ...] = field(default=())


def decide_queue(queue: Iterable[QueuedMaintenance], availability: Availability) -> dict[str, str]:
    """For each maintenance why it must wait, empty if it may begin or has begun.

    The oldest is first. A younger one may overtake only if no aggregate of its host is exhausted, and never
    one of the same host. Hosts without an aggregate count as one.
    """
    ordered = sorted(queue, key=lambda one: (one.created, one.name))
    out = {one.host for one in ordered if one.begun} | set(availability.away)
    answers = {}
    holders = {one.host: one.name for one in reversed(ordered)}
    holders |= {one.host: one.name for one in reversed(ordered) if one.begun}
    for entry in ordered:
        if entry.begun:
            answers[entry.name] = ""
            continue
        if holders[entry.host] != entry.name:
            answers[entry.name] = f"waits for the maintenance {holders[entry.host]} of the same node"
            continue
        answers[entry.name] = _exhausted(entry, out, availability.aggregates)
        # A waiting one also keeps its place: later ones must not use its slot.
        out.add(entry.host)
    return answers


def _exhausted(entry: QueuedMaintenance, out: set[str], aggregates: tuple[Aggregate, ...]) -> str:
    mine = {one.name: one.hosts for one in aggregates if entry.host in one.hosts}
    placed = frozenset(host for one in aggregates for host in one.hosts)
    groups: Mapping[str, frozenset[str]] = mine or {"": frozenset(out - placed) | {entry.host}}
    for name, hosts in sorted(groups.items()):
        others = sorted((out & hosts) - {entry.host})
        if len(others) >= entry.most_unavailable:
            where = f"of aggregate {name}" if name else "without an aggregate"
            shown = ", ".join(others[:5])
            return f"waits: {shown} {where} out of service, and at most {entry.most_unavailable} may be"
    return ""
