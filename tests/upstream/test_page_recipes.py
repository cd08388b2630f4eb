"""Recipes of the pages about storage and metrics come to what they say, on the pinned charts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.upstream.pages import blocks
from tests.upstream.regions import objects, region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]


def made(charts: Path, spec: dict[str, Any], release: str) -> tuple[Any, ...]:
    found = region(charts, {"preset": "compute", "size": "small", **spec}).release(release)
    assert found is not None
    return objects(found)


def test_two_pools_are_two_types_with_their_limits(charts: Path) -> None:
    [document] = blocks("storage.md", "Two pools as two volume types, with limits")
    objs = made(charts, document["spec"], "cinder")
    files = [(name, text) for obj in objs for name, text in production.files(obj)]
    [backends] = {text for name, text in files if name == "backends.conf"}
    assert "rbd_pool = volumes-ssd" in backends and "rbd_pool = volumes-hdd" in backends
    [script] = {text for name, text in files if name == "bootstrap.sh"}
    for name in ("fast", "bulk"):
        assert re.search(rf"volume type create [^;]*?volume_backend_name={name} +\\\s+{name}\n", script)
        assert f"openstack volume qos associate {name}-limits {name}" in script
    assert "--property total_bytes_sec=524288000" in script and "e+0" not in script


def test_each_monitor_finds_a_port_of_pods_of_the_region(charts: Path) -> None:
    exporter = {"features": {"database": {"exporter": {"enabled": True}}}}
    monitors = [
        one for one in blocks("metrics.md", "The region's own servers") if one["kind"] == "PodMonitor"
    ]
    assert len(monitors) == 2
    for monitor, release in zip(monitors, ("mariadb", "rabbitmq"), strict=True):
        labels = monitor["spec"]["selector"]["matchLabels"].items()
        [port] = [one["port"] for one in monitor["spec"]["podMetricsEndpoints"]]
        ports = {
            found["name"]
            for obj in made(charts, exporter, release)
            for pod in [((obj.get("spec") or {}).get("template") or {})]
            if labels <= ((pod.get("metadata") or {}).get("labels") or {}).items()
            for container in pod["spec"]["containers"]
            for found in container.get("ports") or ()
        }
        assert port in ports, (release, ports)
