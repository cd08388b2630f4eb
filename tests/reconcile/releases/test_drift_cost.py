"""What looking after a region of 20 releases of upstream's shape costs."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from controller.ports.helm import ReleaseRecords
from controller.reconcile.releases.drift.index import Followed
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.parts import DriftRates
from tests.fakes.kube import FakeKube
from tests.fakes.release import NAMESPACE, FakeWatch, ReleasesOnFake
from tests.fakes.world import FakeClock

SHAPES = json.loads((Path(__file__).parents[2] / "data" / "upstream-shape.json").read_text(encoding="utf-8"))
VERSIONS = {
    "Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1",
    "CronJob": "batch/v1", "PodDisruptionBudget": "policy/v1", "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1", "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
}  # fmt: skip
RELEASES = 20


def objects(chart: str, release: str) -> list[dict[str, Any]]:
    """What stands of a chart: no test pods, no hooks of the deletion."""
    found = []
    for kind, named in SHAPES[chart]["objects"].items():
        for name, facts in named.items():
            if kind == "Pod" or "delete" in str(facts.get("hook", "")):
                continue
            meta: dict[str, Any] = {"name": f"{release}-{name}"}
            if "hook" in facts:
                meta["annotations"] = {"helm.sh/hook": facts["hook"]}
            found.append({"apiVersion": VERSIONS.get(kind, "v1"), "kind": kind, "metadata": meta})
    return found


class Region:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.records = ReleasesOnFake(self.kube)
        self.watch = FakeWatch(self.kube)
        self.lookout = DriftWatch(
            kube=self.kube,
            records=cast(ReleaseRecords, self.records),
            watch=self.watch,
            clock=self.clock,
            reconcile_after=lambda after: None,
            changed_bundle=lambda bundle: None,
            pace=DriftRates(qps=20, resync=3600, settle=10),
        )
        charts = sorted(SHAPES)
        self.objects = 0
        self.names = [f"release-{number}" for number in range(RELEASES)]
        for number, name in enumerate(self.names):
            made = objects(charts[number % len(charts)], name)
            self.objects += len(made)
            self.records.deploy(name, 1, *made)
        self.kube.forget_requests()

    def follow(self) -> None:
        for name in self.names:
            self.lookout.follow((NAMESPACE, name), Followed((NAMESPACE, "all"), 1))

    def run(self, seconds: float) -> Counter[tuple[str, bool]]:
        """What was asked of the API server meanwhile, by verb and whether it was a dry run."""
        self.kube.forget_requests()
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            again = self.lookout.reconcile()
            self.clock.advance(left if again is None else min(again, left))
        return Counter((request.verb, request.dry_run) for request in self.kube.requests)


@pytest.fixture(scope="module")
def region() -> Region:
    region = Region()
    region.follow()
    return region


@pytest.mark.slow
def test_a_region_of_twenty_releases_is_looked_after_at_a_known_price(region: Region) -> None:
    begun = region.run(300)
    assert begun == {("get", False): region.objects, ("apply", True): region.objects}
    assert region.objects > 500
    assert len(region.watch.kinds) <= 15

    assert region.run(2000) == {}
    region.records.reads = 0
    everything = region.run(3600 * 1.2)
    rounds = everything[("get", False)] / region.objects
    assert 1 <= rounds <= 2
    assert everything == {
        ("get", False): rounds * region.objects,
        ("apply", True): rounds * region.objects,
    }
    assert region.records.reads <= 5 * RELEASES


@pytest.mark.slow
def test_what_is_remembered_of_a_region_is_small() -> None:
    region = Region()
    tracemalloc.start()
    region.follow()
    region.run(300)
    region.kube.forget_requests()
    known, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert known < 1500 * region.objects
