"""How soon a change is in the status, by the delays that we make ourselves: on a clock that stands still.

What the machine adds, the watch and a pass's own time, tests/cluster/regions/test_scale.py measures.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from containers.composition import Parts
from containers.observing import observing_container
from controller.adapters.kubernetes.watches import Key
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import OSDPL, SECRET, KubeObject
from controller.ports.metrics import NoMetrics
from controller.reconcile.health.parts import HealthPorts, HealthSettings
from controller.reconcile.health.status import PARSERS, HealthReconciler
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.status_metrics import component_series
from controller.reconcile.shared.work_queue import WorkQueue
from tests.domain.health_objects import deployment, pod
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.health.test_health import BROKEN, SilentEvents
from tests.reconcile.watched import KINDS, NAME, Records, WatchedCluster

COMPONENTS = 50
# What the product promises, and so much of it is left to the machine.
TOLD_WITHIN, LEFT_TO_THE_MACHINE = 2.0, 0.5
STEP = 0.05


class Region(WatchedCluster):
    """A region of fifty components whose watches lead to the container's own queue."""

    def __init__(self) -> None:
        self.clock = FakeClock(start=1_780_000_000.0)
        super().__init__(self.clock)
        store = ObjectStore(self.kube, self.clock, "openstack", PARSERS)
        reconciler = HealthReconciler(
            HealthPorts(
                kube=self.kube,
                clock=self.clock,
                events=SilentEvents(),
                records=cast(ReleaseRecords, Records()),
            ),
            HealthSettings(namespace="openstack", resync=300.0),
            store=store,
            changed=lambda: None,
        )
        self.queue: WorkQueue[Key] = WorkQueue(self.clock, FakeRandomness())
        parts = cast(Parts, SimpleNamespace(queue=self.queue, metrics=NoMetrics()))
        self.container = observing_container("health", parts, store, reconciler.reconcile, component_series)
        self.region()
        self.bundle("nova", secret="compute-credentials")
        for number in range(COMPONENTS):
            self.put(deployment(name=f"nova-c{number}"))
            self.put(pod(f"nova-c{number}-bbb-1", ("ReplicaSet", f"nova-c{number}-bbb")))
        osdpl = self.kube.get(OSDPL, NAME, "openstack")
        assert osdpl is not None
        self.deliver(None, osdpl)
        self.live(5.0)
        assert {entry["status"] for entry in self.health().values()} == {"Ready"}
        self.kube.forget_requests()

    def deliver(self, event: str | None, obj: KubeObject) -> None:
        resource = KINDS[str(obj["kind"])]
        for watch in self.container.watches:
            if watch.resource == resource and watch.seen is not None:
                watch.seen(event, obj)

    def live(self, seconds: float) -> None:
        """Does the container's work for so long."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.work()
            self.clock.advance(STEP)

    def work(self) -> None:
        while self.queue.overdue():
            key = self.queue.take()
            assert key is not None
            kind, namespace, name = key
            self.queue.done(key, again_after=self.container.reconcilers[kind](namespace, name))

    def health(self) -> dict[str, Any]:
        found: dict[str, Any] = (self.status().get("health") or {}).get("nova") or {}
        return found

    def reported_after(self, component: str, status: str) -> float:
        """Seconds from now until the status says so of the component."""
        began = self.clock.monotonic()
        while self.health()[component]["status"] != status:
            assert self.clock.monotonic() - began < 10, "it is never told"
            self.live(STEP)
        return self.clock.monotonic() - began

    def requests(self, *verbs: str) -> int:
        """How many the container made: not those by which this test looks at the status."""
        return sum(one.verb in verbs for one in self.kube.requests)


@pytest.fixture(scope="module")
def calm() -> Region:
    return Region()


@pytest.mark.parametrize("after_another", [0.0, 0.1, 0.25, 0.5, 1.0, 1.2, 3.0])
def test_a_change_is_reported_within_two_seconds_however_soon_after_another(
    calm: Region, after_another: float
) -> None:
    # Another component each time: one that comes and goes is damped.
    before, after = (f"c{int(after_another * 10) + more}" for more in (0, 1))
    calm.put(deployment(2, name=f"nova-{before}", **BROKEN))
    calm.live(after_another)
    calm.put(deployment(2, name=f"nova-{after}", **BROKEN))
    assert calm.reported_after(after, "Progressing") <= TOLD_WITHIN - LEFT_TO_THE_MACHINE
    for name in (before, after):
        calm.put(deployment(name=f"nova-{name}"))
    assert calm.reported_after(after, "Ready") <= TOLD_WITHIN - LEFT_TO_THE_MACHINE
    calm.live(3.0)


@pytest.mark.slow
def test_a_look_at_fifty_components_asks_for_no_object_but_the_region(calm: Region) -> None:
    calm.live(700.0)
    for number in range(COMPONENTS):
        calm.put(deployment(2, name=f"nova-c{number}", **BROKEN))
    calm.kube.forget_requests()
    calm.live(0.5)
    looked = [(one.verb, one.kind) for one in calm.kube.requests]
    assert looked == [("get", OSDPL.kind), ("list", SECRET.kind), ("apply", OSDPL.kind)]
    for number in range(COMPONENTS):
        calm.put(deployment(name=f"nova-c{number}"))
    calm.live(3.0)


@pytest.mark.slow
def test_a_storm_is_looked_at_a_few_times_a_second_and_what_comes_after_is_reported_in_time(
    calm: Region,
) -> None:
    calm.live(700.0)
    looks, writes = 0, 0
    for number in range(200):
        calm.put(deployment(2, name=f"nova-c{number % 49}", **(BROKEN if number % 3 else {})))
        calm.kube.forget_requests()
        calm.live(STEP)
        looks += calm.requests("get")
        writes += calm.requests("apply")
    assert 5 <= writes <= 11
    assert writes <= looks <= 5 * 11
    calm.put(deployment(2, name="nova-c49", **BROKEN))
    assert calm.reported_after("c49", "Progressing") <= TOLD_WITHIN - LEFT_TO_THE_MACHINE
