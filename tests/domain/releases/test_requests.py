"""What annotations ask of a release, and how a revision remembers that it was asked."""

from __future__ import annotations

import pytest

from controller.domain.api.names import (
    FORCE_ANNOTATION,
    FORCE_RELEASE_PREFIX,
    RECONCILE_ANNOTATION,
    REGION_RECONCILE_ANNOTATION,
    ROLLBACK_RELEASE_PREFIX,
)
from controller.domain.releases.requests import Requests, is_answered, label_of, marks_in, requests_of

ONE = f"{FORCE_RELEASE_PREFIX}/nova"


def test_requests_of_region_bundle_and_release_add_up() -> None:
    asked = {RECONCILE_ANNOTATION: "a", REGION_RECONCILE_ANNOTATION: "b", FORCE_ANNOTATION: "c", ONE: "d"}
    assert requests_of(asked, "nova") == Requests(reconcile="a; b", force="c; d")
    assert requests_of(asked, "neutron") == Requests(reconcile="a; b", force="c")
    assert requests_of({}, "nova") == Requests()


def test_a_request_that_is_taken_back_makes_no_new_one_of_those_that_stay() -> None:
    both = requests_of({FORCE_ANNOTATION: "c", ONE: "d"}, "nova")
    marks = marks_in([label_of(both.force)])
    for left in ({FORCE_ANNOTATION: "c"}, {ONE: "d"}, {}):
        asked = requests_of(left, "nova")
        assert is_answered(asked.force, marks)
        assert not asked.asks_more_than(both)
    assert not is_answered(requests_of({FORCE_ANNOTATION: "e"}, "nova").force, marks)
    assert requests_of({FORCE_ANNOTATION: "e"}, "nova").asks_more_than(both)


def test_a_label_holds_what_kubernetes_lets_it_and_is_never_empty() -> None:
    hostile = "x; y" * 1000 + "\n ünï" + "; " * 50
    asked = requests_of({name: f"{hostile}{name}" for name in (RECONCILE_ANNOTATION, ONE)}, "nova")
    assert len(label_of("; ".join((asked.reconcile, asked.force, "c")))) <= 63
    assert label_of("") == "none"
    assert is_answered("", frozenset())
    assert not is_answered("none", marks_in(["none"]))


@pytest.mark.parametrize(
    ("text", "revision"),
    [("3", 3), ("3 now", 3), (" 12\tlater", 12), ("", 0), ("x", 0), ("-1", 0), ("³", 0), ("9" * 30, 0)],
)
def test_a_rollback_begins_with_the_number_of_a_revision(text: str, revision: int) -> None:
    asked = requests_of({f"{ROLLBACK_RELEASE_PREFIX}/nova": text}, "nova")
    assert asked.rollback_revision == revision
