"""Regions of rockoon as regions of this controller: the same, what is named, and what is not printed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.domain.adoption.rockoon import API, KIND, ConvertedRegion, convert_rockoon
from tests.api.definitions import SCHEMAS

PRESETS = {
    "compute": frozenset({"database", "messaging", "cache", "identity", "image", "networking", "compute"}),
    "compute-baremetal": frozenset({"baremetal"}),
}
PASSWORD, ROLE, KEY = "pl4nted-password", "pl4nted-role", "pl4nted-key"


def spec(**more: Any) -> dict[str, Any]:
    return {
        "openstack_version": "gazpacho",
        "preset": "compute",
        "size": "tiny",
        "public_domain_name": "cloud.example.org",
        "persistent_volume_storage_class": "fast",
        **more,
    }


def converted(**more: Any) -> ConvertedRegion:
    meta = {"name": "osh-dev", "namespace": "openstack"}
    found = convert_rockoon(
        {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec(**more)}, PRESETS
    )
    assert SCHEMAS["OpenStackDeployment"].problems(found.document) == []
    return found


def features(**given: Any) -> Any:
    return converted(features=given).document["spec"].get("features", {})


def notes(**given: Any) -> dict[str, str]:
    return {one.path: f"{one.message}; {one.remedy}" for one in converted(**given).notes}


def test_main_fields_have_other_names():
    assert converted().document["spec"] == {
        "openstackVersion": "2026.1",
        "preset": "compute",
        "size": "tiny",
        "publicDomainName": "cloud.example.org",
        "storageClass": "fast",
        "features": {"compute": {"images": {"backend": "local"}}, "networking": {"backend": "ml2/ovs"}},
    }


def test_services_beyond_the_preset_are_enabled_and_others_named():
    listed = ["identity", "memcached", "app-gateway", "dns", "redis", "metric", "alarming"]
    assert features(services=listed)["services"] == {"enabled": ["dns", "gateway", "metering"]}
    found = notes(features={"services": listed})
    assert list(found) == ["spec.features.services"]
    assert '"redis" has no counterpart' in found["spec.features.services"]


def test_networks():
    neutron = {
        "backend": "ml2/ovn",
        "tunnel_interface": "ens3",
        "dns_servers": ["10.0.0.1"],
        "dvr": {"enabled": True},
        "external_networks": [
            {
                "physnet": "physnet1",
                "bridge": "br-ex",
                "interface": "eth1",
                "mtu": None,
                "vlan_ranges": "1:9,20:29",
            }
        ],
        "floating_network": {
            "enabled": True,
            "physnet": "physnet1",
            "subnet": {
                "range": "10.1.0.0/24",
                "pool_start": "10.1.0.9",
                "pool_end": "10.1.0.99",
                "gateway": "10.1.0.1",
            },
        },
    }
    assert features(neutron=neutron)["networking"] == {
        "backend": "ml2/ovn",
        "tunnelInterface": "ens3",
        "dnsServers": ["10.0.0.1"],
        "dvr": True,
        "externalNetworks": [
            {"name": "physnet1", "bridge": "br-ex", "interface": "eth1", "vlanRanges": ["1:9", "20:29"]}
        ],
        "floatingNetwork": {
            "enabled": True,
            "physicalNetwork": "physnet1",
            "subnet": {
                "range": "10.1.0.0/24",
                "gateway": "10.1.0.1",
                "poolStart": "10.1.0.9",
                "poolEnd": "10.1.0.99",
            },
        },
    }
    assert notes(features={"neutron": neutron}) == {}


def secret_spec() -> dict[str, Any]:
    vault = {
        "enabled": True,
        "vault_url": "http://vault:8200",
        "approle_role_id": ROLE,
        "approle_secret_id": PASSWORD,
    }
    ldap = {"url": "ldap://one", "suffix": "dc=x", "user": "uid=a", "password": PASSWORD, "page_size": 0}
    domain = {"enabled": True, "config": {"identity": {"driver": "ldap"}, "ldap": ldap}}
    return {
        "features": {
            "barbican": {"backends": {"vault": vault}},
            "keystone": {"domain_specific_configuration": {"enabled": True, "ks_domains": {"Corp": domain}}},
            "ssl": {"public_endpoints": {"enabled": True, "api_cert": KEY, "api_key": KEY, "ca_cert": KEY}},
            "stacklight": {"enabled": True, "user": {"username": "a", "password": PASSWORD}},
        }
    }


def test_secrets_become_references_and_are_printed_nowhere():
    found = converted(**secret_spec())
    whole = yaml.safe_dump(found.document) + str(found.notes) + str(found.secrets)
    assert [one for one in (PASSWORD, ROLE, KEY) if one in whole] == []
    assert {one.name: set(one.keys) for one in found.secrets} == {
        "api-cert": {"tls.crt", "tls.key"},
        "vault": {"role-id", "secret-id"},
        "ldap-corp": {"password"},
    }
    (domain,) = found.document["spec"]["features"]["identity"]["ldap"]["domains"]
    assert domain["password"] == {"name": "ldap-corp", "key": "password"}
    assert domain["conf"] == {"page_size": 0}


def test_each_field_that_nothing_takes_is_named_once():
    found = notes(
        features={"nova": {"new_field": 1}, "stacklight": {"enabled": True}}, unheard_of={"a": {"b": False}}
    )
    assert found == {
        "spec.features.nova.new_field": "has no counterpart; ",
        "spec.features.stacklight": "has no counterpart; "
        "metrics, alerts and the dashboard need no account (docs/metrics.md)",
        "spec.unheard_of": "has no counterpart; ",
    }


def test_a_field_that_is_false_and_means_something_is_named_too():
    assert "spec.migration" in notes(migration={"nova": {"deploy_main_service": False}})


def test_values_of_their_charts_are_not_copied():
    found = converted(services={"compute": {"nova": {"values": {"a": 1}}}})
    assert "services" not in found.document["spec"]
    assert [one.path for one in found.notes] == ["spec.services"]


@pytest.mark.parametrize("word", ["queens", "caracal"])
def test_a_version_that_is_not_run_is_named(word: str):
    found = convert_rockoon({"metadata": {}, "spec": spec(openstack_version=word)}, PRESETS)
    assert [one.path for one in found.notes] == ["spec.openstack_version"]
    assert "2025.1" in found.notes[0].remedy


def test_a_preset_without_a_counterpart_is_compute_and_named():
    found = converted(preset="compute-tf")
    assert found.document["spec"]["preset"] == "compute"
    assert [one.path for one in found.notes] == ["spec.preset"]


def test_bare_metal():
    network = {
        "physnet": "ironic",
        "name": "pxe",
        "segmentation_id": 1000,
        "subnets": [
            {
                "range": "10.13.0.0/24",
                "pool_start": "10.13.0.9",
                "pool_end": "10.13.0.99",
                "gateway": "10.13.0.1",
            }
        ],
    }
    ironic = {
        "provisioning_interface": "pxe.1000",
        "baremetal_network_name": "pxe",
        "networks": {"baremetal": network},
    }
    found = converted(preset="compute-baremetal", features={"ironic": ironic})
    assert found.document["spec"]["features"]["baremetal"] == {
        "provisioningInterface": "pxe.1000",
        "networks": [
            {
                "name": "pxe",
                "purpose": "provisioning",
                "physicalNetwork": "ironic",
                "vlan": 1000,
                "range": "10.13.0.0/24",
                "gateway": "10.13.0.1",
                "poolStart": "10.13.0.9",
                "poolEnd": "10.13.0.99",
            }
        ],
    }


def test_brokers_are_named_once():
    messaging = {"components_with_dedicated_messaging": ["networking", "metering", "alarming"]}
    assert features(messaging=messaging)["messaging"] == {"dedicatedBrokers": ["networking", "metering"]}


def test_a_floating_network_without_a_physical_one_is_named():
    floating = {"enabled": True, "subnet": {"range": "10.1.0.0/24"}}
    assert "floatingNetwork" not in features(neutron={"floating_network": floating})["networking"]
    assert list(notes(features={"neutron": {"floating_network": floating}})) == [
        "spec.features.neutron.floating_network"
    ]
