"""What hypervisors run is put on their nodes by one feature, whichever of the charts makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.render.specs import FEATURES
from tests.upstream.regions import objects, region, releases

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

PODS = FEATURES["compute-pods"]["features"]["compute"]
OF_NODES = ("openstack-compute-node", "openvswitch")


def specs_of_daemonsets(
    charts: Path, backend: str, compute: dict[str, Any], **more: Any
) -> dict[str, dict[str, Any]]:
    extensions = {"ml2/ovs": ["bgp"], "ml2/ovn": ["vpnaas"]}[backend]
    features = {"networking": {"backend": backend, "extensions": extensions}, "compute": compute}
    features |= more.pop("features", {})
    found = region(charts, {"preset": "compute", "size": "small", "features": features, **more})
    return {
        obj["metadata"]["name"]: dict(spec)
        for release in releases(found)
        for obj, spec in production.pod_specs(objects(release))
        if obj["kind"] == "DaemonSet"
    }


@pytest.mark.parametrize("backend", ["ml2/ovs", "ml2/ovn"])
def test_all_of_them_tolerate_the_taints_and_have_the_priority(charts: Path, backend: str) -> None:
    found = specs_of_daemonsets(charts, backend, PODS)
    expected = {"ml2/ovs": "neutron-ovs-agent-default", "ml2/ovn": "ovn-controller-default"}[backend]
    assert {"libvirt-libvirt-default", "nova-compute-default", "openvswitch", expected} <= set(found)
    wanted = PODS["pods"]["tolerations"]
    assert {name for name, spec in found.items() if spec.get("tolerations") != wanted} == set()
    priority = "system-node-critical"
    assert {name for name, spec in found.items() if spec.get("priorityClassName") != priority} == set()
    assert {spec["dnsPolicy"] for spec in found.values()} == {"ClusterFirstWithHostNet"}


@pytest.mark.parametrize(
    ("backend", "values", "part"),
    [
        (
            "ml2/ovs",
            {"neutron": {"values": {"network": {"backend": ["openvswitch", "sriov"]}}}},
            "sriov-agent",
        ),
        (
            "ml2/ovn",
            {
                "ovn": {
                    "values": {
                        "manifests": {"daemonset_ovn_bgp_agent": True},
                        "conf": {"ovn_bgp_agent": {"DEFAULT": {"bgp_AS": 64999}}},
                    }
                }
            },
            "ovn-bgp-agent",
        ),
    ],
)
def test_what_recipes_add_tolerates_the_taints_too(
    charts: Path, backend: str, values: dict[str, Any], part: str
) -> None:
    found = specs_of_daemonsets(charts, backend, PODS, services={"networking": values})
    [added] = [spec for name, spec in found.items() if part in name]
    assert added["tolerations"] == PODS["pods"]["tolerations"]


def test_what_measures_on_hypervisors_tolerates_the_taints_too(charts: Path) -> None:
    features = {"services": {"enabled": ["metering"]}, "metering": {"gnocchi": {"enabled": False}}}
    found = specs_of_daemonsets(charts, "ml2/ovs", PODS, features=features)
    assert found["ceilometer-compute"]["tolerations"] == PODS["pods"]["tolerations"]


def test_monitors_of_masakari_are_said_to_tolerate_no_taint(charts: Path) -> None:
    monitors = {"instance-ha": {"masakari": {"values": {"manifests": {"host_monitor": True}}}}}
    features = {"services": {"enabled": ["instance-ha"]}, "compute": PODS}
    found = region(charts, {"preset": "compute", "features": features, "services": monitors})
    release = found.release("masakari")
    assert release is not None
    [spec] = [spec for obj, spec in production.pod_specs(objects(release)) if obj["kind"] == "DaemonSet"]
    assert "tolerations" not in spec  # once it has them, the warning can go
    [warning] = [one for one in found.warnings if one.path == "spec.features.compute.pods.tolerations"]
    assert "ignores tolerations" in warning.message


@pytest.mark.parametrize("backend", ["ml2/ovs", "ml2/ovn"])
def test_nothing_is_said_where_nothing_is_asked(charts: Path, backend: str) -> None:
    found = specs_of_daemonsets(charts, backend, {})
    assert not any(spec.get("tolerations") or spec.get("priorityClassName") for spec in found.values())
