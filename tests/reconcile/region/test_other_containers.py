"""A container that is dead or hangs cannot say so; core hears it by its Lease and Ready is not believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from controller.domain.api.conditions import Condition, entries, find
from controller.domain.api.reasons import Reason
from controller.domain.region.facts import ANSWERED_BY
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import LEASE, OSDPL, KubeObject, Resource
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.other_containers import (
    CHECK_SECONDS,
    OtherContainers,
    SilenceTimes,
)
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.shared.leases.lease import STUCK_AFTER, LeaseTimes, WriterLease
from controller.render.region import Region
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.region.test_deployment import (
    CHARTS,
    KEY,
    SilentEvents,
    deploy_all,
    health_of,
    osdpl,
    ready,
    render,
    status,
)
from tests.reconcile.watched import DEFINITIONS

OWN = "controller"


@cache
def rendered(spec: str) -> Region:
    return render(osdpl(**json.loads(spec)))


TIMES, RENEW_EVERY = SilenceTimes(), LeaseTimes().renew_every
OTHERS = ("helmbundle", "health")


class _Kube(FakeKube):
    away = False

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        if self.away and resource is LEASE:
            raise ApiUnavailable("the API server is away")
        return super().get(resource, name, namespace)


class Pod:
    """core, and others whose Leases are renewed while they are in `alive`."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = _Kube(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.events = SilentEvents()
        self.leases = {
            name: WriterLease(self.kube, self.clock, name=f"osctl-{name}", namespace=OWN, holder="pod")
            for name in OTHERS
        }
        self.alive = set(OTHERS)
        self.work_age = dict.fromkeys(OTHERS, 0.0)
        self.kube.create(osdpl())
        self.restart()

    def restart(self) -> None:
        """core begins again, and knows nothing."""
        self.changes = 0
        self.others = OtherContainers(
            self.kube, self.clock, containers=OTHERS, namespace=OWN, changed=self.changed
        )
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=self.events, charts=CHARTS),
            RegionSettings(containers=("core", *OTHERS), version="0.1.0", resync=300),
            render=lambda osdpl: rendered(json.dumps(osdpl["spec"])),
            silence=self.others.silence,
        )

    def changed(self) -> None:
        self.changes += 1
        self.core.reconcile(KEY)

    def passes(self, seconds: float) -> None:
        """Leases are renewed and looked at as in the containers."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.advance(RENEW_EVERY)
            for name in self.alive:
                self.leases[name].try_take(self.work_age[name])
            if self.clock.monotonic() % CHECK_SECONDS < RENEW_EVERY:
                self.others.observe()

    def says(self, container: str, word: str = "True", reason: Reason = Reason.WORKLOADS_HEALTHY) -> None:
        """What the container itself writes into the osdpl's status."""
        known = status(self.kube)
        condition = Condition(ANSWERED_BY[container], word, reason, reason, known["observedGeneration"])  # type: ignore[arg-type]
        body: Mapping[str, Any] = {
            "apiVersion": OSDPL.api_version,
            "kind": OSDPL.kind,
            "metadata": {"name": KEY[1], "namespace": KEY[0]},
            "status": {
                "conditions": entries([condition], known["conditions"], self.clock.now()),
                **({"healthOf": health_of(self.kube)} if container == "health" else {}),
            },
        }
        self.kube.apply(body, manager=f"osctl-{container}", subresource="status")

    def deploy(self) -> None:
        """The region is deployed, and everyone says that all is well."""
        self.core.reconcile(KEY)
        deploy_all(self.kube)
        self.says("health")
        self.core.reconcile(KEY)


@pytest.fixture
def pod() -> Pod:
    pod = Pod()
    pod.deploy()
    pod.passes(TIMES.silent_after)
    assert ready(pod.kube) == ("True", "RegionReady")
    return pod


def test_a_container_that_does_not_renew_makes_ready_unknown_and_is_named(pod: Pod) -> None:
    pod.alive.remove("health")
    pod.passes(TIMES.silent_after - 3 * RENEW_EVERY)
    assert ready(pod.kube) == ("True", "RegionReady")
    pod.passes(30)
    assert ready(pod.kube) == ("Unknown", "ContainerSilent")
    message = find(status(pod.kube)["conditions"], "Ready")["message"]
    assert "health (WorkloadsHealthy)" in message
    assert "helmbundle" not in message
    assert pod.events.emitted[-1] == ("Warning", "ContainerSilent")


def test_ready_comes_back_unaided_when_it_renews_again(pod: Pod) -> None:
    pod.alive.clear()
    pod.passes(2 * TIMES.silent_after)
    assert ready(pod.kube)[0] == "Unknown"
    pod.alive.update(OTHERS)
    pod.passes(TIMES.steady_for + 2 * CHECK_SECONDS)
    assert ready(pod.kube) == ("True", "RegionReady")


def test_one_that_ends_again_and_again_is_not_believed_between(pod: Pod) -> None:
    """It renews at each start, and has looked at nothing when it ends."""
    pod.alive.remove("health")
    pod.passes(300)
    for _ in range(3):
        pod.alive.add("health")
        pod.passes(20)
        assert ready(pod.kube) == ("Unknown", "ContainerSilent")
        pod.alive.remove("health")
        pod.passes(300)
        assert ready(pod.kube) == ("Unknown", "ContainerSilent")
    assert [one for one in pod.events.emitted if one[1] == "ContainerSilent"] == [
        ("Warning", "ContainerSilent")
    ]


def test_one_whose_work_does_not_end_is_not_believed_although_it_renews(pod: Pod) -> None:
    pod.work_age["health"] = STUCK_AFTER
    pod.passes(3 * CHECK_SECONDS)
    assert ready(pod.kube) == ("True", "RegionReady")
    pod.work_age["health"] = STUCK_AFTER + 5
    pod.passes(2 * CHECK_SECONDS)
    assert ready(pod.kube) == ("Unknown", "ContainerSilent")
    assert "health (WorkloadsHealthy)" in find(status(pod.kube)["conditions"], "Ready")["message"]
    pod.work_age["health"] = 0.0
    pod.passes(TIMES.steady_for + 2 * CHECK_SECONDS)
    assert ready(pod.kube) == ("True", "RegionReady")


def test_nothing_is_written_while_nothing_differs(pod: Pod) -> None:
    pod.alive.remove("health")
    pod.passes(2 * TIMES.silent_after)
    changes = pod.changes
    pod.kube.forget_requests()
    pod.passes(2 * TIMES.silent_after)
    assert pod.changes == changes
    assert [one for one in pod.kube.writes if one.kind != "Lease"] == []


def test_what_a_living_container_knows_to_be_false_goes_before(pod: Pod) -> None:
    pod.alive.remove("helmbundle")
    pod.says("health", "False", Reason.WORKLOADS_FAILING)
    pod.passes(2 * TIMES.silent_after)
    pod.core.reconcile(KEY)
    assert ready(pod.kube) == ("False", "WorkloadsFailing")


@pytest.mark.slow
def test_a_silent_helmbundle_is_named_when_an_edit_is_not_taken_up(pod: Pod) -> None:
    pod.alive.remove("helmbundle")
    assert pod.kube.merge_patch(OSDPL, KEY[1], KEY[0], {"spec": {"publicDomainName": "example.net"}})
    pod.core.reconcile(KEY)
    pod.passes(2 * TIMES.silent_after)
    pod.says("health")
    pod.core.reconcile(KEY)
    assert ready(pod.kube) == ("Unknown", "ContainerSilent")


def test_after_its_own_restart_core_does_not_believe_what_it_did_not_believe_before(pod: Pod) -> None:
    pod.alive.remove("health")
    pod.passes(2 * TIMES.silent_after)
    pod.restart()
    pod.core.reconcile(KEY)
    pod.passes(CHECK_SECONDS)
    pod.core.reconcile(KEY)
    assert ready(pod.kube) == ("Unknown", "ContainerSilent")
    pod.passes(2 * TIMES.silent_after)
    assert ready(pod.kube) == ("Unknown", "ContainerSilent")
    pod.alive.add("health")
    pod.passes(TIMES.steady_for + 2 * CHECK_SECONDS)
    assert ready(pod.kube) == ("True", "RegionReady")


def test_a_restart_of_core_alone_changes_nothing(pod: Pod) -> None:
    pod.restart()
    pod.core.reconcile(KEY)
    pod.passes(2 * TIMES.silent_after)
    assert ready(pod.kube) == ("True", "RegionReady")


def test_a_container_that_never_came_up_is_silent(pod: Pod) -> None:
    pod.kube.delete(LEASE, "osctl-health", OWN)
    pod.alive.remove("health")
    pod.passes(TIMES.silent_after + 2 * CHECK_SECONDS)
    assert ready(pod.kube) == ("Unknown", "ContainerSilent")


def test_while_the_api_server_is_away_no_container_counts_as_silent(pod: Pod) -> None:
    pod.kube.away = True
    for _ in range(20):
        pod.clock.advance(CHECK_SECONDS)
        with pytest.raises(ApiUnavailable):
            pod.others.observe()
    pod.kube.away = False
    pod.others.observe()
    assert pod.others.silence().silent == frozenset()
    assert TIMES.far_apart < TIMES.silent_after
    pod.passes(2 * TIMES.silent_after)
    assert ready(pod.kube) == ("True", "RegionReady")
