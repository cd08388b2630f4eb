"""Files that are right one by one, and cannot be beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.objects import example_text, osctl

pytestmark = pytest.mark.slow

BUNDLE = """apiVersion: osctl.dev/v1alpha1
kind: HelmBundle
metadata: {name: %s}
spec:
  releases:
  - name: %s
    chart: {name: mariadb, path: mariadb}
    dependsOn: [%s]
"""


def validated(*texts: str) -> tuple[int, dict[str, Any]]:
    result = osctl("validate", "-", "-o", "json", input="---\n".join(texts))
    return result.exit_code, json.loads(result.stdout)


def named(name: str, namespace: str = "openstack") -> str:
    text = example_text().replace("name: region-one", f"name: {name}")
    return text.replace("namespace: openstack", f"namespace: {namespace}")


def test_a_namespace_has_one_region():
    code, found = validated(named("one"), named("two"))
    assert code == 3
    (problem,) = found["problems"]
    assert problem["path"] == "metadata.namespace"
    assert problem["message"] == "the namespace already has region one, in stdin:1"
    assert problem["source"] != "stdin:1"
    assert validated(named("one"), named("two", "other"))[0] == 0


def test_an_object_is_given_once():
    for text in (example_text(), BUNDLE % ("b", "x", ""), BUNDLE % ("b", "x", "")):
        code, found = validated(text, text)
        assert code == 3
        (problem,) = found["problems"]
        assert problem["path"] == "metadata.name"
        assert "is defined twice, also in stdin:1" in problem["message"]


def test_a_release_that_no_file_has_is_warned_of():
    code, found = validated(BUNDLE % ("one", "x", "other, zz"), BUNDLE % ("two", "other", "x"))
    assert code == 0
    (warning,) = found["warnings"]
    assert warning["path"] == "spec.releases[0].dependsOn[1]"
    assert 'no release "zz" among the files' in warning["message"]
    code, found = validated(example_text(), BUNDLE % ("own", "x", "keystone"))
    assert (code, found["warnings"]) == (0, [])


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json"])
def test_another_region_does_not_replace_one(tmp_path: Path, output: str):
    for file, text in {"a": named("one"), "b": named("two"), "c": named("one", "other")}.items():
        (tmp_path / file).write_text(text)
    for new, title in (("b", "openstack/two"), ("c", "other/one")):
        result = osctl("diff", str(tmp_path / "a"), str(tmp_path / new), "--no-manifests", "-o", output)
        assert result.exit_code == 1
        assert f"these are different regions: openstack/one and {title}" in result.stdout


MAINTENANCE = """apiVersion: osctl.dev/v1alpha1
kind: ComputeMaintenance
metadata: {name: one}
spec: {region: {namespace: openstack, name: region-one}, nodeName: cmp1, budgets: {serversPerNode: 4}}
"""


@pytest.mark.parametrize(
    ("features", "values", "limit"),
    [
        (None, {}, "2 servers"),
        ({"compute": {"liveMigration": {"concurrent": 4}}}, {}, ""),
        ({}, {"max_concurrent_live_migrations": 1}, "1 server"),
        ({}, {"max_concurrent_live_migrations": 0}, ""),
    ],
    ids=["without-the-region", "field", "value", "no-limit"],
)
def test_a_budget_that_nova_does_not_use_up_is_warned_of(
    features: dict[str, Any] | None, values: dict[str, Any], limit: str
) -> None:
    nova = {"compute": {"nova": {"values": {"conf": {"nova": {"DEFAULT": values}}}}}}
    region = [] if features is None else [example_text(features=features, services=nova)]
    code, found = validated(MAINTENANCE, *region)
    assert code == 0
    warnings = [one for one in found["warnings"] if one["path"] == "spec.budgets.serversPerNode"]
    assert [f"Nova moves {limit} of a hypervisor live at a time" in one["message"] for one in warnings] == (
        [True] if limit else []
    )


def maintenance_warnings(*region: str, **spec: Any) -> list[str]:
    where = {"region": {"namespace": "openstack", "name": "region-one"}, "nodeName": "cmp1"}
    head = {"apiVersion": "osctl.dev/v1alpha1", "kind": "ComputeMaintenance", "metadata": {"name": "one"}}
    code, found = validated(yaml.safe_dump({**head, "spec": {**where, **spec}}), *region)
    assert code == 0
    return [one["path"] for one in found["warnings"] if one["path"].startswith("spec.")]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"deadlines": {"server": "5h"}}, "spec.deadlines.server"),
        ({"deadlines": {"server": "30m", "whole": "20m"}}, "spec.deadlines.server"),
        ({"mode": "Evacuate", "budgets": {"serversPerNode": 20}}, "spec.budgets.serversPerNode"),
        ({"mode": "Cordon", "budgets": {"serversPerNode": 2}}, "spec.budgets"),
        ({"mode": "Cordon", "deadlines": {"whole": "1h"}}, "spec.deadlines"),
        ({"localDisks": "Rebuild"}, "spec.localDisks"),
        ({"mode": "Evacuate", "onUnmovable": "Leave"}, "spec.onUnmovable"),
    ],
)
def test_values_of_a_maintenance_that_do_not_go_together_are_warned_of(
    spec: dict[str, Any], path: str
) -> None:
    assert maintenance_warnings(**spec) == [path]


def test_a_maintenance_as_it_is_meant_is_not_warned_of() -> None:
    deadlines = {"server": "30m", "whole": "8h"}
    assert maintenance_warnings(deadlines=deadlines, onUnmovable="Cold", localDisks="Block") == []


def test_a_maintenance_of_another_region_than_those_of_the_files_is_warned_of() -> None:
    other = {"namespace": "openstack", "name": "other"}
    assert maintenance_warnings(example_text(), region=other) == ["spec.region"]
    assert maintenance_warnings(example_text()) == maintenance_warnings(region=other) == []
