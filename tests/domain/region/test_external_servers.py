"""Servers that belong to someone else: what only their owner can do is not asked of us."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.external_servers import parted_databases, unread_databases
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from tests.domain.region.test_deployment_rules import problems

DATABASE = {"external": {"address": "192.0.2.10"}}
BROKER = {"external": {"addresses": ["192.0.2.11"]}}
CREDENTIALS = {
    "database": {"root-password": {"name": "servers", "key": "database"}},
    "messaging": {"admin-password": {"name": "servers", "key": "broker"}},
}


def found(**features: Any) -> set[str]:
    return set(problems(features=features))


def test_the_passwords_of_their_administrators_are_the_operators_to_name() -> None:
    assert found(database=DATABASE, messaging=BROKER) == {
        "spec.features.credentials.database.root-password",
        "spec.features.credentials.messaging.admin-password",
    }
    assert found(database=DATABASE, messaging=BROKER, credentials=CREDENTIALS) == set()


def test_no_dumps_are_made_of_it_and_no_brokers_run_beside_it() -> None:
    dumped = {**DATABASE, "backup": {"enabled": True}}
    assert found(database=dumped, credentials=CREDENTIALS) == {"spec.features.database.backup.enabled"}
    more = {**BROKER, "dedicatedBrokers": ["compute"]}
    assert found(messaging=more, credentials=CREDENTIALS) == {"spec.features.messaging.dedicatedBrokers"}


def test_traffic_to_it_is_encrypted_where_that_is_asked_for_by_name() -> None:
    internal = {"enabled": True, "issuer": "ca", "caSecret": "bundle"}
    servers = {"database": DATABASE, "messaging": BROKER, "credentials": CREDENTIALS}
    assert found(**servers, tls={"internal": internal}) == set()  # by default what we make can be
    asked = {**internal, "traffic": ["database", "messaging"]}
    assert found(**servers, tls={"internal": asked}) == set()


def test_the_regions_own_authority_signs_nothing_for_a_server_of_others() -> None:
    servers = {"database": DATABASE, "credentials": CREDENTIALS}
    asked = {"enabled": True, "traffic": ["database"]}
    assert found(**servers, tls={"internal": asked}) == {"spec.features.tls.internal.traffic"}


def endpoint(host: str, **more: Any) -> dict[str, Any]:
    return {"hosts": {"default": host}, "port": {"mysql": {"default": 3306}}, **more}


def merged(values: dict[str, Any]) -> MergedValues:
    return merge_layers(values, [])


@pytest.mark.parametrize(
    "moved",
    [
        endpoint("elsewhere"),
        endpoint("mariadb", host_fqdn_override={"default": "db.example.org"}),
        endpoint("mariadb", host_fqdn_override={"default": {"host": "db.example.org"}}),
        endpoint("mariadb", port={"mysql": {"default": 3307}}),
    ],
)
def test_an_override_that_moves_one_of_novas_databases_is_refused(moved: dict[str, Any]) -> None:
    values = {"endpoints": {"oslo_db": moved, "oslo_db_cell0": endpoint("mariadb")}}
    (problem,) = parted_databases("nova", merged(values))
    assert "spec.features.database.external" in problem.remedy
    assert parted_databases("nova", merged({"endpoints": {"oslo_db": moved, "oslo_db_cell0": moved}})) == []


def test_a_database_that_this_build_of_the_chart_does_not_have_parts_nothing_and_is_reported() -> None:
    known = {"endpoints": {"oslo_db": endpoint("mariadb"), "oslo_db_cell0": endpoint("mariadb")}}
    other = {"endpoints": {"oslo_db_api": {"hosts": {"default": "db"}}}}
    layer = Layer("services", other, "region.yaml", ("spec",))
    assert parted_databases("nova", merge_layers(known, [layer])) == []
    [warning] = unread_databases(layer, known, "nova")
    assert warning.path == "spec.endpoints.oslo_db_api"
    assert 'ignores the endpoint "oslo_db_api"' in warning.message
    assert list(unread_databases(Layer("services", known), known, "nova")) == []


def test_where_the_certificate_of_a_server_is_said_its_place_is_the_same() -> None:
    encrypted = endpoint("mariadb", host_fqdn_override={"default": {"tls": {"secretName": "nova-client"}}})
    values = {"endpoints": {"oslo_db": encrypted, "oslo_db_cell0": endpoint("mariadb")}}
    assert parted_databases("nova", merged(values)) == []
