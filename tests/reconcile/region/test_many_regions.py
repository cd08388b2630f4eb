"""A hundred OpenStackDeployments that are not served cost the one that is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.ports.kubernetes import OSDPL
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.shared.known_regions import MOST, KnownRegions
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import KEY, clock, core, events, kube, osdpl

__all__ = ["clock", "core", "events", "kube"]

OTHERS = [f"other-{number:03}" for number in range(100)]


def _looks(core: DeploymentReconciler, kube: FakeKube, clock: FakeClock) -> int:
    """Passes of an hour in which nothing happens, each when the one before it said."""
    due = {name: core.reconcile(("openstack", name)) for name in ("region-one", *OTHERS) if _live(kube, name)}
    count, until = 0, clock.monotonic() + 3600
    while True:
        timed = {name: at for name, at in due.items() if at is not None}
        name = min(timed, key=lambda one: timed[one])
        wait = timed[name]
        if clock.monotonic() + wait > until:
            return count
        clock.advance(wait)
        due = {one: None if at is None else at - wait for one, at in due.items()}
        due[name] = core.reconcile(("openstack", name))
        count += 1


def _live(kube: FakeKube, name: str) -> Any:
    return kube.get(OSDPL, name, "openstack")


@pytest.mark.slow
def test_those_that_are_not_served_bring_next_to_no_pass(
    core: DeploymentReconciler, kube: FakeKube, clock: FakeClock
) -> None:
    kube.create(osdpl())
    clock.advance(1)
    alone = _looks(core, kube, clock)
    for name in OTHERS:
        kube.create(osdpl(name))
    assert _looks(core, kube, clock) <= MOST * alone
    assert find(_live(kube, OTHERS[-1])["status"]["conditions"], "Ready")["reason"] == (
        "AnotherDeploymentManaged"
    )


def test_a_pass_reads_no_more_than_the_metadata_of_others(
    core: DeploymentReconciler, kube: FakeKube, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube.create(osdpl())
    clock.advance(1)
    for name in OTHERS:
        kube.create(osdpl(name))
    whole, real = [], kube.list

    def listed(resource: Any, *given: Any, **more: Any) -> Any:
        whole.append(resource)
        return real(resource, *given, **more)

    monkeypatch.setattr(kube, "list", listed)
    core.reconcile(KEY)
    assert whole and OSDPL not in whole


def _seen(name: str, created: str = "2026-01-02T00:00:00Z") -> dict[str, Any]:
    return {"metadata": {"namespace": "openstack", "name": name, "creationTimestamp": created}}


def test_what_happens_in_the_region_concerns_the_served_one_and_its_heirs() -> None:
    regions = KnownRegions()
    for name in OTHERS:
        assert regions.feed(None, _seen(name)) == (("openstack", name),)
    regions.feed("ADDED", _seen("region-one", "2026-01-01T00:00:00Z"))
    assert regions.served()[0] == KEY and len(regions.served()) == MOST


def test_the_end_of_the_served_one_brings_its_heir_a_pass_and_that_of_another_none() -> None:
    regions = KnownRegions()
    regions.feed(None, _seen("region-one", "2026-01-01T00:00:00Z"))
    for name in OTHERS:
        regions.feed(None, _seen(name))
    assert regions.feed("DELETED", _seen(OTHERS[50])) == (("openstack", OTHERS[50]),)
    assert ("openstack", OTHERS[0]) in regions.feed("DELETED", _seen("region-one"))
