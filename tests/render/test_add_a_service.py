"""The example of docs/add-a-service.md works as it stands there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from controller.adapters.system.values_files import load_library
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.catalogue import UPSTREAM
from controller.domain.values.chart_values import Values
from controller.render.region import render_region
from tests.render.region import (
    ROOT,
    UPSTREAM_KEYS,
    UpstreamCharts,
    core_spec,
    deployment,
    library,
    upstream_defaults,
)

MISTRAL = {
    "endpoints": {
        "identity": {"auth": {"admin": {"password": "password"}, "mistral": {"password": "password"}}},
        "oslo_db": {"auth": {"admin": {"password": "password"}, "mistral": {"password": "password"}}},
        "workflowv2": {
            "host_fqdn_override": {"default": None},
            "port": {"api": {"default": 8989, "public": 80}},
        },
    },
    "conf": {"mistral": {"DEFAULT": {}}},
}


class WithMistral(UpstreamCharts):
    def defaults(self, chart: ChartRef) -> Values:
        return MISTRAL if chart.name == "mistral" else upstream_defaults(chart.name)


def test_every_chart_of_the_catalogue_has_its_keys_to_compare_with() -> None:
    charts = {
        name
        for entry in library().catalogue.services.values()
        for name, chart in entry.charts.items()
        if UPSTREAM in chart.sources
    }
    missing = sorted(name for name in charts if not (UPSTREAM_KEYS / f"{name}.json").exists())
    assert missing == [], "docs/add-a-service.md tells how to make tests/data/upstream-keys/<chart>.json"


@pytest.mark.slow
def test_the_folder_that_the_page_shows_is_a_service(tmp_path: Path) -> None:
    files = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "add-a-service.md").read_text(), re.DOTALL)
    values = tmp_path / "values"
    shutil.copytree(ROOT / "values", values)
    folder = values / "services" / "workflow"
    folder.mkdir(exist_ok=True)  # the example itself may have been followed
    entry, template, rules, checks, programs, sizes = files
    (folder / "service.yaml").write_text(entry + rules + checks + programs)
    (folder / "releases.yaml.j2").write_text(template)
    (folder / "sizes.yaml").write_text(sizes)

    spec = core_spec(features={"services": {"enabled": ["workflow"]}})
    region = render_region(deployment(spec), load_library(values), WithMistral())

    release = region.release("mistral")
    assert release is not None
    assert release.spec.depends_on == ("keystone",)
    auth = release.spec.values["endpoints"]["identity"]["auth"]["mistral"]
    assert auth["password"] == {"$secretRef": {"name": "workflow-credentials", "key": "mistral-password"}}
    assert release.spec.values["endpoints"]["workflowv2"]["host_fqdn_override"]["public"] == {
        "host": "workflow.it.just.works"
    }
    assert release.spec.values["conf"]["mistral"]["DEFAULT"] == {"rpc_response_timeout": 60}


def test_every_public_endpoint_is_one_that_a_chart_of_its_service_has() -> None:
    unknown = [
        f"{entry.name}: {endpoint}"
        for entry in library().catalogue.services.values()
        for endpoint in entry.public_endpoints
        if not any(
            endpoint in upstream_defaults(name).get("endpoints", {})
            for name, chart in entry.charts.items()
            if UPSTREAM in chart.sources
        )
    ]
    assert unknown == []
