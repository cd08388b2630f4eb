"""What runs of brokers and databases is found by its container's name, and asked for by its tag's."""

from __future__ import annotations

import pytest

from controller.domain.region.allowed_version_steps import KEEPERS
from controller.domain.releases.bundle import ChartRef
from tests.charts.lean import objects
from tests.render.region import embedded

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("chart", KEEPERS)
def test_the_server_of_a_broker_or_database_has_the_charts_name(chart: str) -> None:
    servers = [
        container["image"]
        for obj in objects(chart)
        if obj["kind"] == "StatefulSet"
        for container in obj["spec"]["template"]["spec"]["containers"]
        if container["name"] == chart
    ]
    tags = embedded().defaults(ChartRef(chart, path=chart))["images"]["tags"]
    assert servers == [tags[chart]]
