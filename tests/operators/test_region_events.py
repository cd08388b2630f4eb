"""A region is looked at at once after an edit, and later when someone has only reported in a status."""

from __future__ import annotations

from typing import Any

import pytest

from containers.keys import owner_key, region_key
from containers.region_events import AFTER_REPORTS, RegionEvents
from controller.adapters.kubernetes.watches import Key
from controller.domain.api.names import DEPLOYMENT_LABEL
from controller.reconcile.shared.work_queue import WorkQueue
from tests.fakes.world import FakeClock, FakeRandomness

REGION = ("region", "openstack", "region-one")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> WorkQueue[Key]:
    return WorkQueue(clock, FakeRandomness())


def osdpl(generation: int = 1, **status: Any) -> dict[str, Any]:
    metadata = {"name": "region-one", "namespace": "openstack", "uid": "1", "generation": generation}
    return {"metadata": metadata, "status": status}


def test_an_edit_is_looked_at_at_once(queue: WorkQueue[Key]) -> None:
    RegionEvents(queue, region_key).seen("MODIFIED", osdpl(generation=2))

    assert queue.overdue() == 1
    assert queue.take() == REGION


def test_reports_in_the_status_are_looked_at_together_later(queue: WorkQueue[Key], clock: FakeClock) -> None:
    events = RegionEvents(queue, region_key)
    events.seen("ADDED", osdpl())
    queue.done(queue.take() or REGION)

    for phase in ("Pending", "Applying", "Ready"):
        events.seen("MODIFIED", osdpl(phase=phase))

    assert (len(queue), queue.overdue()) == (1, 0)
    clock.advance(AFTER_REPORTS)
    assert queue.overdue() == 1


def test_an_edit_is_not_held_up_by_reports(queue: WorkQueue[Key]) -> None:
    events = RegionEvents(queue, region_key)
    events.seen("ADDED", osdpl())
    queue.done(queue.take() or REGION)

    events.seen("MODIFIED", osdpl(phase="Applying"))
    events.seen("MODIFIED", osdpl(generation=2, phase="Applying"))

    assert queue.overdue() == 1


def test_a_bundle_that_is_gone_has_its_region_looked_at_at_once(queue: WorkQueue[Key]) -> None:
    bundle = osdpl()
    bundle["metadata"]["labels"] = {DEPLOYMENT_LABEL: "region-one"}
    events = RegionEvents(queue, owner_key)
    events.seen("ADDED", bundle)
    queue.done(queue.take() or REGION)

    events.seen("DELETED", bundle)

    assert queue.overdue() == 1
