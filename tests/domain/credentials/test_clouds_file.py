"""The administrator's clouds.yaml follows what keystone is asked to be."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.domain.credentials.clouds_yaml import Administrator, KeyOfSecret, administrator, clouds_yaml

PASSWORD = {"$secretRef": {"name": "identity-credentials", "key": "admin-password"}}


def keystone(endpoints: dict[str, Any] | None = None, **values: Any) -> dict[str, Any]:
    identity = {"auth": {"admin": {"region_name": "RegionOne", "password": PASSWORD}}}
    for key, value in (endpoints or {}).items():
        identity[key] = {**identity.get(key, {}), **value} if isinstance(value, dict) else value
    return {"endpoints": {"cluster_domain_suffix": "cluster.local", "identity": identity}, **values}


def known(values: dict[str, Any]) -> Administrator:
    found = administrator(values, "openstack")
    assert found is not None
    return found


def test_keystone_is_reached_by_its_service_inside_the_cluster() -> None:
    assert known(keystone()).auth_url == "http://keystone-api.openstack.svc.cluster.local:5000/v3"


def test_the_password_stays_a_reference() -> None:
    assert known(keystone()).password == KeyOfSecret("identity-credentials", "admin-password")


def test_what_services_change_holds_here_too() -> None:
    values = keystone(
        {
            "auth": {"admin": {"username": "root", "password": PASSWORD, "region_name": "North"}},
            "hosts": {"internal": "sso"},
            "port": {"api": {"internal": 35357}},
        }
    )
    admin = known(values)
    assert admin.auth_url == "http://sso.openstack.svc.cluster.local:35357/v3"
    assert (admin.account["username"], admin.account["region_name"]) == ("root", "North")


@pytest.mark.parametrize("override", ["id.example.org", {"host": "id.example.org", "tls": {}}])
def test_a_full_name_takes_the_place_of_the_services(override: Any) -> None:
    values = keystone({"host_fqdn_override": {"internal": override}})
    assert known(values).auth_url == "http://id.example.org:5000/v3"


def test_an_encrypted_keystone_is_trusted_by_the_regions_authority() -> None:
    values = keystone({"scheme": {"default": "https"}}, secrets={"tls": {"ca": "region-ca-bundle"}})
    admin = known(values)
    assert admin.auth_url.startswith("https://")
    assert admin.ca == KeyOfSecret("region-ca-bundle", "ca.crt")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"endpoints": None},
        {"endpoints": {"identity": {"auth": None}}},
        {"endpoints": {"identity": {"auth": {"admin": {"username": None, "password": PASSWORD}}}}},
    ],
)
def test_without_a_usable_account_there_is_nothing_to_export(values: dict[str, Any]) -> None:
    assert administrator(values, "openstack") is None


def test_the_file_is_one_cloud_for_internal_use_and_any_password_survives_it() -> None:
    password = "a: 'b' \"c\" {é} #"
    cloud = yaml.safe_load(clouds_yaml(known(keystone()), password))["clouds"]["default"]
    assert cloud["auth"]["password"] == password
    assert (cloud["interface"], cloud["region_name"]) == ("internal", "RegionOne")
    assert "cacert" not in cloud
