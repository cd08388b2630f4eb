"""The queue: each key once, never in two hands, back after growing pauses."""

from __future__ import annotations

import pytest

from controller.reconcile.shared.work_queue import WorkQueue
from tests.fakes.world import FakeClock, FakeRandomness


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock, FakeRandomness())


def due(queue: WorkQueue[str]) -> list[str]:
    """Everything that can be taken now, without waiting."""
    taken = []
    while queue.overdue():
        key = queue.take()
        assert key is not None
        taken.append(key)
    return taken


def test_a_key_added_many_times_is_handed_out_once(queue: WorkQueue[str]) -> None:
    for _ in range(5):
        queue.add("a")
    assert due(queue) == ["a"]


def test_a_key_added_while_it_is_worked_on_comes_back_afterwards(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.take()
    queue.add("a")
    assert due(queue) == []
    queue.done("a")
    assert due(queue) == ["a"]


def test_a_key_in_work_does_not_hold_up_the_others(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.take()
    queue.add("a")
    queue.add("b")
    assert due(queue) == ["b"]


def test_an_earlier_time_wins_over_a_later_one(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a", after=100)
    queue.add("a", after=10)
    queue.add("a", after=50)
    clock.advance(10)
    assert due(queue) == ["a"]


def test_failures_come_back_after_growing_pauses(queue: WorkQueue[str], clock: FakeClock) -> None:
    pauses = []
    for _ in range(10):
        queue.add("a")
        clock.advance(100)
        assert due(queue) == ["a"]
        pauses.append(queue.failed("a"))
    assert pauses[:6] == sorted(pauses[:6])
    assert pauses[0] <= 1
    assert 30 <= pauses[-1] <= 60


def test_success_ends_the_memory_of_failures(queue: WorkQueue[str], clock: FakeClock) -> None:
    for _ in range(5):
        queue.add("a")
        clock.advance(100)
        due(queue)
        queue.failed("a")
    clock.advance(100)
    due(queue)
    queue.done("a")
    queue.add("a")
    due(queue)
    assert queue.failed("a") <= 1


def test_a_closed_queue_hands_out_nothing(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.close()
    assert queue.take() is None


def test_the_oldest_age_counts_overdue_keys_and_work_under_way(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("a")
    queue.add("later", after=1000)
    clock.advance(30)
    assert queue.oldest() == 30
    queue.take()
    clock.advance(40)
    assert queue.oldest() == 40


def test_only_what_is_due_and_untaken_is_overdue(queue: WorkQueue[str], clock: FakeClock) -> None:
    for key, after in (("now", 0), ("soon", 1), ("later", 60)):
        queue.add(key, after)
    assert queue.overdue() == 1
    clock.advance(2)
    assert queue.overdue() == 2
    queue.take()
    assert queue.overdue() == 1


def test_what_is_being_worked_on_is_reported_also_of_a_closed_queue(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    assert queue.unfinished() == []
    assert queue.take() == "a"
    queue.close()
    assert queue.unfinished() == ["a"]
    queue.done("a")
    assert queue.unfinished() == []


def test_a_queue_that_winds_down_hands_out_only_what_was_added_as_last(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("a")
    queue.add("b", last=True)
    queue.wind_down()
    queue.add("c")
    queue.add("d", last=True)
    assert due(queue) == ["b", "d"]
    assert queue.unfinished() == ["b", "d"]
    queue.done("b", again_after=0)
    queue.done("d")
    assert queue.unfinished() == []
    assert due(queue) == []


def test_what_fails_is_tried_again_while_the_queue_winds_down(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("a", last=True)
    assert due(queue) == ["a"]
    queue.wind_down()
    queue.failed("a")
    assert queue.unfinished() == ["a"]
    clock.advance(2)
    assert due(queue) == ["a"]


def test_what_was_looked_at_once_more_is_dropped_like_all_others(queue: WorkQueue[str]) -> None:
    queue.add("a", last=True)
    assert due(queue) == ["a"]
    queue.done("a", again_after=0)
    queue.wind_down()
    assert due(queue) == []


def test_an_item_that_is_never_taken_does_not_age(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    queue.add("b", last=True)
    clock.advance(30)
    queue.wind_down()
    queue.add("c")
    clock.advance(10)
    assert queue.oldest() == 40
    queue.close()
    assert (queue.oldest(), queue.overdue()) == (0, 0)


def test_the_longest_work_under_way_is_reported_and_what_only_waits_is_not(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add("a")
    queue.add("b")
    clock.advance(50)
    assert queue.longest() == 0
    key = queue.take()
    assert key is not None
    clock.advance(7)
    assert queue.longest() == 7
    queue.done(key)
    assert queue.longest() == 0
