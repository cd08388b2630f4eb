"""Services that are in no preset, because of what they need: each tells it, until it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.upstream.regions import region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

POOLS = """- name: default
  ns_records: [{hostname: ns.example.org., priority: 1}]
  nameservers: [{host: 192.0.2.53, port: 53}]
  targets: [{type: bind9, masters: [{host: 192.0.2.10, port: 5354}], options: {host: 192.0.2.53, port: 53}}]
"""
GNOCCHI = {"overrides": {"gnocchi_api": "registry.example.org/gnocchi:4.7"}}
# Service, what is told, and the part of a spec with which it is not told any more.
NEEDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "dns",
        "Designate has no name servers",
        {"services": {"dns": {"designate": {"conf": {"pools": POOLS}}}}},
    ),
    (
        "instance-ha",
        "nothing tells Masakari of a host or a server that fails",
        {"services": {"instance-ha": {"masakari": {"manifests": {"instance_monitor": True}}}}},
    ),
    (
        "shared-file-system",
        "shares are served by servers of Manila's generic driver",
        {
            "services": {
                "shared-file-system": {
                    "manila": {"conf": {"manila": {"DEFAULT": {"enabled_share_backends": "nas"}}}}
                }
            }
        },
    ),
    ("metering", "the chart's image is of Gnocchi 3.0.3", {"images": GNOCCHI}),
)


def told(charts: Path, service: str, **more: Any) -> list[str]:
    services = {
        name: {chart: {"values": values} for chart, values in found.items()}
        for name, found in more.pop("services", {}).items()
    }
    spec = {
        "preset": "compute",
        "features": {"services": {"enabled": [service]}},
        "services": services,
        **more,
    }
    return [warning.message for warning in region(charts, spec).warnings]


@pytest.mark.parametrize(("service", "message", "brought"), NEEDS, ids=[name for name, _, _ in NEEDS])
def test_what_a_service_needs_is_told_until_it_is_there(
    charts: Path, service: str, message: str, brought: dict[str, Any]
) -> None:
    assert any(one.startswith(message) for one in told(charts, service))
    assert not any(one.startswith(message) for one in told(charts, service, **brought))
