"""Which nodes must not be drained now: those whose loss breaks a majority, and those with servers."""

from __future__ import annotations

from collections.abc import Sequence

from controller.domain.health.quorum import groups_broken_by
from controller.domain.health.workloads import Workload
from controller.domain.hosts.host_names import names_of
from controller.domain.hosts.next_step import MISSING_OBSERVATIONS
from controller.domain.hosts.node_pods import quorum_groups
from controller.domain.shared.cloud_facts import CloudView
from controller.domain.shared.plurals import count
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import NODE, Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts.drain_locks.pods import DrainLocks, LockedNodes
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.removal import remaining_in_openstack
from controller.reconcile.shared.fair_order import FairOrder
from controller.reconcile.shared.first_seen import FirstSeen


class DrainLockReasons:
    """Decides which Nodes have a drain lock.

    One list that shows servers is enough to make a lock; it is released only when all lists agree.
    """

    def __init__(self, kube: Kube, clock: Clock, locks: DrainLocks) -> None:
        self._kube = kube
        self._clock = clock
        self._locks = locks
        self._empty = FirstSeen()
        self._order = FairOrder()

    def release_all(self) -> None:
        """There is no region any more. Raises KubeError."""
        self._locks.ensure({}, self._clock.now())

    def ensure_locks(
        self,
        snapshot: NodesSnapshot,
        workloads: Sequence[Workload],
        view: CloudView | None,
        cloud: Cloud | None,
    ) -> LockedNodes:
        """The nodes that are locked, and why. Without a pass at OpenStack, locks of hosts stay.

        Raises KubeError.
        """
        groups = quorum_groups(workloads, snapshot.pods)
        former = [name for name in snapshot.former_computes() if name not in snapshot.nodes]
        desired: dict[str, str] = {}
        for name in [*snapshot.nodes, *former]:
            broken = groups_broken_by(name, groups)
            if broken:
                desired[name] = f"the loss of the node would break the majority of {', '.join(broken)}"
                continue
            servers = _servers(name, snapshot, view) if view is not None else 0
            if not servers or not self._concerns(name, snapshot):
                continue
            if name not in former or self._kube.get(NODE, name) is not None:
                desired[name] = f"{count(servers, 'server is', 'servers are')} on it"
        for name in desired:
            self._empty.observe(name, False, self._clock.now())
        return self._locks.ensure(
            desired,
            self._clock.now(),
            lambda name: self._why_still(name, snapshot, view, cloud),
            lambda names: self._order.of(names, str),
        )

    @staticmethod
    def _concerns(name: str, snapshot: NodesSnapshot) -> bool:
        """Whether servers of the node are our business: it is or was one for computes."""
        known = snapshot.known.get(name)
        return snapshot.is_compute(name) or (known is not None and known.compute)

    def _why_still(
        self, name: str, snapshot: NodesSnapshot, view: CloudView | None, cloud: Cloud | None
    ) -> str:
        """Why a lock that is there stays although nothing asks for it now; empty where it may go."""
        live = self._kube.get(NODE, name) if name not in snapshot.nodes else None
        concerns = self._concerns(name, snapshot)
        if live is None and (name not in snapshot.nodes or not concerns):
            return ""
        if view is None or cloud is None:
            return "the controller does not know whether servers are on the node"
        host = snapshot.host(name, view)
        if live is not None and not concerns:
            # It has lost its role, and another Node of its machine has its host: by its own names it is that.
            names = names_of(live, snapshot.region.namespace)
            host = names.stated or names.hostname or name
        if not host:
            return (
                "the controller does not know whether servers are on the node: "
                f"{snapshot.matches(view).doubts.get(name, '')}"
            )
        if view.hypervisor(host) is None and view.service(host) is not None:
            return "the controller does not know whether servers are on the node"
        if self._empty.observe(name, True, self._clock.now()).observations < MISSING_OBSERVATIONS:
            return "checking that no server is on it"
        if cloud.late:
            return "the next reconciliation checks that no server is on it"
        self._order.reached(name)
        try:
            remaining = remaining_in_openstack(host, cloud)
        except (CloudUnavailable, CloudRefused) as error:
            remaining = f"the controller does not know whether servers are on the node: {error}"
        if not remaining:
            self._empty.observe(name, False, self._clock.now())
        return remaining


def _servers(name: str, snapshot: NodesSnapshot, view: CloudView) -> int:
    """How many are on the host of a Node; in doubt, on any that it may be."""
    matches = snapshot.matches(view)
    hosts = matches.candidates.get(name) or (matches.host(name),)
    found = (view.hypervisor(host) for host in hosts)
    return sum(one.servers for one in found if one is not None)
