"""explain names the field of the file, or of values/, that is behind what a template wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controller.cli.offline.field_causes import causes_of
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.region import OfflineRenderer
from controller.cli.views.explain import behind
from controller.domain.values.chart_values import format_path
from controller.render.chart_builds import ChartDefaults
from controller.settings import read_settings
from tests.cli.objects import ROOT, example_text, osctl
from tests.render.region import UpstreamCharts, core_spec, embedded, render
from tests.render.specs import FEATURES, PAIRS

FILE = "conf.nova.DEFAULT.cpu_allocation_ratio"


@pytest.fixture
def region(tmp_path: Path) -> str:
    file = tmp_path / "region.yaml"
    features = {"compute": {"allocationRatios": {"cpu": 6}}, "networking": {"extensions": ["qos", "trunk"]}}
    file.write_text(example_text(features=features))
    return str(file)


def line_of(file: str, text: str) -> int:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def explained(region: str, release: str, path: str) -> Any:
    result = osctl("explain", region, "--release", release, path, "-o", "json")
    [one] = json.loads(result.stdout)
    return one["layers"][-1]


@pytest.mark.slow
def test_the_field_of_the_file_is_named_with_its_line(region: str) -> None:
    result = osctl("explain", region, "--release", "nova", FILE)
    place = f"{region}:{line_of(region, 'cpu: 6')}"
    assert f"spec.features.compute.allocationRatios.cpu  {place}  by values/services/compute" in result.stdout


@pytest.mark.slow
def test_the_example_of_the_docs_is_what_is_printed(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "values.md").read_text(encoding="utf-8")
    command, shown = re.findall(r"^\$ osctl (explain .+)\n((?:.+\n)+?)```", text, re.MULTILINE)[0]
    desired = int(re.findall(r"region\.yaml:(\d+)", shown)[0])
    above = "#\n" * (desired - line_of(region, "cpu: 6"))
    Path(region).write_text(above + Path(region).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(Path(region).parent)
    printed = osctl(*command.split()).stdout
    assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


@pytest.mark.slow
def test_every_item_of_a_list_that_took_part_is_named(region: str) -> None:
    said = explained(region, "neutron", "conf.neutron.DEFAULT.service_plugins")
    assert [cause["path"] for cause in said["causes"]] == [
        "spec.features.networking.extensions[0]",
        "spec.features.networking.extensions[1]",
    ]


@pytest.mark.slow
def test_the_default_of_the_size_is_named_with_the_size(region: str) -> None:
    said = explained(region, "nova", "conf.nova.libvirt.virt_type")
    assert [cause["path"] for cause in said["causes"]] == ["spec.size", "features.compute.virtualization"]
    assert said["causes"][1]["place"].startswith("values/sizes/single.yaml:")


@pytest.mark.slow
def test_the_value_of_another_release_that_a_template_reads_is_named(region: str) -> None:
    said = explained(region, "nova", "endpoints.oslo_messaging.statefulset.replicas")
    [cause] = said["causes"]
    assert cause["path"] == "rabbitmq pod.replicas.server"
    assert cause["place"].startswith("values/services/messaging/sizes.yaml:")


@pytest.mark.slow
def test_what_no_field_changes_is_said_to_be_the_templates_own(region: str) -> None:
    result = osctl("explain", region, "--release", "rabbitmq", "endpoints.oslo_messaging.hosts.default")
    assert "values/services/messaging/releases.yaml.j2:" in result.stdout
    assert " by " not in result.stdout


class _Renderer(OfflineRenderer):
    """With the charts that the tests have."""

    @property
    def charts(self) -> ChartDefaults:  # type: ignore[override]
        return _Charts()


class _Charts(UpstreamCharts):
    def defaults(self, chart: Any) -> Any:
        return (UpstreamCharts() if chart.repository else embedded()).defaults(chart)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*FEATURES, *PAIRS])
def test_every_leaf_that_a_feature_changes_names_a_field_of_the_feature(name: str) -> None:
    """Compared with the same region without it: what templates wrote differently has a cause in the spec."""
    body = {**FEATURES, **PAIRS}[name]
    preset = body.get("preset", "compute-baremetal")
    spec = core_spec(**{"preset": preset, **body})
    metadata = {"name": "region-one", "namespace": "openstack"}
    head = {"apiVersion": "osctl.dev/v1alpha1", "kind": "OpenStackDeployment", "metadata": metadata}
    renderer = _Renderer(read_settings())
    rendered = renderer.render(InputObject({**head, "spec": spec}, "region.yaml", {("spec",): 1}))
    before = render(core_spec(preset=preset))
    unexplained = []
    for bundle in rendered.region.bundles:
        for release in bundle.releases:
            was = before.release(release.spec.name)
            if was is None:
                continue  # the whole release is there because of the feature
            old = {path: said[-1].value for path, said in was.merged.history.settings.items()}
            new = {path: said[-1] for path, said in release.merged.history.items()}
            changed = [
                path
                for path, last in new.items()
                if old.get(path) != last.value
                and (last.layer in ("every release", "internal TLS") or last.layer.startswith("service "))
            ]
            if not changed:
                continue
            causes = causes_of(renderer, rendered, release.spec.name)
            unexplained += [
                f"{release.spec.name} {format_path(path)}"
                for path in changed
                if not behind(causes, new[path])
            ]
    assert unexplained == []
