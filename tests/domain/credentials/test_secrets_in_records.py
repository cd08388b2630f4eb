"""What a record of Helm proves of Secrets that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.credentials.recovery.secrets_in_records import agreed_texts, recorded_texts
from tests.fakes.option_files import option_files


def ref(key: str, name: str = "database-credentials") -> dict[str, Any]:
    return {"$secretRef": {"name": name, "key": key}}


ASKED = {
    "replicas": 3,
    "gone": None,
    "endpoints": {"auth": [{"user": "root", "password": ref("root-password")}]},
    "conf": {"nova": {"database": {"connection": ref("url")}}},
}
GIVEN = {
    "replicas": 3,
    "endpoints": {"auth": [{"user": "root", "password": "pa$$word"}]},
    "conf": {"nova": {"database": {"connection": "mysql://a$$b"}}},
}


def test_a_record_of_the_same_values_has_what_the_references_stood_for() -> None:
    assert recorded_texts(ASKED, GIVEN, option_files()) == {
        ("database-credentials", "root-password"): {"pa$$word"},
        # In a file of oslo.config a dollar sign was written twice.
        ("database-credentials", "url"): {"mysql://a$b"},
    }


@pytest.mark.parametrize(
    "given",
    [
        {**GIVEN, "replicas": 1},
        {**GIVEN, "more": True},
        {key: value for key, value in GIVEN.items() if key != "replicas"},
        {**GIVEN, "endpoints": {"auth": []}},
        {**GIVEN, "endpoints": {"auth": [{"user": "root", "password": ""}]}},
        {**GIVEN, "endpoints": {"auth": [{"user": "root", "password": {"a": "map"}}]}},
        {},
    ],
)
def test_a_record_of_other_values_proves_nothing(given: dict[str, Any]) -> None:
    assert recorded_texts(ASKED, given, option_files()) is None


def test_only_what_every_record_agrees_on_counts() -> None:
    one, other = ("a", "password"), ("a", "cookie")
    first = {one: frozenset({"x"}), other: frozenset({"y"})}
    second = {one: frozenset({"x"}), other: frozenset({"z"})}
    assert agreed_texts([first, second]) == {one: "x"}


def test_a_release_that_differs_from_itself_proves_nothing() -> None:
    asked = {"a": ref("root-password"), "b": ref("root-password")}
    found = recorded_texts(asked, {"a": "x", "b": "y"}, option_files())
    assert found is not None
    assert agreed_texts([found]) == {}
