"""Credentials are never made again under what lives, whatever was lost of what tells of them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from controller.domain.api.names import CREDENTIAL_REGISTER
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, OSDPL, PVC, SECRET
from tests.reconcile.credentials.test_secrets import (
    NS,
    REGION,
    Bed,
    finalize,
    install,
    lose_region,
)

DATABASE = "database-credentials"


@pytest.fixture
def bed() -> Bed:
    return Bed()


def put_claim(bed: Bed, release: str = "mariadb") -> None:
    """As a StatefulSet of the release has it."""
    meta = {"name": f"data-{release}-0", "namespace": NS, "labels": {"release_group": release}}
    bed.kube.create({"apiVersion": "v1", "kind": PVC.kind, "metadata": meta, "spec": {}})


def lose(bed: Bed, what: str) -> None:
    if what == "osdpl":
        lose_region(bed)
    elif what == "register":
        bed.kube.delete(CONFIGMAP, CREDENTIAL_REGISTER, NS)
    elif what == "bundles":
        bed.kube.delete(HELMBUNDLE, "database", NS)
    else:
        bed.kube.delete(SECRET, DATABASE, NS)


def lives(bed: Bed, *services: str) -> None:
    """The region is there, and its database has data."""
    if services:
        bed.edit(**{"with": list(services)})
    bed.reconcile()
    bed.clock.advance(60)
    install(bed, "database")
    put_claim(bed)
    bed.reconcile()
    bed.clock.advance(60)


def passes(bed: Bed) -> None:
    for seed in (7, 8, 9):
        bed.restarted(seed)
        bed.reconcile()


@pytest.mark.parametrize(
    "order", list(itertools.permutations(("osdpl", "register", "bundles", "secret"))), ids="-".join
)
def test_nothing_is_made_whatever_is_lost_in_whatever_order(bed: Bed, order: tuple[str, ...]) -> None:
    lives(bed)
    for what in order:
        lose(bed, what)
        if what != "secret":
            bed.reconcile()
            bed.clock.advance(60)
    passes(bed)
    assert bed.secret(DATABASE) is None
    assert bed.condition()["reason"] == "CredentialsLost"


@pytest.mark.parametrize("gone", [("osdpl",), ("osdpl", "register"), ("register", "osdpl", "bundles")])
def test_a_key_of_a_secret_that_has_others_is_not_made_either(bed: Bed, gone: tuple[str, ...]) -> None:
    lives(bed)
    bed.kube.merge_patch(SECRET, "identity-credentials", NS, {"data": {"admin-password": None}})
    for what in gone:
        lose(bed, what)
    passes(bed)
    assert bed.texts("identity-credentials").keys() == {"database-password"}
    assert bed.condition()["reason"] == "CredentialsLost"


def test_where_nothing_shows_what_there_was_the_condition_names_cause_and_ways_out(bed: Bed) -> None:
    lives(bed)
    for what in ("secret", "register", "bundles", "osdpl"):
        lose(bed, what)
    passes(bed)
    told = bed.condition()["message"]
    assert "root-password may have existed: PersistentVolumeClaim data-mariadb-0 is older than" in told
    assert "osctl credentials restore" in told
    assert f"create secret generic {DATABASE} --from-literal=root-password=" in told


def test_what_is_restored_then_is_used(bed: Bed) -> None:
    lives(bed)
    before = bed.texts(DATABASE)
    for what in ("secret", "register", "osdpl"):
        lose(bed, what)
    passes(bed)
    bed.put_secret(DATABASE, before)
    passes(bed)
    assert bed.texts(DATABASE) == before
    assert bed.condition()["status"] == "True"


def test_a_person_may_have_new_ones_made(bed: Bed) -> None:
    lives(bed)
    for what in ("secret", "register", "osdpl"):
        lose(bed, what)
    passes(bed)
    bed.put_secret(DATABASE, {"root-password": ""})
    passes(bed)
    assert bed.text(DATABASE, "root-password")
    assert bed.condition()["status"] == "True"


def test_a_service_that_is_new_in_a_region_that_came_back_gets_its_own(bed: Bed) -> None:
    """The register tells that it never was there."""
    lives(bed, "database")
    lose(bed, "osdpl")
    bed.edit(**{"with": ["database"]})
    bed.reconcile()
    bed.edit(**{"with": ["database", "identity"]})
    passes(bed)
    assert bed.texts("identity-credentials").keys() == {"admin-password", "database-password"}
    assert bed.condition()["status"] == "True"


def test_without_a_register_it_may_have_been_there(bed: Bed) -> None:
    """Also once another one was begun: that one does not know what there was before it."""
    lives(bed, "database")
    lose(bed, "register")
    lose(bed, "osdpl")
    bed.edit(**{"with": ["database"]})
    passes(bed)
    assert bed.condition()["status"] == "True"
    bed.edit(**{"with": ["database", "identity"]})
    passes(bed)
    assert bed.secret("identity-credentials") is None
    assert bed.condition()["reason"] == "CredentialsLost"


def test_a_register_of_a_region_of_which_nothing_is_left_counts_for_nothing(bed: Bed) -> None:
    lives(bed)
    for what in ("secret", "bundles", "osdpl"):
        lose(bed, what)
    bed.kube.delete(PVC, "data-mariadb-0", NS)
    passes(bed)
    assert bed.texts(DATABASE).keys() == {"root-password"}
    assert bed.condition()["status"] == "True"


def test_a_region_that_lives_and_had_no_register_yet_gets_one(bed: Bed) -> None:
    lives(bed)
    lose(bed, "register")
    bed.reconcile()
    found = bed.kube.get(CONFIGMAP, CREDENTIAL_REGISTER, NS) or {}
    assert found["data"] == {
        DATABASE: "root-password",
        "identity-credentials": "admin-password database-password",
    }


def test_the_register_goes_with_the_credentials_and_stays_with_them() -> None:
    for volumes in ("Delete", "Retain"):
        bed = Bed(volumes=volumes)
        bed.reconcile()
        finalize(bed, ["core.osctl.dev/finalizer"])
        bed.kube.delete(OSDPL, REGION, NS)
        bed.reconcile()
        there = bed.kube.get(CONFIGMAP, CREDENTIAL_REGISTER, NS) is not None
        assert there == (bed.secret(DATABASE) is not None) == (volumes == "Retain")


def test_a_config_map_of_others_is_left_as_it_is(bed: Bed) -> None:
    meta: dict[str, Any] = {"name": CREDENTIAL_REGISTER, "namespace": NS}
    theirs = bed.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})
    bed.reconcile()
    assert bed.kube.get(CONFIGMAP, CREDENTIAL_REGISTER, NS) == theirs
    assert (
        f'ConfigMap "{CREDENTIAL_REGISTER}": another program owns a ConfigMap of this name'
        in bed.condition()["message"]
    )
