"""A HelmBundle of a person with the name of a service: neither it nor its data go with a region."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import CHART, NAME, Region, wait_until

pytestmark = [pytest.mark.cluster]

CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shop-data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
PERSONS = {
    "apiVersion": "osctl.dev/v1alpha1",
    "kind": "HelmBundle",
    "metadata": {"name": "image"},
    "spec": {"volumes": "Retain", "releases": [{"name": "shop", "chart": {"name": "shop", "path": "shop"}}]},
}


@pytest.fixture
def region(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    """Without what makes credentials: its own releases wait for these, and nothing of them is installed."""
    chart = tmp_path / "charts" / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n", encoding="utf-8")
    (chart / "templates" / "claim.yaml").write_text(CLAIM, encoding="utf-8")
    shutil.copytree(CHART.parent, chart.parent, dirs_exist_ok=True)
    environment = {"CHARTS_DIR": str(chart.parent)}
    yield from installed(sandbox, namespace, tmp_path, ("core", "helmbundle"), environment)


def test_a_persons_bundle_and_its_data_outlive_a_region_that_would_have_its_name(region: Region) -> None:
    def mine() -> dict[str, Any]:
        found = region.get("hb", "image")
        return {key: found["metadata"].get(key) for key in ("uid", "labels")} | {"spec": found["spec"]}

    def logs() -> str:
        return "\n".join(region.controllers.log(name) for name in ("core", "helmbundle"))

    region.kubectl("create", "-f", "-", input=json.dumps(PERSONS))
    wait_until("its claim is there", lambda: "shop-data" in region.claims(), show=logs)
    before, claim = mine(), region.get("pvc", "shop-data")["metadata"]["uid"]
    region.apply(region.manifest(volumes="Delete"))
    wait_until(
        "the region names it",
        lambda: region.condition("SpecValid").get("reason") == "BundleNameTaken",
        show=logs,
    )
    names = {one["metadata"]["name"] for one in region.get("hb")["items"]}
    assert {"image", "identity", "database"} <= names, "the other services are served"
    assert mine() == before
    region.kubectl("delete", "osdpl", NAME, "--timeout=300s")
    wait_until("the region's own are gone", lambda: len(region.get("hb")["items"]) == 1, show=logs)
    assert mine() == before
    assert region.get("pvc", "shop-data")["metadata"]["uid"] == claim
    assert region.revisions() == {"shop": (1, "deployed")}
