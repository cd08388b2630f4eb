"""Deployments of OpenStack-Helm's charts: none is away that can run twice, and none waits forever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.upstream.regions import everything, objects, region, releases, specs

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

BACKUPS = {
    "features": {
        "services": {"enabled": ["block-storage"]},
        "blockStorage": {
            "backends": [{"name": "own", "type": "custom", "conf": {"volume_driver": "own.Driver"}}],
            "backup": {"enabled": True, "driver": "posix"},
        },
    }
}
CASES = {
    "everything": everything(),
    "small": {**everything(), "size": "small"},
    "backups": {"preset": "core", **BACKUPS},
    **{name: specs()[name] for name in ("compute-console-spice", "networking-ovn", "images-ceph")},
}
# Their charts give one strategy to all their Deployments, one of which cannot run twice.
WITH_OTHERS = {"backups": {"cinder"}, "compute-console-spice": {"nova"}}
# The first serves no requests. The second has the strategy of Kubernetes: a quarter of its pods may be away.
FIXED = {"mariadb-controller", "ovn-northd"}


def deployments(charts: Path, spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Release, name and object of each; with the claims of the release."""
    for release in releases(region(charts, spec)):
        if release.spec.chart.repository:
            found = objects(release)
            claims = {
                one["metadata"]["name"]: one["spec"]
                for one in found
                if one["kind"] == "PersistentVolumeClaim"
            }
            for one in found:
                if one["kind"] == "Deployment":
                    yield release.spec.name, one["metadata"]["name"], {**one, "claims": claims}


def runs_once(found: Mapping[str, Any]) -> bool:
    """Whether a second pod finds no place: ports of its node, or a claim that one node has."""
    pod = found["spec"]["template"]["spec"]
    ports = [port for one in pod["containers"] for port in one.get("ports") or ()]
    names = [
        one["persistentVolumeClaim"]["claimName"]
        for one in pod.get("volumes") or ()
        if "persistentVolumeClaim" in one
    ]
    modes = [
        mode for name in names for mode in found["claims"].get(name, {}).get("accessModes", ["ReadWriteOnce"])
    ]
    return (
        bool(pod.get("hostNetwork") and ports)
        or any(port.get("hostPort") for port in ports)
        or "ReadWriteOnce" in modes
    )


@pytest.mark.parametrize("name", CASES)
def test_every_deployment_that_can_run_twice_is_replaced_without_a_gap(charts: Path, name: str) -> None:
    seen = 0
    for release, deployment, found in deployments(charts, CASES[name]):
        strategy = found["spec"].get("strategy") or {}
        if strategy.get("type") == "Recreate" or deployment in FIXED:
            continue
        unavailable = (strategy.get("rollingUpdate") or {}).get("maxUnavailable")
        if runs_once(found):
            assert unavailable == 1, f"{deployment} would wait for ever"
        elif release not in WITH_OTHERS.get(name, ()):
            seen += 1
            assert unavailable == 0, f"{deployment} is away for a while"
    assert seen >= 4


def test_required_affinity_leaves_room_for_one_more(charts: Path) -> None:
    """Pods that refuse each other's node would need a node more than they are."""
    for _, deployment, found in deployments(charts, CASES["small"]):
        affinity = found["spec"]["template"]["spec"].get("affinity") or {}
        required = (affinity.get("podAntiAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        assert not required, deployment
