"""osctl report and osctl graph on a cluster in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.errors import Forbidden
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, KubeObjects, Resource
from tests.cli.commands.overview.conftest import create_with_status
from tests.cli.objects import osctl
from tests.cli.views.pages.html import Page
from tests.cli.views.pages.regions import maintenance
from tests.fakes.kube import FakeKube


def test_the_page_goes_to_a_file_at_once(kube: FakeKube, tmp_path: Path):
    file = tmp_path / "region.html"
    file.write_text("the former page")
    result = osctl("report", "region-one", "--to", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "written" in result.stderr
    assert Page(file.read_text(encoding="utf-8")).mistakes == []
    assert [one.name for one in tmp_path.iterdir()] == ["region.html"]


def test_without_a_file_the_page_is_the_output(kube: FakeKube):
    result = osctl("report")
    assert result.exit_code == 0
    assert Page(result.stdout).mistakes == []
    assert "cmp7" in result.stdout


def test_a_file_that_cannot_be_written_is_a_mistake_on_the_command_line(kube: FakeKube, tmp_path: Path):
    result = osctl("report", "--to", str(tmp_path / "none" / "region.html"))
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_plans_and_maintenances_of_other_regions_are_not_on_the_page(kube: FakeKube):
    other, planned = maintenance(), maintenance()
    other["metadata"]["name"], other["spec"]["region"]["name"] = "other", "region-two"
    other["spec"]["nodeName"] = "cmp-of-another-region"
    planned["metadata"]["name"], planned["spec"]["dryRun"] = "planned", True
    del planned["status"]
    for one in (other, planned):
        create_with_status(kube, one)
    data = json.loads(osctl("report", "-o", "json").stdout)
    assert [one["name"] for one in data["maintenances"]] == ["node-cmp7"]


def test_without_the_right_to_read_maintenances_there_is_a_page(
    kube: FakeKube, monkeypatch: pytest.MonkeyPatch
):
    listed = kube.list

    def refused(resource: Resource, namespace: str | None = None, **more: str) -> KubeObjects:
        if resource == COMPUTE_MAINTENANCE:
            raise Forbidden("you may not list computemaintenances")
        return listed(resource, namespace, **more)

    monkeypatch.setattr(kube, "list", refused)
    result = osctl("report")
    assert result.exit_code == 0
    assert "Maintenances are not shown: you may not list computemaintenances" in result.stdout


@pytest.mark.parametrize(("output", "begin"), [("mermaid", "flowchart LR"), ("svg", "<svg xmlns")])
def test_the_graph_as_text_and_as_an_image(kube: FakeKube, output: str, begin: str):
    result = osctl("graph", "region-one", "-o", output)
    assert result.exit_code == 0
    assert result.stdout.startswith(begin)
    assert "octavia" in result.stdout


def test_the_graph_as_data(kube: FakeKube):
    data = json.loads(osctl("graph", "-o", "json").stdout)
    assert {one["name"]: one["state"] for one in data["releases"]}["heat"] == "failed"
