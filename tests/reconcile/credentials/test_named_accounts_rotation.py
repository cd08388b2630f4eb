"""Accounts of Keystone that others name by their id keep their names, and get other passwords."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from controller.domain.credentials.rotation.accounts import Server
from controller.domain.values.chart_values import secret_ref
from tests.reconcile.credentials.administrators_bed import DATABASE, IDENTITY, AdministratorsBed
from tests.reconcile.credentials.killed_passes import KilledPasses
from tests.reconcile.credentials.rotation_bed import ROTATE
from tests.sweeps import swept

pytestmark = pytest.mark.slow

OWN = "load-balancer-credentials"
OCTAVIA = (Server.KEYSTONE, "octavia")


class NamedAccountsBed(AdministratorsBed):
    """With Octavia, whose Job sets its password in Keystone at each upgrade."""

    charts: Mapping[str, str] = {**AdministratorsBed.charts, "load-balancer": "octavia"}
    services = tuple(charts)
    catalogue: Mapping[str, Mapping[str, str]] = {
        **AdministratorsBed.catalogue,
        "load-balancer": {"octavia-password": "password", "database-password": "password"},
    }

    def values(self, service: str) -> dict[str, Any]:
        if service != "load-balancer":
            return super().values(service)
        password = secret_ref(OWN, "octavia-password")
        own = {
            "username": secret_ref(OWN, "account-suffix", "octavia"),
            "password": secret_ref(OWN, "database-password"),
        }
        admin = {"password": secret_ref(IDENTITY, "admin-password")}
        users = {"admin": admin, "octavia": {"username": "octavia", "password": password}}
        root = {"password": secret_ref(DATABASE, "root-password")}
        return {
            "endpoints": {"identity": {"auth": users}, "oslo_db": {"auth": {"admin": root, "octavia": own}}}
        }

    def run_jobs(self, chart: str, values: Mapping[str, Any]) -> None:
        super().run_jobs(chart, values)
        if chart == "octavia":
            self.servers.accounts[OCTAVIA] = values["endpoints"]["identity"]["auth"]["octavia"]["password"]

    @property
    def is_refused(self) -> bool:
        """Octavia's pods, by Keystone."""
        login = next(one for one in self.servers.pods["octavia"] if one[:2] == OCTAVIA)
        return self.servers.accounts[OCTAVIA] != login[2]

    def assert_one_generation(self) -> None:
        super().assert_one_generation()
        texts = self.texts(OWN)
        assert self.servers.accounts[OCTAVIA] == texts["octavia-password"]
        assert "octavia-password-next" not in texts
        assert self.rotation("load-balancer") == {}
        assert not self.is_refused


@pytest.fixture
def bed() -> NamedAccountsBed:
    return NamedAccountsBed()


def test_keystone_knows_the_next_password_of_the_same_account_before_any_release_has_it(
    bed: NamedAccountsBed,
) -> None:
    before = bed.texts(OWN)["octavia-password"]
    bed.ask("load-balancer")
    bed.reconcile()
    assert bed.texts(OWN)["octavia-password"] == bed.servers.accounts[OCTAVIA] != before
    assert bed.names("octavia") == {OCTAVIA, (Server.DATABASE, "octavia")}
    assert bed.servers.never_locked == {"octavia"}


def test_it_is_refused_only_until_its_pods_are_replaced_and_its_other_accounts_never(
    bed: NamedAccountsBed,
) -> None:
    bed.ask("load-balancer")
    refused = 0.0
    for _ in range(6):
        bed.reconcile()
        bed.clock.advance(10)
        refused += 10 * bed.is_refused
        bed.upgrade("load-balancer")
        assert {one[0] for one in bed.failures()} <= {Server.KEYSTONE}
        bed.replace_pods("load-balancer")
    assert refused == 10.0
    bed.settle()
    bed.assert_one_generation()
    assert bed.names("octavia") == {OCTAVIA, (Server.DATABASE, "octavia-2")}


def test_an_upgrade_that_began_before_and_sets_the_former_password_again_is_put_right(
    bed: NamedAccountsBed,
) -> None:
    former = bed.resolved("load-balancer")
    bed.ask("load-balancer")
    bed.reconcile()
    bed.upgrade("load-balancer")
    bed.replace_pods("load-balancer")
    bed.run_jobs("octavia", former)
    assert bed.is_refused
    bed.settle()
    bed.assert_one_generation()


def test_what_else_the_secret_has_is_rotated_where_keystone_takes_no_other_password(
    bed: NamedAccountsBed,
) -> None:
    before = bed.texts(OWN)["octavia-password"]
    bed.servers.refusing = {Server.KEYSTONE}
    bed.ask("load-balancer")
    bed.settle()
    assert bed.texts(OWN)["octavia-password"] == before
    assert bed.texts(OWN)["account-suffix"] == "-2"
    told = [text for _, reason, text in bed.events.seen if reason == "RotationRefused"]
    assert told == [f"Secret {OWN}: octavia-password stays: it refuses a password change"]
    bed.assert_one_generation()


def rotated(nth: int = 0, *, after: bool = False) -> int:
    """Rotates, with a kill before or after the nth step of all: a write, or a change on a server."""
    bed = NamedAccountsBed()
    bed.ask("load-balancer")
    passes = KilledPasses(bed, nth, after=after)
    passes.settle(12)
    assert ROTATE not in bed.notes("load-balancer")
    bed.assert_one_generation()
    return passes.steps


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_each_step_one_generation_is_left(after: bool) -> None:
    steps = rotated()
    assert steps >= 8
    for nth in range(1, steps + 1):
        assert rotated(nth, after=after) >= nth


@pytest.mark.parametrize(
    ("after", "mode"),
    swept(product((False, True), ("Paused", "Plan")), daily=((False, "Paused"), (True, "Plan"))),
)
def test_killed_at_any_step_and_held_the_secret_has_what_keystone_knows(after: bool, mode: str) -> None:
    for nth in range(1, 7):
        bed = NamedAccountsBed()
        bed.ask("load-balancer")
        passes = KilledPasses(bed, nth, after=after)
        passes.run()
        while passes.steps < nth:
            passes.follow()
            passes.run()
        bed.set_mode(mode)
        for _ in range(2):
            bed.reconcile()
        assert bed.servers.accounts[OCTAVIA] == bed.texts(OWN)["octavia-password"]
        bed.set_mode("Apply")
        passes.settle(12)
        bed.assert_one_generation()
