"""Sizes of releases, reported offline: by render, diff and validate."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest
import yaml

from controller.cli.cluster import Cluster
from tests.cli.objects import EXAMPLE, osctl
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.slow


def region_file(directory: Path, octets: int) -> str:
    """A region whose keystone has so many octets that cannot be packed, twice: in values and manifest."""
    osdpl = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    noise = base64.b64encode(random.Random(5).randbytes(octets)).decode()
    values = {"conf": {"keystone": {"DEFAULT": {"note": noise}}}} if octets else {}
    osdpl["spec"]["services"] = {"identity": {"keystone": {"values": values}}}
    path = directory / f"region-{octets}.yaml"
    path.write_text(yaml.safe_dump(osdpl), encoding="utf-8")
    return str(path)


def test_validate_renders_and_refuses_what_is_too_large(tmp_path: Path) -> None:
    result = osctl("validate", "--manifests", region_file(tmp_path, 450_000))
    assert result.exit_code == 3
    assert (
        "spec.services.identity.keystone: release keystone: Helm's record of the release would take"
        in result.stderr
    )
    assert "a Secret holds at most 1024 KiB" in result.stderr


def test_validate_and_render_warn_of_what_is_nearly_too_large(tmp_path: Path) -> None:
    path = region_file(tmp_path, 300_000)
    for command in (("validate", "--manifests"), ("render", "--manifests", "--release", "keystone")):
        result = osctl(*command, path)
        assert result.exit_code == 0, result.stderr
        assert "release keystone: Helm's record of the release takes" in result.stderr


def test_diff_shows_the_size_of_what_changes(tmp_path: Path) -> None:
    result = osctl("diff", region_file(tmp_path, 0), region_file(tmp_path, 300_000))
    assert "size      Helm's record of the release takes" in result.stdout


def test_validate_adds_up_what_a_region_asks_of_its_nodes(tmp_path: Path) -> None:
    path = region_file(tmp_path, 0)
    result = osctl("validate", "--manifests", path)
    control = next(line for line in result.stdout.splitlines() if "openstack-control-plane" in line)
    assert "pods with" in control and "CPU" in control and "GiB" in control
    assert "each node openstack-compute-node=enabled: 2 pods" in result.stdout
    [found] = json.loads(osctl("validate", "--manifests", path, "-o", "json").stdout)["objects"]
    assert {one["selector"] for one in found["asked"]["nodes"]} >= {"openstack-control-plane=enabled"}
    assert all(one["bytes"] > 0 for one in found["asked"]["volumes"])


def test_validate_holds_that_against_the_nodes_of_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube = FakeKube()
    monkeypatch.setattr(
        "controller.cli.commands.validate.open_cluster", lambda *_: Cluster(kube, "openstack")
    )
    labels = {"openstack-control-plane": "enabled", "openvswitch": "enabled"}
    kube.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "one", "labels": labels},
        }
    )
    result = osctl("validate", "--nodes", region_file(tmp_path, 0))
    assert result.exit_code == 0
    told = " ".join(result.stderr.split())
    assert "nodes of the cluster: none has the label openstack-compute-node=enabled" in told
    assert "kubectl label node NODE openstack-compute-node=enabled" in told
    assert "1 has the label openstack-control-plane=enabled, with 0.00 CPU, and" in told
    assert "storage classes of the cluster: there is no standard" in told
