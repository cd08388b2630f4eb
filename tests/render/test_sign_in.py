"""Users of a directory can sign in at the dashboard."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem
from tests.render.region import core_spec, render
from tests.render.specs import LDAP

ASKS = ("conf", "horizon", "local_settings", "config", "keystone_multidomain_support")


def dashboard(*domains: str, **fields: Any) -> tuple[Any, list[Problem]]:
    """Whether the sign-in page asks for a domain, and what is warned of it."""
    ldap = {"domains": [{**LDAP, "name": name} for name in domains]}
    region = render(core_spec(preset="compute", features={"identity": {"ldap": ldap}, "dashboard": fields}))
    horizon = region.release("horizon")
    assert horizon is not None
    found: Any = horizon.merged.values
    for key in ASKS:
        found = found[key]
    return found, [one for one in region.warnings if "dashboard" in one.path]


def test_the_sign_in_page_asks_for_a_domain_where_there_are_directories() -> None:
    assert dashboard("corp", "partners") == ("True", [])
    assert dashboard() == ("False", [])


def test_one_directory_that_is_the_default_domain_is_not_asked_for() -> None:
    assert dashboard("Corp", defaultDomain="corp") == ("False", [])


@pytest.mark.parametrize("more", [{}, {"defaultDomain": "corp"}])
def test_a_directory_whose_users_cannot_sign_in_is_reported(more: dict[str, str]) -> None:
    asks, [warning] = dashboard("corp", "partners", multiDomain=False, **more)
    assert asks == "False"
    assert warning.path == "spec.features.dashboard.multiDomain"
    assert (
        "users of corp, partners cannot" in warning.message
        if not more
        else "users of partners" in warning.message
    )
