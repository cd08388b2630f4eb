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


def specs_of_daemonsets(charts: Path, backend: str, compute: dict[str, Any]) -> dict[str, dict[str, Any]]:
    features = {"networking": {"backend": backend}, "compute": compute}
    found = region(charts, {"preset": "compute", "size": "small", "features": features})
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


@pytest.mark.parametrize("backend", ["ml2/ovs", "ml2/ovn"])
def test_nothing_is_said_where_nothing_is_asked(charts: Path, backend: str) -> None:
    found = specs_of_daemonsets(charts, backend, {})
    assert not any(spec.get("tolerations") or spec.get("priorityClassName") for spec in found.values())
