"""Releases of OpenStack-Helm, with its own values for a series, become a region that renders the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.helm.manifests import parse_document
from controller.cli.offline.region import offline_renderer
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import coalesced, lookup
from tests.cli.adopting.running import adopted, running
from tests.upstream.regions import charts_given

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(charts_given() is None, reason="CHARTS names no checkout of OpenStack-Helm"),
]
CHARTS = ("mariadb", "rabbitmq", "memcached", "keystone", "glance")
OWN: Mapping[str, Any] = {"conf": {"keystone": {"token": {"expiration": 7200}}}}


@pytest.mark.parametrize("series", ["2025.1", "2025.2"])
def test_nothing_of_it_renders_otherwise(series: str) -> None:
    checkout = Path(str(charts_given()))
    repository = f"file://{checkout}"
    given: dict[str, Mapping[str, Any]] = {}
    for name in CHARTS:
        file = checkout / "values_overrides" / name / f"{series}-ubuntu_noble.yaml"
        given[name] = parse_document(file.read_text(encoding="utf-8")) if file.exists() else {}
    given["keystone"] = coalesced(given["keystone"], OWN)
    charts = offline_renderer().charts
    made = running(given, checkout, lambda name: str(charts.locate(ChartRef(name, repository=repository))))
    found, leftovers, objects = adopted(made, {"repository": repository})
    assert found.spec["openstackVersion"] == series
    assert {name for name, one in objects.items() if not one.equal} == set()
    own = lookup(leftovers.spec, ("services", "identity", "keystone", "values", "conf", "keystone", "token"))
    assert own["expiration"] == 7200
    # Glance's chart makes this key at random; its pods keep theirs.
    assert leftovers.text("cache-credentials", "memcache-secret-key")
