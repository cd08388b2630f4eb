"""osctl rbac: the rights that a region needs, as values of the controller's chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain.validation.rbac_union import permissions
from tests.chart_repositories.packing import packed
from tests.chart_repositories.upstream import upstream_charts, version_of
from tests.cli.objects import EXAMPLE, example_text, osctl
from tests.helm_program import Chart
from tools.chart_objects import CONTROLLER_CHART

OVN = {"networking": {"backend": "ml2/ovn"}}


def _values(*arguments: str) -> dict[str, Any]:
    result = osctl("rbac", *arguments)
    assert result.exit_code == 0, result.stderr
    values: dict[str, Any] = yaml.safe_load(result.stdout)
    Chart.load(CONTROLLER_CHART).render({"crds": {"install": False}, **values}, name="osctl", namespace="x")
    return values["rbac"]


def _kinds(values: dict[str, Any]) -> dict[str, list[str]]:
    return {entry["apiGroup"]: entry["resources"] for entry in values["helm"]["resources"]}


def _region(directory: Path, **spec: Any) -> str:
    """The file of a region on charts of upstream's shape."""
    charts = directory / "charts"
    if not charts.exists():
        charts.mkdir()
        for (name, version), archive in upstream_charts().items():
            (charts / f"{name}-{version}.tgz").write_bytes(archive)
    file = directory / "region.yaml"
    file.write_text(example_text(charts={"repository": f"file://{charts}"}, **spec))
    return str(file)


@pytest.mark.slow
def test_with_the_charts_of_the_image_their_own_rules_are_enough() -> None:
    values = _values("-f", str(EXAMPLE))
    shipped = yaml.safe_load((CONTROLLER_CHART / "values.yaml").read_text(encoding="utf-8"))["rbac"]
    assert values["upstream"] == {"sets": []}
    needed, held = permissions(values["charts"]["rules"]), permissions(shipped["charts"]["rules"])
    assert needed
    assert needed <= held


@pytest.mark.slow
def test_kinds_that_no_release_makes_are_left_out_and_those_of_every_release_stay() -> None:
    kinds = _kinds(_values("-f", str(EXAMPLE)))
    assert {"", "apps", "batch", "rbac.authorization.k8s.io"} <= set(kinds)
    assert "persistentvolumeclaims" in kinds[""]
    assert "gateway.networking.k8s.io" not in kinds


@pytest.mark.slow
def test_a_region_with_ovn_needs_the_set_of_ovn_and_one_without_does_not(tmp_path: Path) -> None:
    assert _values("-f", _region(tmp_path))["upstream"] == {"sets": ["core"]}
    values = _values("-f", _region(tmp_path, features=OVN))
    assert values["upstream"]["sets"] == ["core", "ovn"]
    assert values["charts"] == {"rules": []}


@pytest.mark.slow
def test_what_no_set_has_becomes_further_rules(tmp_path: Path) -> None:
    region = _region(tmp_path)
    roles = """
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: watching-{{{{ .Release.Namespace }}}}}}
rules: [{{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [watch]}}]
"""
    own = {
        "Chart.yaml": f"{{apiVersion: v2, name: memcached, version: {version_of('memcached')}}}",
        "values.yaml": "{}",
        "templates/role.yaml": roles.format(kind="Role"),
        "templates/cluster.yaml": roles.format(kind="ClusterRole"),
        "templates/class.yaml": "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: mine}}",
    }
    (tmp_path / "charts" / f"memcached-{version_of('memcached')}.tgz").write_bytes(packed("memcached", own))
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["watch"]}
    values = _values("-f", region)
    assert rule in values["extraRules"]
    assert values["extraClusterRules"] == [rule]
    assert values["extraClusterRoles"] == ["watching-{namespace}"]
    reported = osctl("rbac", "-f", region).stderr
    assert "release memcached contains the cluster-scoped StorageClass mine: no value grants that" in reported


@pytest.mark.slow
def test_a_region_is_taken_as_kubectl_prints_those_of_a_cluster() -> None:
    osdpl = yaml.safe_load(example_text())
    osdpl["metadata"].update(
        uid="u1", generation=3, resourceVersion="9", creationTimestamp="2026-01-01T00:00:00Z"
    )
    osdpl["status"] = {"observedGeneration": 3, "conditions": []}
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [osdpl]}
    result = osctl("rbac", "-", input=yaml.safe_dump(listed))
    assert result.exit_code == 0, result.stderr
    assert yaml.safe_load(result.stdout)["rbac"]["upstream"] == {"sets": []}
