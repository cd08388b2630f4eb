"""Members that decide by majority: Galera, RabbitMQ, OVN databases. Pure.

A member that is not known to be ready counts as lost: an unknown member does not vote. The
majority is counted from all members that there should be, never from those that happen to be seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its name (the pod's), the node it is on (empty: on none), and whether it is ready."""

    name: str
    node: str
    ready: bool


@dataclass(frozen=True, slots=True)
class QuorumGroup:
    """The members of one cluster of servers. `expected`: how many there should be, seen or not."""

    name: str
    expected: int
    members: tuple[Member, ...]

    @property
    def size(self) -> int:
        """How many members have a vote: those expected, or more where more are seen."""
        return max(self.expected, len(self.members))


def majority(size: int) -> int:
    """How many of `size` members can decide."""
    return size // 2 + 1


def ready_members(group: QuorumGroup) -> int:
    """How many members are known to be ready."""
    return sum(member.ready for member in group.members)


def has_quorum(group: QuorumGroup) -> bool:
    """Whether the ready members can decide. A group that should have no members can."""
    return group.size == 0 or ready_members(group) >= majority(group.size)


def breaks_quorum(group: QuorumGroup, lost: Collection[str]) -> bool:
    """Whether losing the members of these names leaves no majority of ready members.

    Losing members that are not ready breaks nothing. Where the majority is gone already, each ready
    member that is left counts: the last ones hold what there is to recover from.
    """
    taken = sum(member.ready for member in group.members if member.name in lost)
    return taken > 0 and ready_members(group) - taken < majority(group.size)


def groups_broken_by(node: str, groups: Iterable[QuorumGroup]) -> tuple[str, ...]:
    """Names of the groups that lose their quorum with all members on this node, sorted."""
    broken = []
    for group in groups:
        here = {member.name for member in group.members if member.node == node}
        if here and breaks_quorum(group, here):
            broken.append(group.name)
    return tuple(sorted(broken))


def describe(group: QuorumGroup) -> str:
    """As `mariadb: 2 of 3 members ready, 2 needed`."""
    return (
        f"{group.name}: {ready_members(group)} of {group.size} members ready, {majority(group.size)} needed"
    )
