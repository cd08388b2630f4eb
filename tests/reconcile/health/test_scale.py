"""Big bundles, big regions, and a long life: what a pass costs does not run away."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from typing import Any

import pytest

from tests.fakes.kube import Request
from tests.reconcile import bundles
from tests.reconcile.bundles import Bench

# Kubernetes refuses objects of more than about 1.5 MB; spec and field owners share that with the status.
LARGEST_STATUS = 600_000


def settled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "DEADLINE", 240.0)
    bench.settle()


def looked(bench: Bench, *names: str) -> list[Request]:
    """The requests of one pass at each bundle."""
    bench.kube.forget_requests()
    for name in names:
        bench.reconciler.reconcile((bundles.NAMESPACE, name))
    return list(bench.kube.requests)


def deployed(bench: Bench) -> int:
    return sum(
        release["state"] == "Deployed"
        for status in bench.statuses().values()
        for release in status["releases"]
    )


@pytest.mark.exhaustive
def test_a_bundle_of_500_releases_is_brought_about_and_looked_at_cheaply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(size=16)
    bench.bundle("fleet", *(f"web{number}" for number in range(500)))
    settled(bench, monkeypatch)
    assert deployed(bench) == 500
    assert len(bench.helm.calls) == 500
    assert len(json.dumps(bench.status("fleet"))) < LARGEST_STATUS
    began = time.process_time()
    requests = looked(bench, "fleet")
    assert time.process_time() - began < 5.0
    assert [request for request in requests if request.verb not in ("get", "list")] == []
    # However many releases there are.
    assert len(requests) < 10, requests


@pytest.mark.exhaustive
def test_the_status_of_500_failing_releases_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(size=16)
    names = [f"web{number}" for number in range(500)]
    bench.helm.fails = dict.fromkeys(names, "the server says no: " + "x" * 5000)
    bench.bundle("fleet", *names)
    settled(bench, monkeypatch)
    status = bench.status("fleet")
    assert {release["state"] for release in status["releases"]} == {"Failed"}
    assert len(json.dumps(status)) < LARGEST_STATUS


@pytest.mark.exhaustive
def test_a_region_of_64_releases_is_brought_about_in_the_order_of_its_dependencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    for service in range(16):
        releases: list[dict[str, Any]] = [
            {"name": f"r{service}-{number}", "dependsOn": [f"r{service - 1}-{number}"] if service else []}
            for number in range(4)
        ]
        bench.bundle(f"service{service}", *releases)
    settled(bench, monkeypatch)
    assert deployed(bench) == 64
    order = {release: place for place, (_, release) in enumerate(bench.helm.calls)}
    assert len(order) == len(bench.helm.calls) == 64
    assert all(
        order[f"r{service - 1}-{number}"] < order[f"r{service}-{number}"]
        for service in range(1, 16)
        for number in range(4)
    )
    requests = looked(bench, *(f"service{service}" for service in range(16)))
    assert [request for request in requests if request.verb not in ("get", "list")] == []
    assert len(requests) < 16 * 10


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_memory_is_flat_over_ten_thousand_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an edit, and so an upgrade, at every hundredth."""
    bench = Bench()

    def live(looks: range) -> None:
        for number in looks:
            if number % 100 == 0:
                bench.bundle("web", {"name": "web", "values": {"size": number}}, "database", "cache")
                settled(bench, monkeypatch)
                bench.clock.advance(30)
            looked(bench, "web")
        bench.kube.forget_requests()
        bench.helm.calls.clear()
        bench.events.emitted.clear()
        gc.collect()

    live(range(1000))
    for record in bench.helm._records.values():
        del record[:-5]  # as Helm bounds its history
    tracemalloc.start()
    live(range(1000, 2000))
    before, _ = tracemalloc.get_traced_memory()
    live(range(2000, 10_000))
    for record in bench.helm._records.values():
        del record[:-5]
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 1_000_000, (before, after)
