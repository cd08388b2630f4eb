"""The credentials of releases that run already, found where the values of the new region refer to them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.credentials.adoption import (
    AdoptedKey,
    NewRelease,
    Origin,
    plan_adoption,
    renamed_accounts,
)
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.secret_refs import find_references
from tests.fakes.option_files import option_files

DB = ("endpoints", "oslo_db", "auth", "heat", "password")


def ref(name: str, key: str, **more: str) -> dict[str, Any]:
    return {"$secretRef": {"name": name, "key": key, **more}}


def nested(*path: Any, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def release(name: str, service: str, values: dict[str, Any], **defaults: Any) -> NewRelease:
    return NewRelease(name, service, find_references(values), defaults)


def adopted(
    desired: CredentialSecret, releases: list[NewRelease], running: dict[str, Any]
) -> dict[str, AdoptedKey]:
    [found] = plan_adoption([desired], releases, running, option_files())
    return {one.key: one for one in found.keys}


HEAT = CredentialSecret(
    "orchestration-credentials",
    "orchestration",
    {"database-password": "password", "auth-encryption-key": "hex32", "test-password": "password"},
)
NEW_HEAT = release(
    "heat",
    "orchestration",
    nested(*DB, value=ref(HEAT.name, "database-password"))
    | {
        "conf": {"heat": {"DEFAULT": {"auth_encryption_key": ref(HEAT.name, "auth-encryption-key")}}},
    },
)


def test_a_text_is_taken_from_the_place_of_its_reference() -> None:
    old = nested(*DB, value="old-password")
    old |= {"conf": {"heat": {"DEFAULT": {"auth_encryption_key": "0123456789abcdef0123456789abcdef"}}}}
    found = adopted(HEAT, [NEW_HEAT], {"heat": old})
    assert found["database-password"].text == "old-password"
    assert found["database-password"].place == "heat endpoints.oslo_db.auth.heat.password"
    assert found["auth-encryption-key"].text == "0123456789abcdef0123456789abcdef"
    assert (found["test-password"].origin, found["test-password"].text) == (Origin.NEW, "")
    assert "old-password" not in repr(found)


def test_a_dollar_sign_of_an_option_is_one_in_the_secret_and_elsewhere_it_is_as_it_is() -> None:
    old = nested(*DB, value="a$$b") | {"conf": {"heat": {"DEFAULT": {"auth_encryption_key": "a$$b"}}}}
    found = adopted(HEAT, [NEW_HEAT], {"heat": old})
    assert (found["database-password"].text, found["auth-encryption-key"].text) == ("a$$b", "a$b")


@pytest.mark.parametrize(
    ("service", "release_name", "key", "standard"),
    [
        ("orchestration", "heat", "auth-encryption-key", "notgood but just long enough i t"),
        ("key-manager", "barbican", "simple-crypto-key", "dGhpcnR5X3R3b19ieXRlX2tleWJsYWhibGFoYmxhaGg="),
        ("load-balancer", "octavia", "certs-passphrase", "insecure-key-do-not-use-this-key"),
    ],
)
def test_a_key_that_nothing_gave_is_that_of_the_package(
    service: str, release_name: str, key: str, standard: str
) -> None:
    desired = CredentialSecret(f"{service}-credentials", service, {key: "hex32"})
    new = release(release_name, service, {"conf": {"x": ref(desired.name, key)}})
    found = adopted(desired, [new], {release_name: {}})[key]
    assert (found.origin, found.text) == (Origin.PACKAGE, standard)
    # A service that is new here has no data under it.
    assert adopted(desired, [new], {"keystone": {}})[key].origin == Origin.NEW


def test_the_key_of_barbican_is_found_as_the_one_line_that_it_was() -> None:
    desired = CredentialSecret(
        "key-manager-credentials",
        "key-manager",
        {"simple-crypto-key": "base64-32", "simple-crypto-next-key": "base64-32"},
    )
    keks = {"values": [ref(desired.name, "simple-crypto-key"), ref(desired.name, "simple-crypto-next-key")]}
    new = release("barbican", "key-manager", {"conf": {"barbican": {"simple_crypto_plugin": {"kek": keks}}}})
    old = {"conf": {"barbican": {"simple_crypto_plugin": {"kek": "the-old-key="}}}}
    found = adopted(desired, [new], {"barbican": old})
    assert found["simple-crypto-key"].text == "the-old-key="
    assert found["simple-crypto-next-key"].origin == Origin.NEW


ADMIN = CredentialSecret("identity-credentials", "identity", {"admin-password": "password"})
PLACE = ("endpoints", "identity", "auth", "admin", "password")


def test_the_own_release_of_a_service_counts_more_than_others_which_are_named() -> None:
    values = nested(*PLACE, value=ref(ADMIN.name, "admin-password"))
    new = [release("glance", "image", values), release("keystone", "identity", values)]
    old = {"glance": nested(*PLACE, value="stale"), "keystone": nested(*PLACE, value="right")}
    found = adopted(ADMIN, new, old)["admin-password"]
    assert (found.origin, found.text) == (Origin.RELEASE, "right")
    assert found.others == ("glance endpoints.identity.auth.admin.password",)


def test_two_texts_in_releases_of_one_service_are_a_conflict() -> None:
    desired = CredentialSecret("metering-credentials", "metering", {"database-password": "password"})
    values = nested(*DB, value=ref(desired.name, "database-password"))
    new = [release("aodh", "metering", values), release("gnocchi", "metering", values)]
    old = {"aodh": nested(*DB, value="one"), "gnocchi": nested(*DB, value="other")}
    found = adopted(desired, new, old)["database-password"]
    assert (found.origin, found.text) == (Origin.CONFLICT, "")
    assert found.others == ("gnocchi endpoints.oslo_db.auth.heat.password",)


def test_what_releases_of_others_only_share_is_new_where_they_differ() -> None:
    desired = CredentialSecret("cache-credentials", "cache", {"memcache-secret-key": "hex32"})
    place = ("endpoints", "oslo_cache", "auth", "memcache_secret_key")
    values = nested(*place, value=ref(desired.name, "memcache-secret-key"))
    new = [release("glance", "image", values), release("nova", "compute", values)]
    old = {"glance": nested(*place, value="one"), "nova": nested(*place, value="other")}
    assert adopted(desired, new, old)["memcache-secret-key"].origin == Origin.NEW


def test_a_text_that_is_the_charts_own_says_so() -> None:
    values = nested(*PLACE, value=ref(ADMIN.name, "admin-password"))
    new = [release("keystone", "identity", values, **nested(*PLACE, value="password"))]
    assert adopted(ADMIN, new, {"keystone": nested(*PLACE, value="password")})["admin-password"].of_chart


def test_a_public_key_is_left_to_be_derived() -> None:
    kinds = {"ssh-private-key": "ssh-private-key", "ssh-public-key": "ssh-public-key"}
    desired = CredentialSecret("compute-credentials", "compute", kinds)
    values = {"network": {"ssh": {"private_key": ref(desired.name, "ssh-private-key")}}}
    old = {"network": {"ssh": {"private_key": "-----BEGIN"}}}
    found = adopted(desired, [release("nova", "compute", values)], {"nova": old})
    assert found.keys() == {"ssh-private-key"} and found["ssh-private-key"].text == "-----BEGIN"


def test_an_account_of_another_name_is_reported() -> None:
    place = ("endpoints", "oslo_db", "auth", "heat", "username")
    values = nested(*place, value=ref(HEAT.name, "account-suffix", prefix="heat"))
    new = [release("heat", "orchestration", values)]
    told = list(renamed_accounts(new, {"heat": nested(*place, value="heat_user")}))
    assert told == [("heat endpoints.oslo_db.auth.heat.username", "heat_user", "heat")]
    assert list(renamed_accounts(new, {"heat": nested(*place, value="heat")})) == []
