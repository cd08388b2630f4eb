"""What one pass finds: Nodes, pods and maintenances, and with OpenStack's lists the facts of each host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.api.region_name import RegionName, region_of
from controller.domain.api.region_spec import parse_region_spec, spec_in_force
from controller.domain.hosts.host_facts import HostFacts, has_begun, is_automatic, is_plan, is_put_back
from controller.domain.hosts.host_names import HostMatches, match_hosts, without_host
from controller.domain.hosts.next_step import MISSING_OBSERVATIONS
from controller.domain.hosts.node_pods import NodePod, daemons_by_node, unready_daemons
from controller.domain.hosts.node_policy import NodePolicy, node_policy
from controller.domain.hosts.node_roles import COMPUTE_ROLE
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.hosts.nodes_status import HostReport
from controller.domain.hosts.same_machine import SameMachine
from controller.domain.shared.cloud_facts import CloudView
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, OSDPL, POD, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.hosts.forced_down import ForcedDownHosts
from controller.reconcile.hosts.last_host_findings import LastHostFindings
from controller.reconcile.hosts.present_hosts import PresentHosts
from controller.reconcile.shared.first_seen import FirstSeen
from controller.reconcile.shared.managed_region import managed_region
from controller.reconcile.shared.object_store import ObjectStore


@dataclass(frozen=True, slots=True)
class KnownHost:
    """What was reported of a Node before, in the status of the region or since."""

    uid: str = ""
    host: str = ""
    compute: bool = False
    reason: str = ""


@dataclass(frozen=True)
class NodesSnapshot:
    """All that one pass at the Kubernetes side found. `maintenances`: the region's, by the name of
    their Node."""

    region: RegionName
    policy: NodePolicy
    nodes: Mapping[str, NodeFacts]
    pods: Sequence[NodePod]
    maintenances: Mapping[str, Sequence[KubeObject]]
    known: Mapping[str, KnownHost] = field(default_factory=dict)
    _matched: list[tuple[CloudView, HostMatches]] = field(default_factory=list, compare=False, repr=False)

    @property
    def remembered(self) -> dict[str, str]:
        """The hosts that Nodes were known to be."""
        return {name: one.host for name, one in self.known.items() if one.host}

    def matches(self, view: CloudView) -> HostMatches:
        """Which host each Node is. Worked out once for a view."""
        if not self._matched or self._matched[0][0] is not view:
            names = [node.names for node in self.nodes.values()]
            found = match_hosts(names, self.remembered, view, namespace=self.region.namespace)
            self._matched[:] = [(view, found)]
        return self._matched[0][1]

    def host(self, name: str, view: CloudView) -> str:
        """The host of a Node, as OpenStack calls it; empty where that is in doubt."""
        return self.matches(view).host(name)

    def maintenances_by_host(self, view: CloudView) -> dict[str, list[KubeObject]]:
        """Of a host, whichever of its Nodes they name: one that is out of service is so under any name."""
        found: dict[str, list[KubeObject]] = {}
        for name, maintenances in self.maintenances.items():
            # In doubt, it is of its Node alone.
            if not self.host(name, view):
                continue
            found.setdefault(self.host(name, view), []).extend(maintenances)
        return found

    def ready_as(self, name: str, view: CloudView) -> str:
        """Another Node that is the same host as `name` and is ready; empty for none."""
        return next((one.name for one in self.peers(name, view) if one.is_ready), "")

    def same_machine(self, name: str, view: CloudView) -> SameMachine:
        """Finds other Nodes of the machine of `name`, also those that no watch has reported."""
        return SameMachine(name, self.host(name, view), self.remembered, view)

    def peers(self, name: str, view: CloudView) -> Iterator[NodeFacts]:
        """Other Nodes with a role that are the same host as `name`, as the watch has reported them."""
        host = self.host(name, view)
        for one in self.nodes.values():
            if one.name != name and host and self.host(one.name, view) == host:
                yield one

    def is_compute(self, name: str) -> bool:
        """Whether a Node is one for computes by its label."""
        node = self.nodes.get(name)
        return node is not None and node.is_compute

    def former_computes(self) -> tuple[str, ...]:
        """Nodes that were for computes and are not any more, gone or not."""
        return tuple(
            name for name, known in self.known.items() if known.compute and not self.is_compute(name)
        )

    def gone(self) -> tuple[str, ...]:
        """Nodes without a role that had a host."""
        return tuple(name for name, known in self.known.items() if known.uid and name not in self.nodes)


class NodesObserver:
    """Reads the snapshot of a pass, and gives the facts of every host. Not thread-safe."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        nodes: ObjectStore,
        region: ObjectStore,
        findings: LastHostFindings,
        namespace: str,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._nodes = nodes
        self._region = region
        self._findings = findings
        self._namespace = namespace
        self._seen = FirstSeen()
        self._present = PresentHosts(clock)
        self._forced_down = ForcedDownHosts(kube, clock, namespace)
        self._no_agents = 0

    def read(self) -> NodesSnapshot | None:
        """The Kubernetes side; None where there is no region. Raises KubeError."""
        name = managed_region(self._kube, self._namespace)
        osdpl = self._kube.get(OSDPL, name, self._namespace) if name else None
        if osdpl is None:
            return None
        region = RegionName(self._namespace, name)
        listed: list[NodeFacts] = self._nodes.facts(NODE)
        maintenances: dict[str, list[KubeObject]] = {}
        for one in self._kube.list(COMPUTE_MAINTENANCE):
            if region_of(one) == region and not (is_plan(one) or is_put_back(one)):
                maintenances.setdefault(str(one["spec"]["nodeName"]), []).append(one)
        status = osdpl.get("status") or {}
        return NodesSnapshot(
            region=region,
            policy=node_policy(parse_region_spec(spec_in_force(osdpl)), str(status.get("restore") or "")),
            nodes={node.name: node for node in listed},
            pods=self._region.facts(POD),
            maintenances=maintenances,
            known=_known(status.get("nodes") or {}, self._findings.read().reports),
        )

    def facts(self, snapshot: NodesSnapshot, view: CloudView) -> list[HostFacts]:
        """Compute nodes, and those that were nodes and of which OpenStack may still know."""
        computes = {name for name, node in snapshot.nodes.items() if node.is_compute}
        # The last one of a host has it: of several Nodes one that is ready, and of those the newest.
        owners = {
            host: name
            for name in sorted(
                computes, key=lambda one: (snapshot.nodes[one].is_ready, snapshot.nodes[one].created, one)
            )
            if (host := snapshot.host(name, view))
        }
        gone = {*snapshot.former_computes(), *snapshot.gone()}
        heirs = {owners[host]: name for name in sorted(gone) if (host := snapshot.host(name, view)) in owners}
        names = sorted(computes | gone)
        # Agents do not all go at once: a list without any is a broken answer, until it stays so.
        self._no_agents = self._seen.observe(("", "agents"), not view.agents, self._clock.now()).observations
        daemons = daemons_by_node(pod for pod in snapshot.pods if pod.node in computes)
        self._seen.keep({(name, what) for name in names for what in ("service", "cell")} | {("", "agents")})
        maintenances = snapshot.maintenances_by_host(view)
        runs = {
            snapshot.nodes[pod.node].uid: pod.compute.run if pod.ready else ""
            for pod in snapshot.pods
            if pod.compute is not None and pod.node in computes
        }
        self._present.observe((snapshot.nodes[name].uid for name in computes), view, runs)
        forced = self._forced_down.observe(view)
        found = []
        for name in names:
            before = snapshot.known.get(name) or snapshot.known.get(heirs.get(name, "")) or KnownHost()
            owner = owners.get(snapshot.host(name, view), "")
            taken = owner if owner != name else ""
            facts = self._host(name, snapshot, view, known=before, listed=maintenances)
            unready = unready_daemons(daemons, name)
            ours = forced.get(facts.host, "")
            found.append(replace(facts, unready_pods=unready, taken_over=taken, forced_down_by_us=ours))
        return found

    def _host(
        self,
        name: str,
        snapshot: NodesSnapshot,
        view: CloudView,
        *,
        known: KnownHost,
        listed: Mapping[str, Sequence[KubeObject]],
    ) -> HostFacts:
        node, now = snapshot.nodes.get(name), self._clock.now()
        is_compute = node is not None and node.is_compute
        was_compute = is_compute or known.compute
        host = snapshot.host(name, view)
        service = view.service(host) if was_compute else None
        hypervisor = view.hypervisor(host) if was_compute else None
        missing = self._seen.observe((name, "service"), service is None, now)
        unmapped = self._seen.observe((name, "cell"), service is not None and hypervisor is None, now)
        matches = snapshot.matches(view)
        here = listed.get(host, ()) if host else snapshot.maintenances.get(name, ())
        planned = [one for one in here if not is_automatic(one) and has_begun(one)]
        maintenance = next(iter([*planned, *(one for one in here if is_automatic(one))]), None)
        # The agents of a node with another role than computes are in use.
        agents = view.agents_on(host) if node is None or is_compute else ()
        known_agents = view.agents or self._no_agents >= MISSING_OBSERVATIONS
        return HostFacts(
            name=name,
            node=node.as_compute() if node is not None and is_compute else None,
            service=service,
            was_compute=was_compute,
            # What was reported missing before a restart is not waited for again.
            missing_since=0.0 if known.reason == Reason.COMPUTE_MISSING else missing.since,
            missing_observations=missing.observations,
            unmapped_since=unmapped.since,
            mapped=hypervisor is not None,
            agents=agents if known_agents or (node is not None and not is_compute) else None,
            agents_expected=bool(view.agents),
            automatic=maintenance is not None and not planned,
            servers=hypervisor.servers if hypervisor is not None else (None if service else 0),
            maintenance=str(maintenance["metadata"]["name"]) if maintenance else "",
            known_uid=known.uid,
            host=host,
            doubt=matches.doubts.get(name, ""),
            strangers=without_host(name, matches.strangers, snapshot.region.namespace),
            unmapped_stranger=any(view.hypervisor(one) is None for one in matches.strangers),
            node_known_for=self._present.known_for(node.uid) if node is not None else 0.0,
            reports=self._present.reports(host),
            own_compute=node is not None and self._present.own_compute(node.uid),
        )


def _known(status: Mapping[str, Any], reports: Mapping[str, HostReport]) -> dict[str, KnownHost]:
    """From the status of the region, and from what was found since it was read."""
    found = {}
    for name in status.keys() | reports.keys():
        entry, report = status.get(name) or {}, reports.get(name, HostReport())
        if report.forget:
            continue
        found[name] = KnownHost(
            uid=report.uid or str(entry.get("uid") or ""),
            host=report.host or str(entry.get("host") or ""),
            compute=bool(report.compute or entry.get("compute")) or COMPUTE_ROLE in entry.get("roles", ()),
            reason=report.reason or str(entry.get("reason") or ""),
        )
    return found
