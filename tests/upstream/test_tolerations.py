"""One feature puts all pods of a region in spite of a taint, except those that charts have no place for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.render.specs import FEATURES, brought
from tests.upstream.covering import laid_over
from tests.upstream.regions import ALL_SERVICES, objects, region, releases

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

TAINT = FEATURES["pods-tolerations"]["features"]["pods"]["tolerations"]
# docs/upstream-defects.md; a pod that is gone from here can go from there.
NO_PLACE = {
    "ceph-rgw": {
        *("Job/ceph-ks-endpoints", "Job/ceph-ks-service", "Job/ceph-ks-user", "Job/ceph-rgw-s3-admin"),
        *("Job/ceph-rgw-storage-init", "Pod/ceph-rgw-test"),
    },
    "keystone": {"Pod/keystone-test"},
    "neutron": {"Deployment/neutron-ironic-agent"},
    "nova": {"StatefulSet/nova-compute-ironic"},
}
NO_POD_TOLERATES = {"designate", "ironic", "masakari", "octavia", "watcher"}


def untolerating(charts: Path, spec: dict[str, Any]) -> dict[str, set[str]]:
    """By chart, the pods that do not tolerate the taint, and `*` where that is all of its pods."""
    found: dict[str, set[str]] = {}
    spec = laid_over(spec, {"features": {"pods": {"tolerations": TAINT}}})
    for release in releases(region(charts, spec)):
        pods = list(production.pod_specs(objects(release)))
        lacking = {
            f"{obj['kind']}/{obj['metadata']['name']}"
            for obj, pod in pods
            if any(one not in (pod.get("tolerations") or []) for one in TAINT)
        }
        if lacking:
            found[release.spec.chart.name] = {"*"} if len(lacking) == len(pods) else lacking
    return found


def test_every_pod_tolerates_the_taint_that_has_a_place_for_it(charts: Path) -> None:
    enabled = {"features": {"services": {"enabled": ALL_SERVICES}, "gateway": {"className": "envoy"}}}
    found = untolerating(charts, {"preset": "compute-baremetal", **enabled, **brought(*ALL_SERVICES)})
    assert found == {**NO_PLACE, **{chart: {"*"} for chart in NO_POD_TOLERATES}}


def test_every_pod_of_ovn_tolerates_it(charts: Path) -> None:
    spec = {"preset": "compute", "size": "small", "features": {"networking": {"backend": "ml2/ovn"}}}
    assert untolerating(charts, spec) == {"keystone": NO_PLACE["keystone"]}


def test_hypervisors_have_both(charts: Path) -> None:
    spec: dict[str, Any] = {"preset": "compute", **FEATURES["pods-tolerations"]}
    own = spec["features"]["compute"]["pods"]["tolerations"]
    for release in releases(region(charts, spec)):
        if release.spec.chart.name in ("libvirt", "nova", "glance"):
            expected = TAINT if release.spec.chart.name == "glance" else [*TAINT, *own]
            assert all(pod["tolerations"] == expected for _, pod in production.pod_specs(objects(release)))


def test_the_network_of_amphorae_tolerates_it(charts: Path) -> None:
    """Its chart is one of ours, and its tolerations are one list."""
    enabled = {"services": {"enabled": ["load-balancer"]}, "loadBalancer": {"makeNetwork": True}}
    spec = laid_over({"preset": "compute", "features": enabled}, brought("load-balancer"))
    found = untolerating(charts, spec)
    assert "octavia-network" not in found and found["octavia"] == {"*"}
