"""A small region with its real core, helmbundle and health on one cluster in memory, one turn at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from controller.domain.api.conditions import find
from controller.domain.api.names import CONTAINERS
from controller.domain.region.facts import SilentContainers
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, KubeObject
from controller.reconcile.health.parts import HealthPorts, HealthSettings
from controller.reconcile.health.status import PARSERS, HealthReconciler
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.releases.children_status import ChildrenReporter
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.pod_output import at_once
from controller.render.chart_builds import ChartDefaults
from controller.render.region import Region
from controller.render.rendered_region import RenderedRegion
from tests.fakes.world import FakeClock
from tests.reconcile.bundles import Bench, NoEvents
from tests.reconcile.region.test_deployment import KEY, edit, osdpl
from tests.reconcile.region.test_region_plan import Charts, render

SECRETS = {"SecretsExchanged": "SecretsReady"}
NODES = {"NodesReady": "NodesReady"}


class RegionWorld(Bench):
    """Four releases in three bundles: keystone; glance; libvirt and nova. All containers are deployed;
    what secrets and node say is said here, in their words."""

    def __init__(self, **spec: Any) -> None:
        self.region_events = NoEvents()
        self.silence = SilentContainers()
        self.renders: list[int] = []  # the generation of each rendering, also of containers before this one
        super().__init__()
        self.kube.create(osdpl(**spec))

    def restart(self) -> None:
        self.charts = Charts()  # type: ignore[assignment]
        super().restart()
        clock: FakeClock = self.clock
        self.rendered = RenderedRegion(self.render, charts=self.charts, clock=clock)
        self.core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=clock, events=self.region_events, charts=self.charts),
            RegionSettings(containers=CONTAINERS, version="0.1.0", resync=300),
            render=self.rendered.of,
            silence=lambda: self.silence,
        )
        self.children = ChildrenReporter(self.kube, clock)
        self.store = ObjectStore(self.kube, clock, KEY[0], PARSERS)
        self.health = HealthReconciler(
            HealthPorts(
                kube=self.kube,
                clock=clock,
                events=self.region_events,
                records=cast(ReleaseRecords, self.helm),
            ),
            HealthSettings(namespace=KEY[0], resync=300),
            store=self.store,
            changed=lambda: None,
            beside=at_once,
        )

    def render(self, obj: Mapping[str, Any], charts: ChartDefaults) -> Region:
        self.renders.append(int(obj["metadata"]["generation"]))
        region = render(obj)
        for bundle in region.bundles:
            for release in bundle.releases:
                charts.defaults(release.spec.chart)
        return region

    # -- what happens

    def peek(self) -> None:
        """Every container looks once; actions that wait for hooks go on."""
        self.core.reconcile(KEY)
        self.reconcile()
        self.report()

    def turn(self, times: int = 2) -> None:
        """Everything that can end ends, and every container has seen it."""
        for _ in range(times):
            self.core.reconcile(KEY)
            self.settle()
            self.report()

    def report(self) -> None:
        """The containers tell the region's status, and core sums it up; health and children see both."""
        for _ in range(2):
            self.children.reconcile(KEY)
            self._judge()
            self._others()
            self.core.reconcile(KEY)

    def edit(self, **spec: Any) -> None:
        edit(self.kube, **spec)

    def pause(self) -> None:
        self.edit(mode="Paused")

    def _judge(self) -> None:
        for resource in PARSERS:
            for obj in self.kube.list(resource, KEY[0]):
                self.store.feed(resource, "MODIFIED", obj)
            self.store.catch_up(resource)
        self.clock.advance(2)
        self.health.reconcile(KEY)

    def _others(self) -> None:
        if self.osdpl() is None:
            return
        generation = int(self.region["metadata"]["generation"])
        for manager, said in (("osctl-secrets", SECRETS), ("osctl-node", NODES)):
            [(type_, reason)] = said.items()
            entry: dict[str, Any] = {"type": type_, "status": "True", "reason": reason, "message": ""}
            entry |= {"observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"}
            body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "status": {"conditions": [entry]}}
            meta = {"name": KEY[1], "namespace": KEY[0]}
            self.kube.apply({**body, "metadata": meta}, manager=manager, subresource="status")

    # -- what is said

    def osdpl(self) -> KubeObject | None:
        return self.kube.get(OSDPL, KEY[1], KEY[0])

    @property
    def region(self) -> KubeObject:
        found = self.osdpl()
        assert found is not None
        return found

    def said(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition of the region; of one that is not there, empty."""
        entry = find(self.region["status"]["conditions"], type_)
        return str(entry.get("status") or ""), str(entry.get("reason") or "")

    def words(self, type_: str) -> str:
        """The message of a condition of the region."""
        return str(find(self.region["status"]["conditions"], type_).get("message") or "")

    def bundles(self) -> list[KubeObject]:
        return self.kube.list(HELMBUNDLE, KEY[0])


def replicas(**of: int) -> dict[str, Any]:
    """`spec.services` with other values for releases of the region, such as `keystone=2`."""
    services = {"keystone": "identity", "glance": "image", "libvirt": "compute", "nova": "compute"}
    result: dict[str, Any] = {}
    for release, count in of.items():
        values = {"values": {"pod": {"replicas": {"api": count}}}}
        result.setdefault(services[release], {})[release] = values
    return result
