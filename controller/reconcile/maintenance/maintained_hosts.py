"""Which host a maintenance is for, and which other Nodes are the same machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.domain.hosts.fencing_confirmation import report_of
from controller.domain.hosts.host_names import match_hosts, names_of, remembered_hosts
from controller.domain.hosts.nodes import NodeFacts, machine_facts, parse_node
from controller.domain.hosts.same_machine import SameMachine
from controller.domain.maintenance.move_choice import Mode
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
        remembered = remembered_hosts(osdpl)
        matches = match_hosts([one.names for one in nodes], remembered, view)
        names = set(remembered.values())
        for one in nodes:
            if one.is_compute:
                names |= {one.name, one.names.hostname, matches.host(one.name)}
                names.update(matches.candidates.get(one.name, ()))
        return frozenset(one.host for one in view.services if one.enabled and one.up and one.host in names)

    def located(
        self, works: Sequence[MaintenanceWork], osdpl: KubeObject, view: CloudView
    ) -> list[MaintenanceWork]:
        """Each with its Node, the host that OpenStack knows it by, and to evacuate it all Nodes of that host.

        In doubt one keeps the host that it was known to have, for what has begun there. Raises KubeError.
        """
        evacuates = any(work.spec.mode == Mode.EVACUATE for work in works)
        nodes = self._kube.list(NODE) if evacuates else ()
        return [self._located(work, osdpl, view, nodes) for work in works]

    def _located(
        self, work: MaintenanceWork, osdpl: KubeObject, view: CloudView, nodes: Sequence[KubeObject]
    ) -> MaintenanceWork:
        remembered = remembered_hosts(osdpl)
        name = work.spec.node
        node = self._kube.get(NODE, name)
        names = {one.name: one.names for one in self._nodes.facts(NODE)}
        if node is not None:
            names[name] = names_of(node, self._namespace)
        matches = match_hosts(names.values(), remembered, view, namespace=self._namespace)
        if name in matches.doubts:
            host = remembered.get(name, name)
            return replace(work, node=node, host=host, doubt=matches.doubts[name])
        host = matches.host(name)
        if work.spec.mode != Mode.EVACUATE:
            return replace(work, node=node, host=host)
        # A watch may be late, and reports only Nodes with a role.
        same = SameMachine(name, host, remembered, view)
        facts = [machine_facts(one, self._namespace) for one in nodes]
        # A Node has it noted on itself, as long as it has a role.
        on_node = node is not None and parse_node(node, self._namespace) is not None
        report = "" if on_node else report_of(view.service(host))
        takers = {one: found for one in names if one != name and (found := matches.host(one))}
        return replace(
            work, node=node, host=host, same=same, beside=same.among(facts), takers=takers, report=report
        )


def missing(work: MaintenanceWork, view: CloudView) -> str | None:
    """Why there is nothing to be taken out of service, None where there is."""
    if work.doubt and not work.started:
        return work.doubt
    if work.node is not None:
        return None
    known = view.service(work.host) is not None or view.hypervisor(work.host) is not None
    if known and (work.spec.mode == Mode.EVACUATE or work.started):
        return None
    text = f'there is no node "{work.spec.node}"'
    return text if known else f"{text}, and OpenStack has no host with that name"
