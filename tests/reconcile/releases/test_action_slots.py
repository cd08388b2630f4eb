"""What is measured of actions on releases."""

from __future__ import annotations

import threading
import time

import pytest

from controller.domain.releases.actions import Action
from controller.domain.releases.attempt import Attempt
from controller.domain.shared import metrics
from controller.errors import ControllerError
from controller.reconcile.releases.action_request import ActionOutcome, ActionRequest, RunningAction
from controller.reconcile.releases.action_slots import ActionSlots
from sandbox.patience import Patience
from tests.fakes.metrics import FakeMetrics

KEY = ("openstack", "nova")
DEADLINE = 60.0


class _Never:
    cancelled = False

    overdue = ""

    def cancel(self, overdue: str = "") -> None:
        raise AssertionError("nobody cancels it")


def running(action: Action, bundle: str = "compute", release: str = "nova") -> RunningAction:
    return RunningAction(ActionRequest(action, bundle, release, "openstack", 1), 0.0, _Never())


def done(action: Action, error: str = "") -> ActionOutcome:
    return ActionOutcome(Attempt(str(action), "", 0.0, 1 if error else 0, duration=2.5, error=error))


@pytest.fixture
def measures() -> FakeMetrics:
    return FakeMetrics()


@pytest.fixture
def slots(measures: FakeMetrics) -> ActionSlots:
    return ActionSlots(2, measures)


def act(slots: ActionSlots, action: Action, error: str = "") -> None:
    ended = threading.Event()
    started = slots.start(
        running(action),
        lambda: done(action, error),
        crashed=lambda _: done(action, "crashed"),
        finished=ended.set,
    )
    assert started
    assert ended.wait(DEADLINE)


def hold(slots: ActionSlots, bundle: str, release: str, until: threading.Event) -> bool:
    """Starts an action that lasts until the event, if there is a slot for it."""

    def work() -> ActionOutcome:
        until.wait(DEADLINE)
        return done(Action.INSTALL)

    return slots.start(
        running(Action.INSTALL, bundle, release),
        work,
        crashed=lambda _: done(Action.INSTALL, "crashed"),
        finished=lambda: None,
    )


def ended(slots: ActionSlots, count: int) -> bool:
    patience = Patience(DEADLINE)
    while len(slots.busy()) > count and not patience.is_over():
        time.sleep(0.001)
    return len(slots.busy()) == count


def test_as_many_bundles_get_their_turn_as_slots_are_free_the_longest_refused_first(
    slots: ActionSlots,
) -> None:
    first, second = threading.Event(), threading.Event()
    assert hold(slots, "a", "a", first)
    assert hold(slots, "b", "b", second)
    for name in ("c", "d", "e", "c"):
        assert not hold(slots, name, name, first)
    assert slots.next_refused() == []
    first.set()
    assert ended(slots, 1)
    assert slots.next_refused() == [("openstack", "c")]
    second.set()
    assert ended(slots, 0)
    assert slots.next_refused() == [("openstack", "d"), ("openstack", "e")]
    assert slots.next_refused() == []


def test_an_action_is_under_way_until_the_news_of_its_end_is_out(slots: ActionSlots) -> None:
    ended, reported = threading.Event(), threading.Event()

    def tell() -> None:
        ended.set()
        reported.wait(DEADLINE)

    crashed = done(Action.UPGRADE, "crashed")
    slots.start(
        running(Action.UPGRADE), lambda: done(Action.UPGRADE), crashed=lambda _: crashed, finished=tell
    )
    assert ended.wait(DEADLINE)
    assert slots.busy() == {}
    assert slots.under_way() == ["Upgrade of release nova"]
    reported.set()
    patience = Patience(DEADLINE)
    while slots.under_way() and not patience.is_over():
        time.sleep(0.001)
    assert slots.under_way() == []


def test_once_closed_no_action_is_started_and_those_under_way_go_on(slots: ActionSlots) -> None:
    until = threading.Event()
    assert hold(slots, "a", "a", until)
    slots.close()
    assert not hold(slots, "b", "b", until)
    assert slots.next_refused() == []
    assert slots.under_way() == ["Install of release a"]
    until.set()
    assert ended(slots, 0)


def test_a_release_that_is_being_worked_on_is_not_refused_a_slot(slots: ActionSlots) -> None:
    """Else its bundle would be looked at again and again until the action ends."""
    until = threading.Event()
    assert hold(slots, "a", "a", until)
    assert not hold(slots, "a", "a", until)
    assert slots.next_refused() == []
    until.set()


def test_beyond_a_number_of_waiting_actions_the_others_follow_one_at_a_time() -> None:
    slots, until = ActionSlots(2, waiters=1), threading.Event()

    def begin(name: str) -> bool:
        return hold(slots, name, name, until)

    def waits(name: str) -> list[tuple[str, str]]:
        return list(slots.note_waiting(("openstack", name), True))

    assert [begin(name) for name in "abcdef"] == [True, True, False, False, False, False]
    assert waits("a") == [("openstack", "c")]
    assert begin("c")
    assert waits("b") == []  # c works, and there are as many as may be
    assert not begin("d")
    assert waits("c") == [("openstack", "d")]
    assert begin("d")
    assert not begin("e")
    assert waits("d") == [("openstack", "e")]
    assert begin("e")
    until.set()
    assert ended(slots, 0)


def test_without_a_thread_nothing_holds_the_slot_and_the_look_fails(
    slots: ActionSlots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose queue tries again with growing pauses: no end of an action would tell of a thread."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ControllerError, match="release a cannot begin: can't start new thread"):
            hold(slots, "a", "a", threading.Event())
    assert slots.busy() == {}
    act(slots, Action.INSTALL)


def test_the_duration_by_release_action_and_result(slots: ActionSlots, measures: FakeMetrics) -> None:
    act(slots, Action.INSTALL)
    act(slots, Action.UPGRADE, error="no such image")
    name = metrics.HELM_DURATION.name
    assert measures.observed == [
        (name, {"release": "nova", "action": "Install", "result": "success"}, 2.5),
        (name, {"release": "nova", "action": "Upgrade", "result": "error"}, 2.5),
    ]


def test_what_follows_a_failure_is_a_retry(slots: ActionSlots, measures: FakeMetrics) -> None:
    act(slots, Action.INSTALL, error="no such image")
    assert measures.value(metrics.HELM_RETRIES, release="nova") is None
    act(slots, Action.INSTALL)
    act(slots, Action.UPGRADE)
    assert measures.value(metrics.HELM_RETRIES, release="nova") == 1
