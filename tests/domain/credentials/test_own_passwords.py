"""A database password from another Secret, for an account that is there: reported before it is applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.credentials.own_passwords import own_password_warnings
from controller.domain.credentials.rotation.accounts import Release
from controller.errors import Problem

GENERATED = "compute-credentials"


def ref(name: str, key: str, **more: str) -> dict[str, Any]:
    return {"$secretRef": {"name": name, "key": key, **more}}


def nova(secret: str, *, named_by: str = "", endpoint: str = "oslo_db", upstream: bool = True) -> Release:
    """Nova with the password of this Secret; `named_by` is what says how the account's name ends."""
    account = {
        "username": ref(named_by or secret, "account-suffix", prefix="nova"),
        "password": ref(secret, "database-password"),
    }
    auth = {"nova": account, "admin": {"password": ref("database-credentials", "root-password")}}
    return Release("nova", "nova", {"endpoints": {endpoint: {"auth": auth}}}, upstream)


def warned(before: Release, after: Release, suffixes: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    return own_password_warnings([before], [after], [GENERATED], (suffixes or {}).get)


def test_a_password_of_ones_own_under_the_same_name_is_reported_with_what_is_to_be_done() -> None:
    (problem,) = warned(nova(GENERATED), nova("mine"), {GENERATED: "", "mine": ""})
    assert problem.path == "spec.features.credentials"
    assert "release nova: the database password now comes from Secret mine" in problem.message
    assert "account nova exists and keeps the former password" in problem.message
    assert "put account-suffix into the same Secret mine" in problem.remedy
    assert "docs/credentials.md" in problem.remedy


@pytest.mark.parametrize("suffixes", [{}, {"mine": ""}, {GENERATED: ""}])
def test_where_names_are_not_known_it_is_reported_as_what_may_be(suffixes: Mapping[str, str]) -> None:
    (problem,) = warned(nova(GENERATED), nova("mine"), suffixes)
    assert "an existing account nova keeps the former password" in problem.message


@pytest.mark.parametrize("before", [{GENERATED: ""}, {GENERATED: "-2"}, {}])
def test_another_ending_is_enough(before: Mapping[str, str]) -> None:
    assert warned(nova(GENERATED), nova("mine"), {**before, "mine": "-own"}) == ()


def test_the_ending_that_the_account_has_now_is_none() -> None:
    (problem,) = warned(nova(GENERATED), nova("mine"), {GENERATED: "-2", "mine": "-2"})
    assert "account nova-2 exists" in problem.message


def test_after_a_rotation_the_first_name_is_free() -> None:
    assert warned(nova(GENERATED), nova("mine"), {GENERATED: "-2", "mine": ""}) == ()


def test_a_reference_in_values_leaves_the_name_as_it_is() -> None:
    after = nova("mine", named_by=GENERATED)
    (problem,) = warned(nova(GENERATED), after, {GENERATED: "", "mine": "-own"})
    assert problem.path == "spec.services"
    assert "name the Secret in spec.features.credentials as database-password" in problem.remedy


def test_nothing_is_reported_what_stays_comes_or_goes_back() -> None:
    assert warned(nova("mine"), nova("mine")) == ()
    assert warned(nova("mine"), nova(GENERATED)) == ()
    assert own_password_warnings([], [nova("mine")], [], {}.get) == ()


def test_one_account_of_several_databases_is_reported_once() -> None:
    def both(secret: str) -> Release:
        parts = [nova(secret, endpoint=name).values["endpoints"] for name in ("oslo_db", "oslo_db_cell0")]
        return Release("nova", "nova", {"endpoints": {**parts[0], **parts[1]}}, upstream=True)

    assert len(warned(both(GENERATED), both("mine"))) == 1


def test_the_charts_shipped_with_the_controller_set_the_password_of_an_account() -> None:
    assert warned(nova(GENERATED, upstream=False), nova("mine", upstream=False)) == ()


def test_a_broker_and_keystone_take_another_password_under_the_same_name() -> None:
    for endpoint in ("oslo_messaging", "identity"):
        assert warned(nova(GENERATED, endpoint=endpoint), nova("mine", endpoint=endpoint)) == ()
