"""A container `node` as a process: the reconcilers of production on links that may break, slow down or lie.

Each call goes through the world first. There a process is killed between any two writes, stands still, or
meets another one that does the same at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from containers.node import REGION_PARSERS
from controller.errors import ControllerError
from controller.ports.kubernetes import NODE, POD, Resource
from controller.reconcile.hosts.compute_hosts import HostPorts, HostSettings, HostsReconciler
from controller.reconcile.hosts.drain_locks.pods import DrainLocks
from controller.reconcile.hosts.last_host_findings import LastHostFindings
from controller.reconcile.hosts.nodes_status import NodesReconciler, node_parsers
from controller.reconcile.maintenance.compute_maintenance import MaintenancesReconciler
from controller.reconcile.maintenance.maintained_hosts import MaintainedHosts
from controller.reconcile.shared.cloud_access import CloudAccess
from controller.reconcile.shared.object_store import ObjectStore
from tests.fakes.objects import Identity
from tests.reconcile.watched import NAME
from tests.world.clocks import WrongClock
from tests.world.cluster import NAMESPACE
from tests.world.links import CloudLink, FencingLink, KubeLink

if TYPE_CHECKING:
    from tests.world.world import World

RESYNC = 300.0


class Killed(BaseException):
    """The process ends here. Not an Exception: nothing of it may be caught."""


class _SilentEvents:
    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        """No one reads them here."""


class _Clouds:
    def __init__(self, cloud: CloudLink) -> None:
        self._cloud = cloud

    def open(self, clouds: bytes, authority: bytes = b"") -> CloudLink:
        return self._cloud


class Process:
    """One container. It knows nothing but what stands in Kubernetes and OpenStack when it begins.

    `blind`: its watches tell it nothing for now. `inside`: what of it is at work now.
    """

    def __init__(self, world: World, name: str, offset: float) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.blind = False
        self.inside: set[str] = set()
        self._fed: dict[Resource, dict[Identity, str]] = {}
        kube, clock = KubeLink(world, self), WrongClock(world.time, offset)
        self.clock = clock
        events = _SilentEvents()
        self.nodes = ObjectStore(kube, clock, None, node_parsers(NAMESPACE))
        self.region = ObjectStore(kube, clock, NAMESPACE, REGION_PARSERS)
        access = CloudAccess(kube, _Clouds(CloudLink(world, self)), clock, NAMESPACE)
        findings = LastHostFindings()
        self._status = NodesReconciler(
            kube=kube, clock=clock, events=events, store=self.nodes, resync=RESYNC, findings=findings
        )
        self._hosts = HostsReconciler(
            HostPorts(kube=kube, clock=clock, events=events, access=access, fencing=FencingLink(world, self)),
            HostSettings(namespace=NAMESPACE, resync=RESYNC),
            nodes=self.nodes,
            region=self.region,
            locks=DrainLocks(kube, NAMESPACE, "image"),
            findings=findings,
        )
        self._maintenances = MaintenancesReconciler(
            kube=kube,
            clock=clock,
            events=events,
            access=access,
            hosts=MaintainedHosts(kube, self.nodes, NAMESPACE, resync=RESYNC),
            namespace=NAMESPACE,
            findings=findings,
        )
        self._reconcilers = {
            "hosts": self._hosts.reconcile,
            "maintenances": self._maintenances.reconcile,
            "region": lambda: self._status.reconcile((NAMESPACE, NAME)),
        }

    def run(self, *kinds: str) -> None:
        """One pass of each, as a worker takes them from the queue. An error of ours is logged there."""
        for kind in kinds:
            if not self.alive or kind in self.inside:
                continue
            self.inside.add(kind)
            try:
                self.watch()
                self._reconcilers[kind]()
            except ControllerError:
                continue
            except Killed:
                self.alive = False
                return
            finally:
                self.inside.discard(kind)

    def watch(self) -> None:
        """What has changed since is reported, unless its watches are cut."""
        if self.blind:
            return
        kube = self.world.cluster.kube
        for store, resources in ((self.nodes, (NODE,)), (self.region, (POD,))):
            for resource in resources:
                now, before = kube.versions(resource), self._fed.get(resource, {})
                for key, version in now.items():
                    if before.get(key) != version:
                        store.feed(resource, "MODIFIED", kube.raw(key))
                for key in before.keys() - now.keys():
                    store.feed(resource, "DELETED", self._gone[key])
                self._fed[resource] = now
                self._gone = getattr(self, "_gone", {}) | {key: _stub(kube.raw(key)) for key in now}


def _stub(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}}
