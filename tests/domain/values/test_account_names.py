"""Names of accounts in values: which have got another one, and which password."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.domain.values.account_names import renames_accounts, replaced_accounts, replaced_passwords
from controller.domain.values.chart_values import coalesced


def values(name: str | None, **more: Any) -> dict[str, Any]:
    return {"endpoints": {"oslo_db": {"auth": {"nova": {"username": name, **more}}}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (values("nova"), values("nova")),
        (values("nova", password="one"), values("nova", password="two")),
        (values(None), values("nova")),
        ({}, values("nova")),
    ],
)
def test_no_account_has_another_name(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert not renames_accounts(before, after)


def test_values_that_are_no_maps_rename_nothing() -> None:
    odd = {"endpoints": {"oslo_db": {"auth": "x"}, "identity": [], "cache": {"auth": {"a": "b"}}}}
    assert not renames_accounts(odd, odd)


def test_accounts_that_were_replaced_are_reported_with_their_endpoints() -> None:
    before = coalesced(values("nova"), {"conf": {}})
    assert replaced_accounts(before, values("nova-2")) == ("nova (oslo_db)",)
    assert replaced_accounts(before, coalesced(values("nova"), values("nova"))) == ()


@pytest.mark.parametrize(
    ("values", "path", "told"),
    [
        ({"endpoints": {"oslo_db": {"auth": {"admin": {}, "sst": {}}}}}, "oslo_db.auth.admin", "oslo_db"),
        (
            {"endpoints": {"oslo_messaging": {"auth": {"user": {}, "erlang_cookie": "c"}}}},
            "oslo_messaging.auth.user",
            "oslo_messaging",
        ),
        ({"conf": {"octavia": {"service_auth": {}}}}, "", "identity"),
    ],
)
def test_pods_do_not_go_back_to_a_password_that_their_administrator_had(
    values: dict[str, Any], path: str, told: str
) -> None:
    def with_password(text: str) -> dict[str, Any]:
        whole = copy.deepcopy(values)
        part = whole["endpoints"] if path else whole["conf"]["octavia"]["service_auth"]
        for key in path.split(".") if path else ():
            part = part[key]
        part["password"] = text
        return whole

    assert replaced_passwords(with_password("one"), with_password("two")) == (f"the administrator ({told})",)
    assert replaced_passwords(with_password("one"), with_password("one")) == ()
    assert replaced_passwords(values, with_password("two")) == ()


def test_pods_do_not_go_back_to_a_password_that_their_account_had_under_the_same_name() -> None:
    def octavia(name: str, password: str) -> dict[str, Any]:
        return {"endpoints": {"identity": {"auth": {"octavia": {"username": name, "password": password}}}}}

    assert replaced_passwords(octavia("octavia", "one"), octavia("octavia", "two")) == ("octavia (identity)",)
    assert replaced_passwords(octavia("octavia", "one"), octavia("octavia", "one")) == ()
    assert replaced_passwords(octavia("octavia", "one"), octavia("mine", "two")) == ()


def test_only_jobs_log_in_as_the_administrator_of_a_service_of_others() -> None:
    one = {"endpoints": {"oslo_db": {"auth": {"admin": {"password": "one"}}}}}
    two = {"endpoints": {"oslo_db": {"auth": {"admin": {"password": "two"}}}}}
    assert replaced_passwords(one, two) == ()
