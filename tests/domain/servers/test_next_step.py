"""What is taken up, made and waited for: never two of a thing, and nothing of others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.servers.cloud_resources import CloudResource, Kind, mark_of
from controller.domain.servers.next_step import (
    SETTLES_WITHIN,
    decide_missing,
    outstanding_until,
    pause_until,
    to_delete,
)
from controller.domain.servers.plan import PlannedThing
from controller.domain.servers.server_status import Recorded, ServerRecord

MARK = mark_of("6f1c2a40")
NOW = 1_780_000_000.0


def _port(id_: str, name: str = "a", mark: str = MARK, created: str = "") -> CloudResource:
    return CloudResource(Kind.PORT, id_, name=name, marks=frozenset({mark}), created=created)


def _record(*things: Recorded) -> ServerRecord:
    return ServerRecord(things={one.key: one for one in things})


A = PlannedThing(Kind.PORT, "a")


def test_what_is_there_is_taken_up_and_not_made() -> None:
    decision = decide_missing([A], _record(), [_port("1")], MARK, NOW)
    assert (decision.adopted, decision.make) == ((Recorded(Kind.PORT, "a", "1"),), ())


def test_what_bears_another_mark_is_not_taken_up_and_not_surplus() -> None:
    decision = decide_missing([A], _record(), [_port("1", mark=mark_of("other"))], MARK, NOW)
    assert (decision.adopted, decision.make, decision.surplus) == ((), (A,), ())


def test_of_two_the_older_is_taken_up_and_the_other_one_is_surplus() -> None:
    listed = [_port("1", created="2026-11-22T07:00:01Z"), _port("2", created="2026-11-22T07:00:00Z")]
    decision = decide_missing([A], _record(), listed, MARK, NOW)
    assert [one.id for one in decision.adopted] == ["2"]
    assert [one.id for one in decision.surplus] == ["1"]


def test_a_request_whose_answer_is_out_is_waited_for_and_then_sent_again() -> None:
    asked = _record(Recorded(Kind.PORT, "a", requested=NOW))
    early = decide_missing([A], asked, [], MARK, NOW + SETTLES_WITHIN - 1)
    assert (early.make, early.until) == ((), NOW + SETTLES_WITHIN)
    assert decide_missing([A], asked, [], MARK, NOW + SETTLES_WITHIN).make == (A,)


def test_what_comes_while_its_answer_is_waited_for_is_taken_up() -> None:
    asked = _record(Recorded(Kind.PORT, "a", requested=NOW))
    assert decide_missing([A], asked, [_port("1")], MARK, NOW + 5).adopted == (Recorded(Kind.PORT, "a", "1"),)


def test_what_is_on_its_way_out_is_not_taken_up() -> None:
    going = CloudResource(Kind.SERVER, "1", name="a", task="deleting", marks=frozenset({MARK}))
    assert decide_missing([PlannedThing(Kind.SERVER, "a")], _record(), [going], MARK, NOW).adopted == ()


def test_a_removal_waits_for_answers_that_are_out() -> None:
    record = _record(Recorded(Kind.PORT, "a", requested=NOW), Recorded(Kind.VOLUME, "b", id="1"))
    assert outstanding_until(record, [Kind.PORT], NOW + 1) == NOW + SETTLES_WITHIN
    assert outstanding_until(record, [Kind.VOLUME], NOW + 1) == 0.0
    assert pause_until(NOW + 2.5, NOW) == 3.0


def test_only_what_bears_the_mark_is_deleted_and_each_once() -> None:
    foreign, going = _port("1", mark="x"), CloudResource(Kind.VOLUME, "2", status="deleting")
    assert to_delete([foreign, going, _port("3")], MARK) == (_port("3"),)


NAMES = st.sampled_from(["a", "b", "c"])
THINGS = st.builds(
    _port,
    id_=st.sampled_from(list("123456")),
    name=NAMES,
    mark=st.sampled_from([MARK, mark_of("other")]),
    created=st.sampled_from(["", "1", "2"]),
)
RECORDED = st.builds(
    Recorded,
    kind=st.just(Kind.PORT),
    name=NAMES,
    id=st.sampled_from(["", "1", "2"]),
    requested=st.sampled_from([0.0, NOW - 90, NOW - 10]),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(NAMES, unique=True),
    recorded=st.lists(RECORDED, max_size=3, unique_by=lambda one: (one.name, one.id or one.name)),
    listed=st.lists(THINGS, max_size=6, unique_by=lambda one: one.id),
)
def test_each_missing_thing_is_taken_up_made_or_waited_for_and_no_two_are_one(
    names: list[str], recorded: list[Recorded], listed: list[CloudResource]
) -> None:
    planned = [PlannedThing(Kind.PORT, name) for name in names]
    record = _record(*recorded)
    decision = decide_missing(planned, record, listed, MARK, NOW)
    adopted, make = {one.name for one in decision.adopted}, {one.name for one in decision.make}
    missing = {name for name in names if not record.id_of(Kind.PORT, name)}
    assert not adopted & make and adopted | make <= missing
    assert missing == adopted | make or decision.until > NOW
    ids = [one.id for one in decision.adopted]
    known = {one.id for one in record.things.values()}
    assert len(set(ids)) == len(ids) and not set(ids) & known
    own = {one.id for one in listed if one.is_of(MARK)}
    assert {*ids, *(one.id for one in decision.surplus)} <= own


def test_a_request_that_a_clock_far_ahead_has_noted_is_not_waited_for() -> None:
    asked = _record(Recorded(Kind.PORT, "a", requested=NOW + 800 * 86400))
    assert decide_missing([A], asked, [], MARK, NOW).make == (A,)


def test_one_of_a_clock_that_was_hours_ahead_is_for_ours_may_be_behind() -> None:
    asked = _record(Recorded(Kind.PORT, "a", requested=NOW + 3600))
    assert decide_missing([A], asked, [], MARK, NOW).make == ()
