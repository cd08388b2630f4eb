"""What a region in production must not have, in what the shipped charts make: they take the same values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml

from controller.domain.values.catalogue import EMBEDDED
from tests.helm_program import Chart
from tests.render import policies, production
from tests.render.region import ROOT, core_spec, library, render
from tests.upstream.regions import objects, releases

pytestmark = pytest.mark.slow

SIZES = ("small", "medium")
# Of Jobs that end within a minute, and that read no figure upstream either.
NO_FIGURE = ("rabbitmq-cluster-wait",)


@cache
def made(size: str, controller: str = "openstack-controller") -> tuple[Mapping[str, Any], ...]:
    policies = {"enabled": True, "nodeNetworks": ["10.0.0.0/16"], "controllerNamespace": controller}
    features = {"networkPolicies": policies}
    region = render(core_spec(size=size, charts={}, storageClass="fast", features=features))
    return tuple(obj for release in releases(region) for obj in objects(release))


@pytest.mark.parametrize("size", SIZES)
def test_every_container_says_what_it_needs_and_may_have(size: str) -> None:
    assert production.without_resources(made(size), NO_FIGURE) == []


@pytest.mark.parametrize("size", SIZES)
def test_no_node_holds_two_of_a_majority(size: str) -> None:
    assert production.majorities_that_may_meet(made(size)) == []


@pytest.mark.parametrize("size", SIZES)
def test_claims_policies_and_files_are_as_the_region_says(size: str) -> None:
    assert production.unnamed_classes(made(size), ["fast"]) == []
    assert production.policies_that_deny_everybody(made(size)) == []
    assert production.literals(made(size)) == []


@pytest.mark.parametrize("server", [("mariadb", 3306), ("rabbitmq", 15672)])
def test_policies_admit_only_the_controller_of_its_namespace(
    server: tuple[str, int],
) -> None:
    name, port = server
    chart = Chart.load(ROOT / "charts" / "openstack-controller")
    files = chart.render({"crds": {"install": False}}, name="osctl", namespace="control")
    deployment = yaml.load(files["openstack-controller/templates/deployment.yaml"], yaml.CSafeLoader)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    ours = policies.Client("controller", labels, on_node=False, files=(), namespace="control")
    others = (
        replace(ours, labels={"app": "x"}),
        replace(ours, namespace="other"),
        replace(ours, namespace=""),
    )
    there, pods = made("small", "control"), {"application": name, "release_group": name}
    assert policies.admits(there, pods, port, ours)
    assert [one for one in others if policies.admits(there, pods, port, one)] == []


def test_every_size_has_figures_for_the_components_of_every_chart() -> None:
    charts = {
        name
        for entry in library().catalogue.services.values()
        for name, chart in entry.charts.items()
        if EMBEDDED in chart.sources or "upstream" in chart.sources
    }
    for size, file in library().sizes.items():
        lacking = {name for name in charts if not file.values_of(name).get("pod", {}).get("resources")}
        assert lacking == set(), size
    components = [
        {name: file.values_of(name)["pod"]["resources"].keys() for name in charts}
        for file in library().sizes.values()
    ]
    assert all(one == components[0] for one in components)
