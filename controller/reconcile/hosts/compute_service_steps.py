"""The single steps that are taken with a compute host: each may be repeated after any interruption."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from controller.domain.api.conditions import find
from controller.domain.api.names import API_VERSION, AUTOMATIC_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.domain.api.region_name import RegionName
from controller.domain.hosts.fencing_confirmation import report_of
from controller.domain.hosts.host_facts import HostFacts, NextStep, Step
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.shared.cloud_facts import CloudView, ComputeService, forced_by_us, let_up_reason
from controller.errors import Conflict
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, CRONJOB, JOB, Kube, KubeObject
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.fenced_nodes import TracedChanges
from controller.reconcile.hosts.forced_down import ForcedDownHosts
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.removal import remove_host
from controller.reconcile.shared.action_log import log_action

# The CronJob of the charts that maps new computes to their cell.
CELL_SETUP = "nova-cell-setup"
# Jobs that we made of it: each maps every host, so that one at a time is enough.
MAPS_CELLS = "osctl.dev/maps-cells"
# Seconds, from its creation on, also while its pod finds no node.
JOB_WITHIN = 900
# A Job that has ended is kept so long, in seconds, before there may be another.
MAP_AGAIN = 3600


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
            return self._map_cell(host, decision)
        if decision.step == Step.EVACUATE and node is not None:
            return self._evacuate(node, decision, snapshot.region)
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

    # -- evacuation ---------------------------------------------------------------------------------

    def _evacuate(self, node: NodeFacts, decision: NextStep, region: RegionName) -> NextStep:
        """Makes the ComputeMaintenance that does it: one for each loss, so that it is made once."""
        if node.declined == node.since > 0:
            text = (
                "the automatic evacuation was deleted; create a ComputeMaintenance of mode Evacuate instead"
            )
            return replace(decision, step=Step.BLOCKED, message=text)
        digest = hashlib.sha256(f"{region} {node.uid} {node.since:.0f}".encode()).hexdigest()[:8]
        name = f"evacuate-{node.name[:200]}-{digest}"
        maintenance = {
            "apiVersion": API_VERSION,
            "kind": COMPUTE_MAINTENANCE.kind,
            "metadata": {
                "name": name,
                "labels": {AUTOMATIC_LABEL: "true", MANAGED_BY: MANAGED_BY_US},
            },
            "spec": {"region": region.written(), "nodeName": node.name, "mode": "Evacuate"},
        }
        try:
            self._kube.create(maintenance)
        except Conflict:
            return replace(decision, step=Step.WAIT)
        log_action("create-maintenance", name, f"evacuation of node {node.name} begins: {decision.message}")
        return decision

    # -- cells --------------------------------------------------------------------------------------

    def _map_cell(self, host: HostFacts, decision: NextStep) -> NextStep:
        """Starts the region's own Job that maps hosts, if none is at work; one for each host and Node."""
        cron = self._kube.get(CRONJOB, CELL_SETUP, self._namespace)
        if cron is None:
            text = f'{decision.message}, and there is no CronJob "{CELL_SETUP}" to map it'
            return replace(decision, step=Step.BLOCKED, message=text)
        uid = host.node.uid if host.node is not None else ""
        digest = hashlib.sha256(f"{host.name} {uid}".encode()).hexdigest()[:8]
        name = f"{CELL_SETUP}-{digest}"
        for other in self._kube.list(JOB, self._namespace, labels=MAPS_CELLS):
            if other["metadata"]["name"] != name and not _has_ended(other):
                text = f'the Job "{other["metadata"]["name"]}" maps all hosts'
                return replace(decision, step=Step.WAIT, message=text)
        template = cron["spec"]["jobTemplate"]
        meta = template.get("metadata") or {}
        job: KubeObject = {
            "apiVersion": JOB.api_version,
            "kind": JOB.kind,
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": {**(meta.get("labels") or {}), MANAGED_BY: MANAGED_BY_US, MAPS_CELLS: "true"},
                "annotations": {
                    **(meta.get("annotations") or {}),
                    "cronjob.kubernetes.io/instantiate": "manual",
                },
            },
            "spec": {
                "activeDeadlineSeconds": JOB_WITHIN,
                **template["spec"],
                "ttlSecondsAfterFinished": MAP_AGAIN,
            },
        }
        try:
            self._kube.create(job)
        except Conflict:
            return self._mapping(decision, name)
        log_action("create-job", f"{self._namespace}/{name}", f"host {host.name}: mapping to a cell begins")
        return decision

    def _mapping(self, decision: NextStep, name: str) -> NextStep:
        """What became of the Job that is there already."""
        live = self._kube.get(JOB, name, self._namespace) or {}
        conditions = (live.get("status") or {}).get("conditions") or ()
        again = f"the Job starts again {MAP_AGAIN // 60} minutes after its end, or when you delete it"
        if find(conditions, "Failed").get("status") == "True":
            text = f'{decision.message}; the Job "{name}" failed, see its log; {again}'
            return replace(decision, step=Step.BLOCKED, message=text)
        if find(conditions, "Complete").get("status") == "True":
            text = f'{decision.message}, although the Job "{name}" succeeded; {again}'
            return replace(decision, step=Step.BLOCKED, message=text)
        return replace(decision, step=Step.WAIT, message=f'the Job "{name}" maps it')


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


def _has_ended(job: KubeObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(find(conditions, type_).get("status") == "True" for type_ in ("Complete", "Failed"))
