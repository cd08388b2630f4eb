"""Observes all compute hosts and takes the next step for each, one after the other.

Nothing is remembered between two passes but what stands in Kubernetes and OpenStack: marks in
disabled_reason, annotations of Nodes, `status.nodes` of the region. Every step is decided again on a Node
read that very moment before it is taken.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from controller.domain.api.reasons import WARNING, Reason
from controller.domain.hosts.circuit_breaker import circuit_breaker_trips
from controller.domain.hosts.host_facts import PASSIVE, HostFacts, NextStep, Step
from controller.domain.hosts.next_step import decide_host
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import CloudUnavailable
from controller.ports.fencing import Fencing
from controller.ports.kubernetes import STATEFULSET, Events, Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts.aggregates import HostAggregates
from controller.reconcile.hosts.disk_records import DiskRecords
from controller.reconcile.hosts.drain_locks.pods import DrainLocks, LockedNodes
from controller.reconcile.hosts.drain_locks.reasons import DrainLockReasons
from controller.reconcile.hosts.fenced_nodes import FencedNodes
from controller.reconcile.hosts.fencing import HostFencing
from controller.reconcile.hosts.host_reports import host_reports, with_locks
from controller.reconcile.hosts.last_host_findings import HostFindings, LastHostFindings
from controller.reconcile.hosts.lost_nodes.lost_node_cleanup import LostNodeCleanup
from controller.reconcile.hosts.node_annotations import NodeAnnotations
from controller.reconcile.hosts.observe import NodesObserver, NodesSnapshot
from controller.reconcile.hosts.reenable_services import ReenabledServices
from controller.reconcile.hosts.reenable_volume_services import ReenabledVolumeServices
from controller.reconcile.hosts.retry_pauses import AGAIN_AFTER
from controller.reconcile.hosts.step_rounds import STEPS_PER_PASS, HostStepRounds
from controller.reconcile.shared.cloud_access import CloudAccess
from controller.reconcile.shared.object_store import CATCHING_UP, ObjectStore

log = logging.getLogger(__name__)

# Between two passes; OpenStack has no watches. A pass is about six requests, whatever the number of hosts.
EVERY = 10.0
# Events come in bursts: between two passes there are so many seconds at least.
AT_LEAST = 2.0
NO_REGION = 30.0
PAUSED = "spec.mode is Paused: nothing is done automatically"


@dataclass(frozen=True)
class HostPorts:
    """The world as compute hosts need it."""

    kube: Kube
    clock: Clock
    events: Events
    access: CloudAccess
    fencing: Fencing


@dataclass(frozen=True)
class HostSettings:
    """`namespace` is the region's. `resync`: seconds after which what watches report is compared with the API
    server again; `every`: seconds between two looks at OpenStack."""

    namespace: str
    resync: float
    every: float = EVERY


def _paused(snapshot: NodesSnapshot) -> str:
    """Why nothing is done by itself in a region that is paused; empty for another."""
    if snapshot.policy.restore:
        return f"restore {snapshot.policy.restore} runs: nothing is done automatically"
    return PAUSED if snapshot.policy.paused else ""


class HostsReconciler:
    """Reconciles all compute hosts of the region in one namespace."""

    def __init__(
        self,
        ports: HostPorts,
        settings: HostSettings,
        *,
        nodes: ObjectStore,
        region: ObjectStore,
        locks: DrainLocks,
        findings: LastHostFindings,
    ) -> None:
        kube, clock, namespace = ports.kube, ports.clock, settings.namespace
        self._ports = ports
        self._settings = settings
        self._nodes = nodes
        self._region = region
        self._findings = findings
        self._observer = NodesObserver(
            kube=kube, clock=clock, nodes=nodes, region=region, findings=findings, namespace=namespace
        )
        self._annotations = NodeAnnotations(kube, clock, namespace)
        self._drain_locks = DrainLockReasons(kube, clock, locks)
        self._fencing = HostFencing(
            kube=kube, clock=clock, fencing=ports.fencing, notes=self._annotations, namespace=namespace
        )
        self._fenced = FencedNodes(kube, clock, ports.events, self._annotations, namespace)
        self._reported_steps: dict[str, tuple[str, str]] = {}
        self._rounds = HostStepRounds(kube, clock, namespace)
        self._cleanup = LostNodeCleanup(kube, clock, namespace)
        self._volumes = ReenabledVolumeServices(clock)
        self._services = ReenabledServices(kube, clock, namespace)
        self._disks = DiskRecords(kube, clock, namespace)
        self._aggregates = HostAggregates(kube, clock, namespace)
        self._observed_at = -AT_LEAST
        # When OpenStack was last looked at, in seconds since the epoch.
        self._known = 0.0

    def reconcile(self) -> float:
        """One pass; seconds until the next. Raises KubeError."""
        if not (self._nodes.is_complete(not_older_than=self._settings.resync) and self._region_complete()):
            return CATCHING_UP
        soon = self._observed_at + AT_LEAST - self._ports.clock.monotonic()
        if soon > 0:
            return soon
        self._observed_at = self._ports.clock.monotonic()
        snapshot = self._observer.read()
        if snapshot is None:
            self._drain_locks.release_all()
            return NO_REGION
        self._annotations.bring_up_to_date(snapshot.nodes.values(), snapshot.maintenances)
        try:
            cloud = self._ports.access.for_one_pass()
            view = self._ports.access.observe_hosts(cloud)
        except CloudUnavailable as error:
            locks = self._drain_locks.ensure_locks(snapshot, self._region.facts(STATEFULSET), None, None)
            self._report_unknown(str(error), locks, _paused(snapshot))
            extra = {"object": str(snapshot.region), "reason": type(error).__name__}
            log.info("OpenStack cannot be observed: %s", error, extra=extra)
            return max(AGAIN_AFTER, error.retry_after or 0.0)
        self._known = self._ports.clock.now()
        # What was done shows in the next pass, and so does what it makes room for.
        return AT_LEAST if self._reconcile_hosts(snapshot, cloud, view) else self._settings.every

    def _region_complete(self) -> bool:
        return self._region.is_complete(not_older_than=self._settings.resync)

    # -- what follows from a pass -------------------------------------------------------------------

    def _reconcile_hosts(self, snapshot: NodesSnapshot, cloud: Cloud, view: CloudView) -> bool:
        """Decides on every host and takes the steps; whether any changed something."""
        snapshot = self._fenced.reconcile(snapshot, view)
        # Before any step: an evacuation that is begun is judged by it.
        self._disks.reconcile(snapshot, view)
        hosts = self._observer.facts(snapshot, view)
        breaker_open = circuit_breaker_trips(hosts, snapshot.policy)
        now = self._ports.clock.now()
        decided = [(host, decide_host(host, snapshot.policy, breaker_open, now)) for host in hosts]
        turns = self._rounds.take(decided, snapshot, cloud, view=view, breaker_open=breaker_open)
        decided = [turns.states.get(host.name, (host, decision)) for host, decision in decided]
        refused: dict[str, str] = {}
        if not snapshot.policy.paused:
            refused = self._cleanup.ensure_cleaned(snapshot, view)
            self._volumes.ensure(snapshot, decided, cloud, view)
            self._services.ensure(snapshot, cloud, view)
        owners = [host.name for host in hosts if not (host.taken_over or snapshot.policy.paused)]
        self._aggregates.ensure(snapshot, owners, cloud, view, most=max(1, STEPS_PER_PASS - turns.tried))
        locks = self._drain_locks.ensure_locks(snapshot, self._region.facts(STATEFULSET), view, cloud)
        # Asked for last: while the service thinks, what was looked at grows old.
        awaiting = [one for one in decided if one[1].reason == Reason.FENCING_AWAITED]
        answers = self._fencing.ask(
            awaiting, snapshot.policy, lambda name: snapshot.same_machine(name, view), hurried=cloud.late
        )
        decided = [(host, answers.get(host.name, decision)) for host, decision in decided]
        for host, decision in decided:
            self._report(host, decision, snapshot)
        reports = host_reports(
            snapshot, view, decided, locks=locks, misplaced=self._aggregates.refused, refused=refused
        )
        strangers = snapshot.matches(view).strangers
        self._findings.write(
            HostFindings(reports, breaker_open, paused=_paused(snapshot), strangers=strangers)
        )
        return turns.changed

    # -- what is reported ---------------------------------------------------------------------------

    def _report_unknown(self, why: str, locks: LockedNodes, paused: str) -> None:
        """OpenStack cannot be observed: what it last reported stays, marked with its time."""
        before = self._findings.read()
        reported = with_locks(before.reports, locks)
        # A new process knows nothing yet: what the status says of its nodes stays.
        reports = {name: reported[name] for name in before.reports}
        self._findings.write(replace(before, reports=reports, paused=paused, unknown=why, as_of=self._known))

    def _report(self, host: HostFacts, decision: NextStep, snapshot: NodesSnapshot) -> None:
        """An event on the Node when what is done with its host changes."""
        words = (str(decision.step), str(decision.reason))
        if self._reported_steps.get(host.name) == words:
            return
        first = host.name not in self._reported_steps
        self._reported_steps[host.name] = words
        node = snapshot.nodes.get(host.name)
        quiet = decision.step in (Step.NOTHING, Step.WAIT) and first
        if node is None or quiet or not decision.message:
            return
        obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "uid": node.uid}}
        # What is waited for belongs to a node's ordinary life, until nothing goes on without a person.
        kind = WARNING if decision.step == Step.BLOCKED else decision.reason.event
        # What is done logs itself.
        logged = decision.step not in PASSIVE
        self._ports.events.emit(
            obj, type_=kind, reason=decision.reason, message=decision.message, logged=logged
        )
