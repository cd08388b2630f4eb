"""Which Secrets are made, completed, kept and removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.api.region_spec import VolumePolicy
from controller.domain.credentials.credential_plan import (
    CredentialPlan,
    SecretChange,
    StoredSecret,
    lost_problem,
    plan_credentials,
    plan_disowning,
    plan_retention,
)
from controller.domain.values.catalogue import CredentialSecret

NAME = "identity-credentials"
KINDS = {"admin-password": "password", "database-password": "password"}
WANTED = CredentialSecret(NAME, "identity", KINDS)
COMPLETE = StoredSecret(NAME, "identity", filled=frozenset(KINDS), uid="1")
UNUSED = replace(COMPLETE, unused=True)


def plan(
    stored: StoredSecret | None = None,
    *,
    wanted: Collection[CredentialSecret] = (WANTED,),
    recorded: Mapping[str, Collection[str]] | None = None,
) -> CredentialPlan:
    there = {stored.name: stored} if stored else {}
    return plan_credentials(wanted, there, recorded=recorded or {})


def test_a_missing_secret_is_made_with_all_its_keys() -> None:
    (change,) = plan().changes
    assert (change.name, change.stored, change.add, change.disown) == (NAME, None, KINDS, False)


def test_a_complete_secret_needs_nothing() -> None:
    assert plan(COMPLETE) == CredentialPlan()


def test_only_keys_without_a_value_are_added() -> None:
    stored = replace(COMPLETE, filled=frozenset({"admin-password"}), empty=frozenset({"database-password"}))
    (change,) = plan(stored).changes
    assert change.add == {"database-password": "password"}
    assert change.stored == stored


KEYS = st.sampled_from(sorted(KINDS))


@pytest.mark.slow
@given(
    filled=st.frozensets(KEYS),
    empty=st.frozensets(KEYS),
    recorded=st.frozensets(KEYS),
    flags=st.fixed_dictionaries(
        {name: st.booleans() for name in ("ours", "foreign", "owned", "immutable", "deleting")}
    ),
)
def test_a_value_is_never_replaced(
    filled: frozenset[str],
    empty: frozenset[str],
    recorded: frozenset[str],
    flags: dict[str, Any],
) -> None:
    stored = StoredSecret(NAME, "identity", filled, empty - filled, **flags)
    found = plan(stored, recorded={NAME: recorded})
    for change in found.changes:
        assert not change.add.keys() & filled
        assert not change.add.keys() & (recorded - filled - empty)
    assert not found.remove


def test_a_key_that_was_there_once_is_not_made_again() -> None:
    stored = replace(COMPLETE, filled=frozenset({"admin-password"}))
    found = plan(stored, recorded={NAME: tuple(KINDS)})
    assert not found.changes
    assert found.lost == (SecretChange(NAME, "identity", stored, {"database-password": "password"}),)


def test_a_secret_that_was_there_once_is_not_made_again() -> None:
    found = plan(None, recorded={NAME: tuple(KINDS)})
    assert not found.changes
    assert found.lost == (SecretChange(NAME, "identity", None, KINDS),)


@pytest.mark.parametrize(
    ("stored", "command"),
    [
        (None, "kubectl -n cloud create secret generic identity-credentials --from-literal=admin-password="),
        (
            COMPLETE,
            "kubectl -n cloud patch secret identity-credentials "
            """-p '{"stringData":{"admin-password":""}}'""",
        ),
    ],
)
def test_what_is_lost_is_reported_with_the_commands_that_bring_it_back(
    stored: StoredSecret | None, command: str
) -> None:
    lost = SecretChange(NAME, "identity", stored, {"admin-password": "password"})
    message = lost_problem(lost, "cloud", "it is nowhere else").message
    assert "admin-password existed and is gone, and it is nowhere else" in message
    assert "osctl credentials restore FILE -n cloud --secret identity-credentials" in message
    assert message.endswith(command)


def test_the_ending_of_the_names_that_passwords_are_for_is_lost_like_them() -> None:
    found = plan(COMPLETE, recorded={NAME: (*KINDS, "account-suffix")})
    assert not found.changes
    assert [change.add.keys() for change in found.lost] == [{"account-suffix"}]
    emptied = replace(COMPLETE, empty=frozenset({"account-suffix"}))
    assert plan(emptied, recorded={NAME: (*KINDS, "account-suffix")}) == CredentialPlan()


def test_an_emptied_key_asks_for_a_new_credential() -> None:
    stored = replace(COMPLETE, filled=frozenset({"admin-password"}), empty=frozenset({"database-password"}))
    (change,) = plan(stored, recorded={NAME: tuple(KINDS)}).changes
    assert change.add == {"database-password": "password"}


def test_an_operators_secret_of_the_same_name_is_taken_up() -> None:
    stored = replace(COMPLETE, ours=False, filled=frozenset({"admin-password"}))
    (change,) = plan(stored).changes
    assert change.adopt
    assert change.add == {"database-password": "password"}


def test_a_secret_of_something_else_is_left_alone() -> None:
    found = plan(replace(COMPLETE, ours=False, foreign=True, filled=frozenset()))
    assert not found.changes
    assert "owns a Secret of this name" in found.problems[0].message


def test_an_immutable_secret_that_lacks_a_key_is_reported() -> None:
    found = plan(replace(COMPLETE, immutable=True, filled=frozenset({"admin-password"})))
    assert not found.changes
    assert "immutable and lacks database-password" in found.problems[0].message


def test_a_secret_on_its_way_out_is_reported() -> None:
    found = plan(replace(COMPLETE, deleting=True))
    assert not found.changes
    assert not found.remove
    assert "being deleted" in found.problems[0].message


def test_credentials_have_no_owner() -> None:
    """An osdpl that is restored has another uid: Kubernetes would delete what the former one owned."""
    stored = replace(COMPLETE, owned=True)
    assert [change.disown for change in plan(stored).changes] == [True]
    assert [change.disown for change in plan(stored, wanted=()).changes] == [True]
    assert not plan().changes[0].disown


@pytest.mark.parametrize("volumes", ["Retain", "Delete"])
def test_credentials_of_a_region_under_deletion_have_no_owner(volumes: VolumePolicy) -> None:
    [change] = plan_retention([replace(COMPLETE, owned=True)], volumes, {"identity"}).changes
    assert (change.disown, change.unused) == (True, False)


def test_credentials_lose_their_owner_although_all_else_stays() -> None:
    stored = replace(COMPLETE, owned=True, empty=frozenset({"k"}))
    [change] = plan_disowning([stored, COMPLETE])
    assert (change.name, change.disown, change.adopt, change.add) == (COMPLETE.name, True, False, {})
    assert plan_disowning([replace(stored, foreign=True), replace(stored, deleting=True)]) == ()


def test_a_region_that_goes_takes_credentials_along_only_where_volumes_do_and_all_bundles_are_gone() -> None:
    assert [change.unused for change in plan_retention([COMPLETE], "Delete", ()).changes] == [True]
    assert plan_retention([UNUSED], "Delete", ()) == CredentialPlan(remove=(UNUSED,))
    assert plan_retention([COMPLETE], "Delete", {COMPLETE.service}) == CredentialPlan()
    assert plan_retention([COMPLETE], "Delete", {"database"}) == CredentialPlan(), "its schema is there"
    assert plan_retention([COMPLETE], "Retain", ()) == CredentialPlan()


def test_credentials_of_a_removed_service_are_kept() -> None:
    assert plan(COMPLETE, wanted=()) == CredentialPlan()


def test_what_is_to_be_removed_is_marked_first() -> None:
    found = plan_retention([COMPLETE], "Delete", ())
    assert found.remove == () and [change.unused for change in found.changes] == [True]


@pytest.mark.parametrize("wanted", [(WANTED,), ()])
def test_in_a_region_that_is_there_nothing_has_the_mark(wanted: Collection[CredentialSecret]) -> None:
    found = plan(UNUSED, wanted=wanted)
    assert found.remove == () and [(change.unused, change.add) for change in found.changes] == [(False, {})]


@pytest.mark.parametrize("changes", [{"ours": False}, {"service": ""}, {"deleting": True}])
def test_what_is_not_surely_ours_is_never_removed(changes: dict[str, Any]) -> None:
    stored = replace(UNUSED, owned=True, **changes)
    assert plan_retention([stored], "Delete", ()).remove == ()


PAIR = CredentialSecret(
    "compute-credentials",
    "compute",
    {"ssh-private-key": "ssh-private-key", "ssh-public-key": "ssh-public-key"},
)


def test_a_public_key_is_derived_whenever_it_is_missing() -> None:
    stored = StoredSecret(PAIR.name, "compute", filled=frozenset({"ssh-private-key"}))
    recorded = {PAIR.name: tuple(PAIR.credentials)}
    (change,) = plan(stored, wanted=[PAIR], recorded=recorded).changes
    assert change.add == {"ssh-public-key": "ssh-public-key"}


def test_a_public_key_is_not_made_for_a_lost_private_one() -> None:
    found = plan(None, wanted=[PAIR], recorded={PAIR.name: ("ssh-private-key",)})
    assert not found.changes
    assert [change.add for change in found.lost] == [{"ssh-private-key": "ssh-private-key"}]


def test_half_a_pair_of_the_operators_is_reported() -> None:
    half = CredentialSecret(PAIR.name, "compute", {"ssh-public-key": "ssh-public-key"})
    assert "name both keys or none" in plan(None, wanted=[half]).problems[0].message
