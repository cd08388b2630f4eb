"""When watches count as alive, and what the log is spared."""

from __future__ import annotations

import inspect
import logging

from kopf._core.reactor import running

from controller.adapters.kubernetes import watches
from controller.adapters.kubernetes.watches import LOOP_STILL_AFTER, NEEDLESS, SILENT_AFTER, SignsOfLife
from controller.ports.kubernetes import DEPLOYMENT, POD
from tests.fakes.world import FakeClock


def signs() -> tuple[SignsOfLife, FakeClock]:
    clock = FakeClock()
    return SignsOfLife((POD, DEPLOYMENT), clock), clock


def test_watches_that_are_heard_of_are_alive() -> None:
    life, clock = signs()
    for _ in range(10):
        clock.advance(SILENT_AFTER)
        life.heard("pods")
        life.heard("deployments")
        assert life.watches_are_dead() == ""


def test_one_silent_watch_is_named() -> None:
    life, clock = signs()
    clock.advance(SILENT_AFTER + 1)
    life.heard("pods")
    assert life.watches_are_dead() == (
        f"no sign of life from the watches of deployments for {SILENT_AFTER + 1:.0f} s"
    )


def test_watches_have_begun_once_each_was_answered() -> None:
    life, _ = signs()
    assert life.have_not_begun() == "no answer yet about deployments, pods"
    life.heard("pods")
    assert life.have_not_begun() == "no answer yet about deployments"
    life.heard("deployments")
    assert life.have_not_begun() == ""


def test_what_is_not_watched_is_no_sign() -> None:
    life, _ = signs()
    life.heard("apis")
    assert life.resources == ("pods", "deployments")


def test_a_loop_that_does_not_turn_is_reported() -> None:
    life, clock = signs()
    clock.advance(LOOP_STILL_AFTER + 1)
    assert life.loop_is_stuck() == "the event loop stands still for 61 s"
    life.turned()
    assert life.loop_is_stuck() == ""


def test_a_watch_is_given_up_later_than_a_request_takes_to_be_found_dead() -> None:
    assert SILENT_AFTER > watches.REQUEST_SECONDS + watches.INACTIVE_SECONDS


def test_kopf_still_says_what_is_kept_out_of_the_log() -> None:
    name, beginning = NEEDLESS
    assert running.logger.name == name
    assert beginning in inspect.getsource(running)


def test_only_that_message_is_kept_out() -> None:
    name, beginning = NEEDLESS
    logger = logging.getLogger(name)
    watches._silence(name, beginning)
    try:
        record = logging.LogRecord(name, logging.WARNING, "", 0, f"{beginning}: because", None, None)
        other = logging.LogRecord(name, logging.WARNING, "", 0, "something else", None, None)
        assert not logger.filter(record)
        assert logger.filter(other)
    finally:
        logger.filters.clear()
