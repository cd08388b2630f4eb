"""The single steps that are taken with a compute host: each may be repeated after any interruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.domain.hosts.fencing_confirmation import report_of
from controller.domain.hosts.host_facts import HostFacts, NextStep, Step
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.shared.cloud_facts import CloudView, ComputeService, forced_by_us, let_up_reason
from controller.ports.kubernetes import Kube
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.cell_mapping import ensure_cell_mapping
from controller.reconcile.hosts.fenced_nodes import TracedChanges
from controller.reconcile.hosts.forced_down import ForcedDownHosts
from controller.reconcile.hosts.lost_nodes.automatic_evacuation import ensure_evacuation
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.removal import remove_host


class HostSteps:
    """Takes steps in OpenStack and in Kubernetes. `namespace` is the region's."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._forced_down = ForcedDownHosts(kube, clock, namespace)
        self._changes = TracedChanges(kube, clock, namespace)
        self._namespace = namespace

    def take(
        self,
        host: HostFacts,
        decision: NextStep,
        node: NodeFacts | None,
        snapshot: NodesSnapshot,
        *,
        cloud: Cloud,
        view: CloudView,
    ) -> NextStep:
        """Takes the step that was decided on, and gives what is to be reported. `node` as it is now.

        Raises CloudUnavailable, CloudRefused, KubeError.
        """
        service = host.service
        if decision.step == Step.MAP_CELL:
            return ensure_cell_mapping(self._kube, self._namespace, host, decision)
        if decision.step == Step.EVACUATE and node is not None:
            return ensure_evacuation(self._kube, node, decision, snapshot.region)
        if decision.step == Step.REMOVE:
            return remove_host(host, decision, cloud, view)
        if service is None:
            return decision
        if decision.step == Step.DISABLE:
            lost: list[str] = []
            if node is not None and not node.is_ready:
                lost = [node.name, *(one.name for one in snapshot.peers(node.name, view))]
            return self._disable(service, decision, lost, cloud)
        if decision.step == Step.ENABLE:
            openstack_writes.set_compute_service(cloud, service, enabled=True, why=decision.message)
        elif decision.step == Step.UNFORCE:
            noted = self._forced_down.noted(host.host)
            openstack_writes.force_down(cloud, service, down=False, why=decision.message)
            self._forced_down.forget(host.host, noted)
            if forced_by_us(service.reason):
                # From here on another writer forces it down.
                mark = let_up_reason(service.reason)
                openstack_writes.set_compute_service(cloud, service, enabled=False, reason=mark)
        return decision

    def _disable(
        self, service: ComputeService, decision: NextStep, lost: Sequence[str], cloud: Cloud
    ) -> NextStep:
        """`lost`: the Nodes of its machine, which may be confirmed to be off; none where it is not lost."""

        def change(before: ComputeService) -> ComputeService | None:
            if report_of(before) != report_of(service):
                return None
            openstack_writes.set_compute_service(
                cloud, before, enabled=False, reason=decision.mark, why=decision.message
            )
            done.append(before)
            return replace(before, enabled=False, reason=decision.mark)

        done: list[ComputeService] = []
        if not lost:
            change(service)
            return decision
        changed = self._changes.make(cloud, service.host, change)
        if changed is not None:
            self._changes.renew(lost, *changed)
        return decision if done else replace(decision, step=Step.WAIT)


def after_step(service: ComputeService | None, decision: NextStep) -> ComputeService | None:
    """The compute service once the step was taken, as far as the step changed it."""
    if service is None:
        return None
    if decision.step == Step.DISABLE:
        return replace(service, enabled=False, reason=decision.mark)
    if decision.step == Step.ENABLE:
        return replace(service, enabled=True, reason="")
    if decision.step == Step.UNFORCE:
        reason = let_up_reason(service.reason) if forced_by_us(service.reason) else service.reason
        return replace(service, forced_down=False, reason=reason)
    return service
