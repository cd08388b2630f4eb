"""Twenty releases in five bundles: what is changed is upgraded, and nothing else is touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.exhaustive, pytest.mark.timeout(1800)]

CHART = Path(__file__).parents[2] / "bench" / "charts" / "three"
BUNDLES = [f"bundle{number}" for number in range(5)]
PER_BUNDLE = 4


class Fleet:
    """The releases as a test edits them."""

    def __init__(self, region: Region, charts: Path) -> None:
        self.region = region
        self.charts = charts
        self.values = {f"{bundle}-r{number}": "red" for bundle in BUNDLES for number in range(PER_BUNDLE)}
        self.paths = dict.fromkeys(self.values, "three")

    def add_chart(self, path: str, version: str) -> None:
        """The chart once more, in another version."""
        shutil.copytree(CHART, self.charts / path)
        about = self.charts / path / "Chart.yaml"
        about.write_text(about.read_text().replace("0.1.0", version))

    def apply(self) -> None:
        bodies = [json.dumps(self._bundle(name)) for name in BUNDLES]
        self.region.kubectl("apply", "--server-side", "-f", "-", input="\n".join(bodies))
        wait_until("all are Ready", self._all_ready, 300, lambda: self.region.controllers.log("helmbundle"))

    def _bundle(self, name: str) -> dict[str, Any]:
        releases = [
            {"name": one, "chart": {"name": "three", "path": self.paths[one]}, "values": {"colour": colour}}
            for one, colour in self.values.items()
            if one.startswith(name)
        ]
        meta = {"name": name, "namespace": self.region.namespace}
        body = {"apiVersion": "osctl.dev/v1alpha1", "kind": "HelmBundle", "metadata": meta}
        return {**body, "spec": {"releases": releases}}

    def _all_ready(self) -> bool:
        return all(_ready(obj) for obj in self.region.get("hb")["items"])


def _ready(obj: dict[str, Any]) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    one = next((one for one in conditions if one["type"] == "Ready"), {})
    return bool(one.get("status") == "True" and one["observedGeneration"] == obj["metadata"]["generation"])


@pytest.fixture
def fleet(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Fleet]:
    charts = tmp_path / "charts"
    settings = {"CHARTS_DIR": str(charts), "RESYNC_SECONDS": "5"}
    for region in installed(sandbox, namespace, tmp_path / "run", ("helmbundle",), settings):
        fleet = Fleet(region, charts)
        fleet.add_chart("three", "0.1.0")
        yield fleet


def test_of_twenty_releases_only_the_changed_one_is_upgraded(fleet: Fleet) -> None:
    fleet.apply()
    first = dict.fromkeys(fleet.values, (1, "deployed"))
    assert len(first) == 20
    assert fleet.region.revisions() == first

    fleet.values["bundle2-r1"] = "blue"
    fleet.apply()
    edited = {**first, "bundle2-r1": (2, "deployed")}
    assert fleet.region.revisions() == edited

    moment = audit.now()
    fleet.region.controllers.restart("helmbundle")
    # Two looks at everything: after the start and by the resync.
    wait_until("it has looked at all of them twice", lambda: _looks(fleet.region, moment) >= 10)
    assert fleet.region.writes_since(moment) == []
    assert fleet.region.revisions() == edited

    fleet.add_chart("three-next", "0.2.0")
    fleet.paths["bundle4-r3"] = "three-next"
    fleet.apply()
    assert fleet.region.revisions() == {**edited, "bundle4-r3": (2, "deployed")}


def _looks(region: Region, moment: Any) -> int:
    """How often bundles were read since then, by name."""
    user = f"system:serviceaccount:{region.namespace}:osctl-{region.namespace}"
    found = audit.requests(region.sandbox.audit_log, moment, user)
    return sum(one.verb == "get" and one.resource == "helmbundles" for one in found)
