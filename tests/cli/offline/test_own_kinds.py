"""Objects that are ours, were meant to be, or are not: none of ours goes unchecked for a slip in its head."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.objects import example_text, osctl

NODE = (
    "apiVersion: osctl.dev/v1alpha1\nkind: NodeMaintenance\nmetadata: {name: n1}\n"
    "spec:\n  region: {namespace: openstack, name: one}\n  nodeName: n1\n"
)
SERVER = (
    "apiVersion: osctl.dev/v1alpha1\nkind: OpenStackServer\nmetadata: {name: bastion}\n"
    "spec:\n  image: {filter: {name: tiny}}\n  ports: [{network: {filter: {name: net0}}}]\n"
)
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: own}\n"


def validated(text: str) -> tuple[int, dict[str, Any]]:
    result = osctl("validate", "-", "-o", "json", input=text)
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize(
    ("old", "new", "path", "meant"),
    [
        ("osctl.dev/v1alpha1", "osctl.dev/v1aplha1", "apiVersion", "osctl.dev/v1alpha1"),
        ("osctl.dev/v1alpha1", "osctl.dev/v1", "apiVersion", "osctl.dev/v1alpha1"),
        ("osctl.dev/v1alpha1", "osctl.dve/v1alpha1", "apiVersion", "osctl.dev/v1alpha1"),
        ("osctl.dev/v1alpha1", "osctl.dev", "apiVersion", "osctl.dev/v1alpha1"),
        ("kind: OpenStackDeployment", "kind: OpenstackDeployment", "kind", "OpenStackDeployment"),
        ("kind: OpenStackDeployment", "kind: OpenStackDeploy", "kind", "OpenStackDeployment"),
    ],
)
def test_a_slip_in_the_head_is_an_error_with_its_line(old: str, new: str, path: str, meant: str):
    text = example_text().replace(old, new)
    code, found = validated(text)
    assert (code, found["valid"]) == (3, False)
    (problem,) = found["problems"]
    assert problem["path"] == path
    assert meant in problem["remedy"]
    assert problem["source"] == f"stdin:{1 if path == 'apiVersion' else 2}"
    assert osctl("render", "-", input=text).exit_code == 3


@pytest.mark.slow
def test_a_slip_beside_a_good_region_stops_rendering_too():
    text = f"{example_text()}---\n{example_text().replace('v1alpha1', 'v1alpha2')}"
    assert osctl("render", "-", input=text).exit_code == 3


def test_a_maintenance_is_checked_against_its_definition():
    assert validated(NODE) == (0, {**validated(NODE)[1], "valid": True})
    code, found = validated(NODE.replace("nodeName: n1", "nodeNmae: 5"))
    assert code == 3
    assert {problem["path"] for problem in found["problems"]} >= {"spec.nodeNmae"}


def test_what_is_not_checked_is_not_called_valid():
    code, found = validated(SECRET)
    assert (code, found["valid"]) == (0, None)
    assert found["objects"][0]["valid"] is None
    _, found = validated(f"{example_text()}---\n{SECRET}")
    assert found["valid"] is True
    assert [one["valid"] for one in found["objects"]] == [True, None]


def test_the_same_kind_of_another_product_is_none_of_ours():
    text = example_text().replace("osctl.dev/v1alpha1", "lcm.example.com/v1alpha1")
    code, found = validated(text)
    assert (code, found["objects"][0]["checked"]) == (0, False)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("nodeName: n1", "nodeName: b c", "spec.nodeName"),
        ("{name: n1}", "{name: N1}", "metadata.name"),
        ("{name: n1}", "{name: n1, lables: {}}", "metadata.lables"),
        ("{name: n1}", "{generateName: n}", "metadata.name"),
    ],
)
def test_what_a_server_would_refuse_of_a_maintenance_is_told(old: str, new: str, path: str):
    code, found = validated(NODE.replace(old, new))
    assert code == 3
    assert [problem["path"] for problem in found["problems"]] == [path]


def test_metadata_and_spec_are_told_together_each_once_with_its_line():
    long = "r" * 64
    text = example_text(size="huge").replace("name: region-one", f"name: {long}\n  nmaespace: x")
    code, found = validated(text)
    assert code == 3
    assert [problem["path"] for problem in found["problems"]] == ["metadata.nmaespace", "spec.size"]
    _, found = validated(example_text().replace("name: region-one", f"name: {long}"))
    (problem,) = found["problems"]
    assert (problem["path"], problem["source"] != "stdin:1") == ("metadata.name", True)


def test_a_server_is_checked_by_its_definition() -> None:
    assert validated(SERVER + "  flavor: small\n")[0] == 0
    code, found = validated(SERVER)
    assert code == 3
    assert [problem["path"] for problem in found["problems"]] == ["spec"]
    assert "exactly one of flavor and flavorID" in found["problems"][0]["message"]
