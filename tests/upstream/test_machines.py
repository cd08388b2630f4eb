"""Machines given to projects: Nova, Neutron and Ironic know each other by what the charts are reported."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.render.specs import FEATURES
from tests.upstream.regions import objects, region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

OVN = {"networking": {"backend": "ml2/ovn", **FEATURES["baremetal"]["features"]["networking"]}}
SPECS: Mapping[str, dict[str, Any]] = {
    "ovs": {"preset": "compute-baremetal", "size": "small", **FEATURES["baremetal"]},
    "ovn": {
        "preset": "compute-baremetal",
        "size": "small",
        "features": {**FEATURES["baremetal"]["features"], **OVN},
    },
}


def made(charts: Path, kind: str, release: str) -> tuple[Mapping[str, Any], ...]:
    found = region(charts, SPECS[kind]).release(release)
    assert found is not None
    return objects(found)


def options(objs: tuple[Mapping[str, Any], ...], file: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    for obj in objs:
        for name, text in production.files(obj):
            if name == file:
                parser.read_string(text)
    return parser


@pytest.mark.parametrize("kind", SPECS)
def test_a_compute_service_of_nova_drives_ironic_as_an_account_that_a_job_makes(
    charts: Path, kind: str
) -> None:
    nova = made(charts, kind, "nova")
    [compute] = [obj for obj in nova if obj["metadata"]["name"] == "nova-compute-ironic" and "spec" in obj]
    assert compute["spec"]["template"]["spec"]["nodeSelector"] == {"openstack-control-plane": "enabled"}
    assert options(nova, "nova-ironic.conf")["DEFAULT"]["compute_driver"] == "ironic.IronicDriver"
    ironic = {
        key: value
        for obj in nova
        for _, text in production.files(obj)
        if text.startswith("[") and "[ironic]" in text
        for key, value in _section(text, "ironic").items()
    }
    assert ironic["username"].startswith("nova_ironic")
    assert ironic["region_name"] == "RegionOne"
    [users] = [obj for obj in nova if obj["kind"] == "Job" and obj["metadata"]["name"] == "nova-ks-user"]
    assert "nova-keystone-ironic" in str(users)


def _section(text: str, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return dict(parser[name])


@pytest.mark.parametrize(("kind", "switch"), [("ovs", "openvswitch"), ("ovn", "ovn")])
def test_neutron_binds_ports_of_machines_and_learns_of_their_networks(
    charts: Path, kind: str, switch: str
) -> None:
    neutron = made(charts, kind, "neutron")
    drivers = options(neutron, "ml2_conf.ini")["ml2"]["mechanism_drivers"].split(",")
    assert {switch, "baremetal"} <= set(drivers)
    assert any(
        obj["kind"] == "Deployment" and obj["metadata"]["name"] == "neutron-ironic-agent" for obj in neutron
    )
    assert "neutron-keystone-ironic" in str(
        [obj for obj in neutron if obj["metadata"]["name"] == "neutron-ks-user"]
    )


def test_ironic_shows_its_machines_to_the_accounts_of_services(charts: Path) -> None:
    found = options(made(charts, "ovs", "ironic"), "ironic.conf")
    assert found["DEFAULT"]["rbac_service_role_elevated_access"] == "true"
    assert found["neutron"]["cleaning_network"] == found["neutron"]["provisioning_network"] == "rack"


def test_its_compute_service_is_enabled_once_and_not_against_an_operator(charts: Path) -> None:
    nova = made(charts, "ovs", "nova")
    [script] = [text for obj in nova for name, text in production.files(obj) if name == "bootstrap.sh"]
    assert "openstack compute service set --enable nova-compute-ironic-0 nova-compute" in script
    assert "grep -q 'disabled due to config option'" in script
