"""Looks at all compute hosts and does the next step for each, one after the other.

Nothing is remembered between two looks but what stands in Kubernetes and OpenStack: marks in
disabled_reason, annotations of Nodes, `status.nodes` of the region. Every step is decided again on a Node
read that very moment before it is taken.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.cloud_port import Cloud, Fencing
from controller.domain.cloud_facts import CloudView
from controller.domain.compute_node import (
    Decision,
    HostFacts,
    NodePolicy,
    Step,
    brake,
    decide_host,
    is_automatic,
    parse_policy,
)
from controller.domain.conditions import timestamp
from controller.domain.host_names import host_of, remembered_hosts
from controller.domain.names import CORDONED_BY_ANNOTATION, FENCED_ANNOTATION, LOSSES_ANNOTATION
from controller.domain.node_pods import NodePod, quorum_groups, stuck_pods, unready_daemons
from controller.domain.nodes import HostReport, NodeFacts, parse_node
from controller.domain.quorum import groups_broken_by
from controller.domain.reasons import Reason
from controller.errors import CloudRefused, CloudUnavailable, KubeError, ObjectMissing
from controller.ports import (
    NODE,
    NODE_MAINTENANCE,
    OSDPL,
    POD,
    STATEFULSET,
    Clock,
    Events,
    Kube,
    KubeObject,
)
from controller.reconcile.cloud_access import CloudAccess
from controller.reconcile.drain_lock import DrainLocks
from controller.reconcile.host_board import BoardContent, HostBoard
from controller.reconcile.host_steps import HostSteps
from controller.reconcile.managed_region import managed_region
from controller.reconcile.object_store import ObjectStore

log = logging.getLogger(__name__)

# Between two looks; OpenStack has no watches. A look is about six requests, whatever the number of hosts.
EVERY = 10.0
# Events come in bursts: between two looks there are so many seconds at least.
AT_LEAST = 2.0
# After a look that OpenStack did not answer.
AGAIN_AFTER = 15.0
CATCHING_UP = 0.5
NO_REGION = 30.0
# Steps taken in one look, so that it stays short; what is left over is taken in the next.
STEPS_PER_LOOK = 20
LOSSES_KEPT = 6
_PASSIVE = (Step.NOTHING, Step.WAIT, Step.FORGET)


@dataclass(frozen=True)
class _Scene:
    """All that one look at the Kubernetes side found."""

    osdpl: KubeObject
    policy: NodePolicy
    nodes: Mapping[str, NodeFacts]
    pods: Sequence[NodePod]
    maintenances: Mapping[str, KubeObject]
    known: Mapping[str, Any]
    hosts: Mapping[str, str]

    def host(self, name: str, view: CloudView) -> str:
        """The host of a Node, as OpenStack calls it."""
        node = self.nodes.get(name)
        hostname = node.hostname if node is not None else ""
        return host_of(name, view, hostname=hostname, remembered=self.hosts.get(name, ""))


class HostsReconciler:
    """The care for all compute hosts of the region in one namespace."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        events: Events,
        access: CloudAccess,
        fencing: Fencing,
        nodes: ObjectStore,
        region: ObjectStore,
        locks: DrainLocks,
        board: HostBoard,
        namespace: str,
        resync: float,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._access = access
        self._fencing = fencing
        self._nodes = nodes
        self._region = region
        self._locks = locks
        self._board = board
        self._namespace = namespace
        self._resync = resync
        self._steps = HostSteps(kube, namespace)
        self._told: dict[str, tuple[str, str]] = {}
        self._looked = -AT_LEAST

    def reconcile(self) -> float:
        """One look; seconds until the next. Raises KubeError."""
        if not (self._nodes.is_complete(not_older_than=self._resync) and self._region_complete()):
            return CATCHING_UP
        soon = self._looked + AT_LEAST - self._clock.monotonic()
        if soon > 0:
            return soon
        self._looked = self._clock.monotonic()
        scene = self._scene()
        if scene is None:
            return NO_REGION
        self._remember_losses(scene)
        try:
            cloud = self._access.cloud()
            view = self._access.look(cloud)
        except CloudUnavailable as error:
            self._lock_drains(scene, None)
            before = self._board.read()
            self._board.write(replace(before, unknown=str(error)))
            log.info("OpenStack is not looked at: %s", error)
            return max(AGAIN_AFTER, error.retry_after or 0.0)
        # What was done shows in the next look, and so does what it makes room for.
        return AT_LEAST if self._care(scene, cloud, view) else EVERY

    def _region_complete(self) -> bool:
        return self._region.is_complete(not_older_than=self._resync)

    # -- the look -----------------------------------------------------------------------------------

    def _scene(self) -> _Scene | None:
        name = managed_region(self._kube, self._namespace)
        osdpl = self._kube.get(OSDPL, name, self._namespace) if name else None
        if osdpl is None:
            return None
        listed: list[NodeFacts] = self._nodes.facts(NODE)
        reports = self._board.read().reports
        maintenances = {
            str(one["spec"]["nodeName"]): one
            for one in self._kube.list(NODE_MAINTENANCE)
            if not one["spec"].get("dryRun")
        }
        return _Scene(
            osdpl=osdpl,
            policy=parse_policy(osdpl["spec"]),
            nodes={node.name: node for node in listed},
            pods=self._region.facts(POD),
            maintenances=maintenances,
            known=(osdpl.get("status") or {}).get("nodes") or {},
            hosts=remembered_hosts(osdpl) | {n: one.host for n, one in reports.items() if one.host},
        )

    def _facts(self, scene: _Scene, view: CloudView) -> list[HostFacts]:
        """Compute nodes, and those that were and of which OpenStack still knows."""
        reports = self._board.read().reports
        uids = {name: str((one or {}).get("uid") or "") for name, one in scene.known.items()}
        uids |= {name: one.uid for name, one in reports.items() if one.uid}
        computes = {name for name, node in scene.nodes.items() if node.is_compute}
        gone = {name for name, uid in uids.items() if uid and name not in computes}
        return [self._host(name, scene, view, uids.get(name, "")) for name in sorted(computes | gone)]

    def _host(self, name: str, scene: _Scene, view: CloudView, uid: str) -> HostFacts:
        node = scene.nodes.get(name)
        compute = node.as_compute() if node is not None and node.is_compute else None
        host = scene.host(name, view)
        service, hypervisor = view.service(host), view.hypervisor(host)
        maintenance = scene.maintenances.get(name)
        return HostFacts(
            name=name,
            node=compute,
            service=service,
            mapped=hypervisor is not None,
            agents=view.agents_on(host),
            agents_expected=bool(view.agents),
            servers=hypervisor.servers if hypervisor is not None else (None if service else 0),
            unready_pods=unready_daemons(scene.pods, name),
            maintenance=str(maintenance["metadata"]["name"]) if maintenance else "",
            automatic=maintenance is not None and is_automatic(maintenance),
            known_uid=uid,
            leftovers=bool(view.agents_on(host)),
            host=host,
        )

    # -- what follows from it -----------------------------------------------------------------------

    def _care(self, scene: _Scene, cloud: Cloud, view: CloudView) -> bool:
        """Decides on every host and takes the steps; whether any was taken."""
        hosts = self._facts(scene, view)
        braked = brake(hosts, scene.policy)
        now = self._clock.now()
        reports: dict[str, HostReport] = {}
        taken = 0
        for host in hosts:
            decision = decide_host(host, scene.policy, braked, now)
            asks = decision.step != Step.BLOCKED or decision.reason == Reason.FENCING_AWAITED
            if asks and decision.step not in _PASSIVE and taken < STEPS_PER_LOOK:
                taken += decision.step != Step.BLOCKED
                decision = self._take(host, decision, scene, cloud, view=view, braked=braked)
            self._tell(host, decision, scene)
            reports[host.name] = self._report(host, decision, scene.policy, now)
        self._return_automatic(scene)
        self._place(scene, cloud, view)
        reports = self._with_locks(reports, self._lock_drains(scene, view))
        self._board.write(BoardContent(reports, braked))
        return taken > 0

    def _take(
        self,
        host: HostFacts,
        decision: Decision,
        scene: _Scene,
        cloud: Cloud,
        *,
        view: CloudView,
        braked: str,
    ) -> Decision:
        """Takes the step, if it is still the one to be taken; gives what is to be told of the host."""
        fresh = self._kube.get(NODE, host.name)
        node = parse_node(fresh) if fresh is not None else None
        compute = node.as_compute() if node is not None and node.is_compute else None
        now = self._clock.now()
        again = decide_host(replace(host, node=compute), scene.policy, braked, now)
        if again.step != decision.step:
            return replace(again, step=Step.WAIT) if again.step != Step.NOTHING else again
        try:
            if decision.step == Step.BLOCKED:
                return self._blocked(host, again, node, scene)
            return self._steps.take(host, again, node, cloud, view)
        except CloudUnavailable as error:
            return Decision(Step.WAIT, Reason.CLOUD_UNKNOWN, str(error))
        except CloudRefused as error:
            reason = Reason.CLEANUP_AWAITED if again.step == Step.UNFORCE else Reason.CLOUD_UNKNOWN
            return Decision(Step.WAIT, reason, str(error))

    def _blocked(
        self, host: HostFacts, decision: Decision, node: NodeFacts | None, scene: _Scene
    ) -> Decision:
        url = scene.policy.fencing
        if decision.reason != Reason.FENCING_AWAITED or not url or node is None:
            return decision
        if self._fencing.confirm(url, node=node.name, uid=node.uid, since=node.since):
            self._annotate(node.name, {FENCED_ANNOTATION: timestamp(self._clock.now())})
            return Decision(Step.WAIT, Reason.EVACUATING, "the fencing service says that the node is off")
        return replace(decision, message="the fencing service was asked, and has not confirmed yet")

    def _return_automatic(self, scene: _Scene) -> None:
        """A node that is back needs its own evacuation no more; and what hangs on a dead one is freed."""
        now = self._clock.now()
        for name, node in scene.nodes.items():
            maintenance = scene.maintenances.get(name)
            if node.is_ready:
                if maintenance is not None and is_automatic(maintenance):
                    meta = maintenance["metadata"]
                    if not meta.get("deletionTimestamp"):
                        self._kube.delete(NODE_MAINTENANCE, meta["name"], uid=meta["uid"])
                continue
            if node.fenced >= node.since > 0:
                for pod in stuck_pods(scene.pods, name, now):
                    self._kube.delete(POD, pod.name, self._namespace, uid=pod.uid, grace=0)

    def _place(self, scene: _Scene, cloud: Cloud, view: CloudView) -> None:
        """Aggregates and availability zones as the labels of the nodes say."""
        for name, node in scene.nodes.items():
            host = scene.host(name, view)
            if not node.is_compute or view.hypervisor(host) is None:
                continue
            try:
                self._steps.place(node, host, cloud, view)
            except (CloudUnavailable, CloudRefused) as error:
                log.warning("aggregates of %s: %s", name, error)

    def _lock_drains(self, scene: _Scene, view: CloudView | None) -> dict[str, str]:
        """Which nodes must not be drained, and why. Without a look at OpenStack, locks of hosts stay."""
        groups = quorum_groups(self._region.facts(STATEFULSET), scene.pods)
        wanted: dict[str, str] = {}
        undecided = set()
        for name, node in scene.nodes.items():
            broken = groups_broken_by(name, groups)
            if broken:
                wanted[name] = f"its loss breaks the majority of {', '.join(broken)}"
                continue
            if not node.is_compute:
                continue
            if view is None:
                undecided.add(name)
                continue
            host = scene.host(name, view)
            hypervisor, service = view.hypervisor(host), view.service(host)
            if hypervisor is not None and hypervisor.servers:
                wanted[name] = f"{hypervisor.servers} servers are on it"
            elif hypervisor is None and service is not None:
                undecided.add(name)
        self._locks.ensure(wanted, frozenset(undecided))
        return wanted

    # -- what is told -------------------------------------------------------------------------------

    def _report(self, host: HostFacts, decision: Decision, policy: NodePolicy, now: float) -> HostReport:
        service, node = host.service, host.node
        words: list[str] = []
        if service is not None:
            words = ["enabled" if service.enabled else "disabled", "up" if service.up else "down"]
            words += ["forced down"] if service.forced_down else []
        uid = host.known_uid
        settled = node is not None and now - node.created >= policy.hold_down
        if node is not None and (not uid or (service is not None and service.up and settled)):
            uid = node.uid
        return HostReport(
            reason=str(decision.reason),
            message=decision.message,
            uid=uid,
            host=host.host,
            compute=", ".join(words),
            servers=host.servers,
            maintenance=host.maintenance,
            forget=decision.step == Step.FORGET,
        )

    @staticmethod
    def _with_locks(reports: Mapping[str, HostReport], locks: Mapping[str, str]) -> dict[str, HostReport]:
        """Reports with the drains held back, also of nodes that are no compute hosts."""
        result = dict(reports)
        for name, why in locks.items():
            result[name] = replace(result.get(name, HostReport()), drain_locked=why)
        return result

    def _tell(self, host: HostFacts, decision: Decision, scene: _Scene) -> None:
        """An event on the Node when what is done with its host changes."""
        words = (str(decision.step), str(decision.reason))
        if self._told.get(host.name) == words:
            return
        first = host.name not in self._told
        self._told[host.name] = words
        node = scene.nodes.get(host.name)
        quiet = decision.step in (Step.NOTHING, Step.WAIT) and first
        if node is None or quiet or not decision.message:
            return
        obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "uid": node.uid}}
        kind = "Warning" if decision.step in (Step.BLOCKED, Step.EVACUATE) else "Normal"
        self._events.emit(obj, type_=kind, reason=decision.reason, message=decision.message)

    # -- Nodes --------------------------------------------------------------------------------------

    def _remember_losses(self, scene: _Scene) -> None:
        """Notes on the Node when it lost its readiness: flapping is known after a restart, too."""
        for node in scene.nodes.values():
            planned = node.name in scene.maintenances
            lost = node.is_compute and not node.is_ready and not planned
            if lost and node.since and node.since not in node.losses:
                losses = [*node.losses, node.since][-LOSSES_KEPT:]
                self._annotate(node.name, {LOSSES_ANNOTATION: " ".join(map(timestamp, losses))})
            elif node.cordoned_by and not node.cordoned:
                # Somebody uncordoned it by hand: it is not ours to uncordon any more.
                self._annotate(node.name, {CORDONED_BY_ANNOTATION: None})

    def _annotate(self, name: str, notes: Mapping[str, str | None]) -> None:
        try:
            self._kube.merge_patch(NODE, name, None, {"metadata": {"annotations": dict(notes)}})
        except ObjectMissing:
            return
        except KubeError as error:
            log.warning("note on node %s: %s", name, error)
