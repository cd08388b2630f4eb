"""Which host a maintenance is for, and which other Nodes are the same machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from controller.domain.hosts.host_names import host_of, hostname_of, remembered_hosts
from controller.domain.hosts.nodes import NodeFacts, parse_node
from controller.domain.shared.cloud_facts import CloudView
from controller.ports.kubernetes import NODE, Kube, KubeObject
from controller.reconcile.maintenance.status import MaintenanceWork
from controller.reconcile.shared.object_store import ObjectStore


class MaintainedHosts:
    """Locates maintenances. `nodes`: all Nodes; compared with the API server every `resync` seconds."""

    def __init__(self, kube: Kube, nodes: ObjectStore, namespace: str, *, resync: float) -> None:
        self._kube = kube
        self._namespace = namespace
        self._nodes = nodes
        self._resync = resync

    def known(self) -> bool:
        """Whether all Nodes have been seen: until then another one of a host may be missed.

        Raises KubeError.
        """
        return self._nodes.is_complete(not_older_than=self._resync)

    def taking(self, osdpl: KubeObject, view: CloudView) -> frozenset[str]:
        """Hosts that may be given servers: of compute Nodes, and of those that were, under whatever name."""
        nodes: list[NodeFacts] = self._nodes.facts(NODE)
        names = {name for one in nodes if one.is_compute for name in (one.name, one.hostname)}
        names |= set(remembered_hosts(osdpl).values())
        return frozenset(one.host for one in view.services if one.enabled and one.up and one.host in names)

    def located(self, work: MaintenanceWork, osdpl: KubeObject, view: CloudView) -> MaintenanceWork:
        """With its Node, the host that OpenStack knows it by, and the other Nodes of that host.

        Raises KubeError.
        """
        remembered = remembered_hosts(osdpl)
        name = work.spec.node
        node = self._kube.get(NODE, name)
        host = host_of(name, view, hostname=hostname_of(node), remembered=remembered.get(name, ""))
        beside = tuple(
            fresh
            for one in self._nodes.facts(NODE)
            if one.name != name and host in (one.name, one.hostname, remembered.get(one.name))
            for fresh in self._fresh(one.name)
            if host_of(fresh.name, view, hostname=fresh.hostname, remembered=remembered.get(fresh.name, ""))
            == host
        )
        return replace(work, node=node, host=host, beside=beside)

    def _fresh(self, name: str) -> Iterator[NodeFacts]:
        """The Node as it is now: servers may be evacuated by what it shows."""
        live = self._kube.get(NODE, name)
        node = parse_node(live, self._namespace) if live is not None else None
        if node is not None:
            yield node
