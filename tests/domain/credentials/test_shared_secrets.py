"""A Secret goes from one namespace to another where both sides say so, and name each other."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.credentials.shared_secrets import (
    Place,
    Step,
    copied_from,
    decide_copy,
    emptied,
    filled,
    offered_to,
    parse_place,
)

SOURCE, TARGET = Place("directory", "ldap-bind"), Place("openstack", "ldap")
TEXT, OTHER = {"password": "b25l"}, {"password": "dHdv"}


def offer(
    to: str = str(TARGET), word: str = "offer", data: dict[str, str] = TEXT, **more: Any
) -> dict[str, Any]:
    notes = {"osctl.dev/offered-to": to}
    meta = {"name": SOURCE.name, "labels": {"osctl.dev/shared": word}, "annotations": notes}
    return {"metadata": meta, "data": data, **more}


def request(
    source: str = str(SOURCE),
    word: str = "request",
    data: dict[str, str] | None = None,
    copied: str = "",
    **more: Any,
) -> dict[str, Any]:
    notes = {"osctl.dev/requested-from": source, **({"osctl.dev/copied-from": copied} if copied else {})}
    meta = {"name": TARGET.name, "labels": {"osctl.dev/shared": word}, "annotations": notes, **more}
    return {"metadata": meta, **({"data": data} if data else {})}


COPY = request(data=TEXT, copied=str(SOURCE))


def test_an_empty_secret_that_asks_is_filled() -> None:
    asked, given = request(), offer()
    assert decide_copy(SOURCE, given, TARGET, asked).step == Step.FILL
    copy = filled(asked, given, SOURCE)
    assert (copy["data"], copied_from(copy)) == (TEXT, SOURCE)
    assert decide_copy(SOURCE, given, TARGET, copy).step == Step.NOTHING
    assert emptied(copy) == {**asked, "data": {}}


def test_a_stale_copy_is_filled_again() -> None:
    assert decide_copy(SOURCE, offer(data=OTHER), TARGET, COPY).step == Step.FILL


@pytest.mark.parametrize(
    ("given", "asked", "why"),
    [
        (offer(), None, "does not exist, which would have directory/ldap-bind"),
        (offer(), request(word=""), "does not ask for"),
        (offer(), request(source="directory/another"), "does not ask for"),
        (offer(), request(word="offer"), "does not ask for"),
        (offer(), request(data=OTHER), "other content, which is not overwritten"),
        (offer(), request(ownerReferences=[{}]), "another program writes it"),
        (offer(), request(deletionTimestamp="now"), "being deleted"),
        (None, request(), "does not exist"),
        (offer(to="openstack/another"), request(), "is not offered to openstack/ldap"),
        (offer(to="openstack"), request(), "is not offered to"),
        (offer(word="request"), request(), "is not offered to"),
        (offer(type="helm.sh/release.v1"), request(), "never shared"),
        (offer(type="kubernetes.io/service-account-token"), request(), "never shared"),
    ],
)
def test_without_the_word_of_both_nothing_is_written_and_the_way_is_reported(
    given: dict[str, Any] | None, asked: dict[str, Any] | None, why: str
) -> None:
    decision = decide_copy(SOURCE, given, TARGET, asked)
    assert decision.step == Step.NOTHING
    assert why in decision.message


@pytest.mark.parametrize("given", [None, offer(to="openstack/another"), offer(word="")])
def test_what_is_not_offered_any_more_is_taken_back(given: dict[str, Any] | None) -> None:
    decision = decide_copy(SOURCE, given, TARGET, COPY)
    assert decision.step == Step.EMPTY and decision.message


def test_a_copy_that_asks_for_another_secret_is_filled_with_that() -> None:
    asked = request(data=OTHER, copied="directory/before")
    assert decide_copy(SOURCE, offer(), TARGET, asked).step == Step.FILL


def test_one_secret_can_be_offered_to_several_and_a_malformed_offer_to_none() -> None:
    assert offered_to(offer(to="b/two, a/one,a/one,,c,d/e/f,*/x")) == (Place("a", "one"), Place("b", "two"))
    assert parse_place("a/b") == Place("a", "b")
    assert not any(map(parse_place, ("a", "/b", "A/b", "a/../b", "")))
