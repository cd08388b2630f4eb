"""Clusters with a majority: Galera, RabbitMQ, OVN databases.

Pure. A member that is not known to be ready counts as lost. The majority is computed from all expected
members, never only from the observed ones.
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
    """The members of one cluster of servers. `expected`: the number of members, observed or not."""

    name: str
    expected: int
    members: tuple[Member, ...]

    @property
    def size(self) -> int:
        """The number of votes: the expected members, or more if more are observed."""
        return max(self.expected, len(self.members))


def majority(size: int) -> int:
    """The majority of `size` members."""
    return size // 2 + 1


def ready_members(group: QuorumGroup) -> int:
    """The number of members that are known to be ready."""
    return sum(member.ready for member in group.members)


def has_quorum(group: QuorumGroup) -> bool:
    """Whether the ready members are a majority. A group without expected members has one."""
    return group.size == 0 or ready_members(group) >= majority(group.size)


def breaks_quorum(group: QuorumGroup, lost: Collection[str]) -> bool:
    """Whether the loss of these members leaves no majority of ready members.

    The loss of members that are not ready breaks nothing. If the majority is already lost, every remaining
    ready member counts, because recovery needs its data.
    """
    taken = sum(member.ready for member in group.members if member.name in lost)
    return taken > 0 and ready_members(group) - taken < majority(group.size)


def groups_broken_by(node: str, groups: Iterable[QuorumGroup]) -> tuple[str, ...]:
    """Names of the groups that would lose their quorum with all members on this node, sorted."""
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
