"""Quorum: every subset of three and five members down."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from controller.domain.health.quorum import (
    Member,
    QuorumGroup,
    breaks_quorum,
    groups_broken_by,
    has_quorum,
    majority,
)


def group(size: int, down: set[int], *, expected: int | None = None) -> QuorumGroup:
    members = tuple(Member(f"m{i}", f"node{i}", i not in down) for i in range(size))
    return QuorumGroup("mariadb", size if expected is None else expected, members)


SUBSETS = [
    (size, set(down))
    for size in (1, 3, 5)
    for down in chain.from_iterable(combinations(range(size), n) for n in range(size + 1))
]


@pytest.mark.parametrize(("size", "down"), SUBSETS, ids=str)
def test_a_node_is_locked_exactly_when_its_loss_leaves_no_majority(size: int, down: set[int]) -> None:
    needed = {1: 1, 3: 2, 5: 3}[size]
    up = size - len(down)
    assert has_quorum(group(size, down)) == (up >= needed)
    for index in range(size):
        locked = bool(groups_broken_by(f"node{index}", [group(size, down)]))
        assert locked == (index not in down and up - 1 < needed)


@pytest.mark.parametrize(("size", "down"), SUBSETS, ids=str)
def test_every_set_of_members_that_may_be_lost_together(size: int, down: set[int]) -> None:
    judged = group(size, down)
    needed = majority(size)
    for count in range(size + 1):
        for lost in combinations(range(size), count):
            left = size - len(down | set(lost))
            takes_a_ready_one = bool(set(lost) - down)
            names = {f"m{index}" for index in lost}
            assert breaks_quorum(judged, names) == (takes_a_ready_one and left < needed)


def test_an_unseen_member_has_a_vote_and_does_not_give_it() -> None:
    seen = QuorumGroup("rabbitmq", 3, (Member("a", "n1", True), Member("b", "n2", True)))
    assert has_quorum(seen)
    assert groups_broken_by("n1", [seen]) == groups_broken_by("n2", [seen]) == ("rabbitmq",)


def test_more_members_than_expected_all_vote() -> None:
    assert not has_quorum(group(5, {0, 1, 2}, expected=3))


def test_no_node_takes_an_empty_group_along() -> None:
    empty = QuorumGroup("ovn-ovsdb-nb", 0, ())
    assert has_quorum(empty)
    assert groups_broken_by("n1", [empty]) == ()


def test_two_members_on_one_node_go_together() -> None:
    members = (Member("a", "n1", True), Member("b", "n1", True), Member("c", "n2", True))
    crowded = QuorumGroup("rabbitmq", 3, members)
    assert groups_broken_by("n1", [crowded]) == ("rabbitmq",)
    assert groups_broken_by("n2", [crowded]) == ()
