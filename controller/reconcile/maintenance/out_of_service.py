"""Takes a host out of service for a maintenance, and puts back what it took out; both may be repeated.

What is ours is known by its mark: an annotation of the Node, disabled_reason of services, the description
of agents. Whatever another writer had taken out before stays out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import CORDONED_BY_ANNOTATION, NO_EVACUATION_ANNOTATION
from controller.domain.api.region_name import node_note, node_notes, noted_by_others
from controller.domain.hosts.fencing_confirmation import (
    against_taking_up,
    machine_of,
    renewed,
    seen_now,
    shown_since,
)
from controller.domain.hosts.nodes import machine_facts, parse_node
from controller.domain.maintenance.disable_reasons import mark_of, marked, without_mark
from controller.domain.maintenance.move_choice import Mode
from controller.domain.maintenance.network_moves import KINDS
from controller.domain.maintenance.obstacles import (
    HostSnapshot,
    Obstacle,
    before_moving,
    before_taking_out,
    compute_missing,
    obstacle,
    why_void,
)
from controller.domain.shared.cloud_facts import CloudView, ComputeService, forced_reason
from controller.errors import CloudRefused, CloudUnavailable, ObjectMissing
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, Kube, KubeObject
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.disk_records import DiskRecords
from controller.reconcile.hosts.fenced_nodes import TracedChanges
from controller.reconcile.hosts.forced_down import ForcedDownHosts
from controller.reconcile.maintenance.compute_silence import QUIET, ComputeSilence
from controller.reconcile.maintenance.status import MaintenanceWork, StatusWriter
from controller.reconcile.shared.action_log import log_action


class HostDisabler:
    """Takes hosts out of service and puts them back. Raises CloudUnavailable, CloudRefused, KubeError."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str, quiet: float = QUIET) -> None:
        """`quiet`: seconds for which a compute has to be silent before its first server is evacuated."""
        self._kube = kube
        self._namespace = namespace
        self._forced_down = ForcedDownHosts(kube, clock, namespace)
        self._changes = TracedChanges(kube, clock, namespace)
        self._silence = ComputeSilence(clock, quiet)
        self._disks = DiskRecords(kube, clock, namespace)

    def obstacle(self, work: MaintenanceWork, view: CloudView) -> Obstacle | None:
        """What would stand in the way, as far as the last pass shows; nothing is done."""
        return obstacle(work.spec.mode, self._snapshot(work, view.service(work.host)))

    def note_fencing_confirmation(self, work: MaintenanceWork, view: CloudView, status: StatusWriter) -> None:
        """Takes up spec.fenced, or notes that it is void, before anything is done. Raises KubeError."""
        given, snapshot = work.spec.fenced, self._snapshot(work, view.service(work.host))
        if given is None or snapshot.void:
            return
        confirmation = snapshot.fencing_confirmation
        if confirmation is not None:
            why = why_void(confirmation, snapshot)
            if why:
                status.note_confirmation(work, confirmation, why)
            return
        peers = [one.as_peer() for one in snapshot.beside]
        created = snapshot.node.created if snapshot.node is not None else 0.0
        # Not what stands on the Node: that may have been noted since the confirmation was given.
        why = shown_since(given.machine, snapshot.machine) or against_taking_up(
            created, given.report, snapshot.service, peers
        )
        if not why and snapshot.service is None:
            # Its report could not be distinguished from a later one.
            return
        status.note_confirmation(work, replace(given, seen=seen_now(snapshot.service, peers)), why)

    def note_void(self, work: MaintenanceWork, status: StatusWriter) -> None:
        """As far as the Node shows it, while nothing is known of OpenStack. Raises KubeError."""
        given = work.spec.fenced
        if given is None or work.confirmation_void:
            return
        live = self._kube.get(NODE, work.spec.node)
        why = shown_since(given.machine, machine_of(live) if live is not None else None)
        if why:
            status.note_confirmation(work, work.confirmation or given, why)

    def take_out(
        self, work: MaintenanceWork, cloud: Cloud, view: CloudView, status: StatusWriter
    ) -> tuple[Obstacle | None, str]:
        """The host takes nothing new from here on; what stands in the way of moving its servers, or None.

        Besides, what is waited for where nothing is in the way; empty for nothing.
        """
        live, mode, snapshot = work.node, work.spec.mode, self._snapshot(work, view.service(work.host))
        forbidden = before_taking_out(mode, snapshot)
        if forbidden is not None:
            return forbidden, ""
        if mode != Mode.EVACUATE and live is not None:
            self._cordon(live, work)
        service = snapshot.service
        if service is not None and (service.enabled or mode == Mode.EVACUATE):
            # What another writer did since the pass stays. One that was removed since, after its
            # evacuation, has nothing left that could be in the way.
            service = cloud.compute_service(work.host) or (service if service.forced_down else None)
        if service is not None and mode == Mode.EVACUATE:
            # One that is forced down never counts as up: only what Nova has written of it tells.
            forbidden = before_taking_out(mode, replace(snapshot, service=service))
            if forbidden is None and (service.enabled or not service.forced_down):
                forbidden, service = self._force_down(work, service, cloud, status)
            if forbidden is not None:
                return forbidden, ""
        elif service is not None and service.enabled:
            openstack_writes.set_compute_service(cloud, service, enabled=False, reason=mark_of(work.name))
        self._disable(work, cloud, view)
        left = self._silence.remaining(work.host, service) if service and mode == Mode.EVACUATE else 0.0
        waits = f"the compute service must be silent for {left:.0f} s more" if left else ""
        return before_moving(mode, replace(snapshot, service=service)), waits

    def forbidden_now(self, work: MaintenanceWork, cloud: Cloud) -> str:
        """Why no server may be evacuated any more, as Nodes, compute service and maintenance are now.

        A pass may take a minute, in which a machine comes back, or a person takes back what was confirmed.
        Empty where nothing is in the way. Raises KubeError.
        """
        try:
            service = cloud.compute_service(work.host)
        except (CloudUnavailable, CloudRefused) as error:
            return f"the controller does not know whether the compute service reports: {error}"
        forbidden = self._forbidden(work, service)
        return forbidden[1] if forbidden is not None else self._edited(work) or self._unread_disks(work)

    def _unread_disks(self, work: MaintenanceWork) -> str:
        """Why it is not certain any more that others reach the disks of its servers; empty where it is."""
        begun = self._disks.begun_since(work.takers) if work.spec.rules.shared_disks else ()
        return (
            f"the disk storage of other hosts is read again, because nova-compute of {begun[0]} was started"
            if begun
            else ""
        )

    def _forbidden(self, work: MaintenanceWork, service: ComputeService | None) -> Obstacle | None:
        """Why nothing may be evacuated, by the Nodes as they are now. None: OpenStack shows no service."""
        if service is None:
            # Nothing that it reports could be seen.
            return compute_missing(work.host)
        listed = self._kube.list(NODE)
        own = next((one for one in listed if one["metadata"]["name"] == work.spec.node), None)
        facts = [machine_facts(one, self._namespace) for one in listed]
        beside = work.same.among(facts) if work.same is not None else ()
        now = replace(work, node=own, beside=beside)
        return before_taking_out(work.spec.mode, self._snapshot(now, service))

    def _edited(self, work: MaintenanceWork) -> str:
        """Why a maintenance is not what this pass has read any more; empty where it is."""
        live = self._kube.get(COMPUTE_MAINTENANCE, work.name)
        if live is None:
            return "the maintenance was deleted in the meantime"
        read, there = work.obj["metadata"], live["metadata"]
        if there.get("uid") != read.get("uid"):
            return "the maintenance was deleted in the meantime, and another one has its name"
        if there.get("deletionTimestamp"):
            return "the maintenance is being deleted"
        if there.get("generation") != read.get("generation"):
            return "the maintenance was edited in the meantime"
        return ""

    def _force_down(
        self, work: MaintenanceWork, service: ComputeService, cloud: Cloud, status: StatusWriter
    ) -> tuple[Obstacle | None, ComputeService | None]:
        """Has Nova take the host for dead; why nothing may be evacuated after that, and its service then."""
        if not service.forced_down:
            # That it is forced down by us is written before it is.
            self._forced_down.remember(work.host, service)
        forbidden: list[Obstacle] = []

        def change(before: ComputeService) -> ComputeService | None:
            met = self._forbidden(work, before)
            if met is not None:
                forbidden.append(met)
                return None
            return self._hold_down(work, before, cloud)

        changed = self._changes.make(cloud, work.host, change)
        if forbidden and not service.forced_down:
            self._forced_down.take_back(work.host)
        if forbidden or changed is None:
            return forbidden[0] if forbidden else self._forbidden_after(work, cloud), service
        self._renew(work, *changed, status)
        return self._forbidden(work, changed[1]), changed[1]

    def _forbidden_after(self, work: MaintenanceWork, cloud: Cloud) -> Obstacle | None:
        """Once it is not known who wrote the compute service while we did: a confirmation is void then."""
        return self._forbidden(work, cloud.compute_service(work.host))

    def _hold_down(self, work: MaintenanceWork, service: ComputeService, cloud: Cloud) -> ComputeService:
        """Asks Nova to disable it, and to force it down where it is not; what it is to become."""
        forced = service.forced_down
        reason = forced_reason(None if service.enabled else service.reason)
        if forced and not self._forced_down.is_recorded(work.host, service):
            reason = mark_of(work.name)
        if service.enabled or reason != service.reason:
            openstack_writes.set_compute_service(cloud, service, enabled=False, reason=reason)
        if not forced:
            try:
                openstack_writes.force_down(cloud, service, down=True, why=work.name)
            except CloudRefused:
                self._forced_down.take_back(work.host)
                raise
        return replace(service, enabled=False, reason=reason, forced_down=True)

    def _renew(
        self, work: MaintenanceWork, before: ComputeService, after: ComputeService, status: StatusWriter
    ) -> None:
        """The confirmations of this machine, after a change of ours. Raises KubeError."""
        own = work.confirmation if not work.confirmation_void else None
        if own is not None and renewed(own, before, after) != own:
            status.note_confirmation(work, renewed(own, before, after), "")
        self._changes.renew([work.spec.node, *(one.name for one in work.beside)], before, after)

    @staticmethod
    def _disable(work: MaintenanceWork, cloud: Cloud, view: CloudView) -> None:
        """OpenStack places no new server, volume, router or network on the host."""
        for volume in view.volumes_on(work.host):
            if volume.enabled and volume.binary == "cinder-volume":
                openstack_writes.set_volume_service(cloud, volume, enabled=False, reason=mark_of(work.name))
        for agent in view.agents_on(work.host):
            if agent.kind in KINDS and agent.enabled:
                text = marked(agent.description, work.name)
                openstack_writes.set_agent(cloud, agent, enabled=False, description=text)

    def _cordon(self, live: KubeObject, work: MaintenanceWork) -> None:
        """A cordon of another region's maintenance is ours, too: it stays until both have ended."""
        if (live.get("spec") or {}).get("unschedulable"):
            noted = CORDONED_BY_ANNOTATION in node_notes(self._namespace, live)
            if noted or not noted_by_others(self._namespace, CORDONED_BY_ANNOTATION, live):
                return
        meta = live["metadata"]
        note = {node_note(self._namespace, CORDONED_BY_ANNOTATION): work.name}
        patch = {"annotations": note, "resourceVersion": meta["resourceVersion"]}
        self._kube.merge_patch(NODE, meta["name"], None, {"metadata": patch, "spec": {"unschedulable": True}})
        log_action("cordon", meta["name"], f"node {meta['name']}: cordoned by maintenance {work.name}")

    def put_back(self, work: MaintenanceWork, cloud: Cloud, view: CloudView) -> None:
        """Undoes what this maintenance did. Its compute service is enabled by the ordinary care for hosts.

        That one waits until node, pods and agents are well, and has all the time for it.
        """
        for volume in view.volumes_on(work.host):
            if not volume.enabled and volume.reason == mark_of(work.name):
                openstack_writes.set_volume_service(cloud, volume, enabled=True)
        for agent in view.agents_on(work.host):
            before = without_mark(agent.description, work.name)
            if before is not None:
                openstack_writes.set_agent(cloud, agent, enabled=True, description=before)
        self.put_back_node(work)

    def forget_cordon(self, work: MaintenanceWork) -> None:
        """A Node that was uncordoned meanwhile is not ours to uncordon later. Raises KubeError."""
        live = work.node
        if live is None or (live.get("spec") or {}).get("unschedulable"):
            return
        if node_notes(self._namespace, live).get(CORDONED_BY_ANNOTATION) == work.name:
            notes = {node_note(self._namespace, CORDONED_BY_ANNOTATION): None}
            meta = {"annotations": notes, "resourceVersion": live["metadata"]["resourceVersion"]}
            self._kube.merge_patch(NODE, work.spec.node, None, {"metadata": meta})
            log_action(
                "annotate",
                work.spec.node,
                f"node {work.spec.node}: the cordon no longer belongs to the controller",
            )

    def put_back_node(self, work: MaintenanceWork) -> None:
        """Undoes what this maintenance did to the Node. Raises KubeError."""
        live = self._kube.get(NODE, work.spec.node)
        if live is None:
            return
        meta, noted = live["metadata"], node_notes(self._namespace, live)
        node = parse_node(live, self._namespace)
        notes: dict[str, str | None] = {}
        if noted.get(CORDONED_BY_ANNOTATION) == work.name:
            notes[CORDONED_BY_ANNOTATION] = None
        if work.spec.mode == Mode.EVACUATE and node is not None and not node.is_ready and node.since:
            # Taken back while the node is still away: it is not to be begun again by itself.
            declined = timestamp(node.since)
            if noted.get(NO_EVACUATION_ANNOTATION) != declined:
                notes[NO_EVACUATION_ANNOTATION] = declined
        written = {node_note(self._namespace, name): text for name, text in notes.items()}
        patch: dict[str, Any] = {
            "metadata": {"annotations": written, "resourceVersion": meta["resourceVersion"]}
        }
        others = noted_by_others(self._namespace, CORDONED_BY_ANNOTATION, live)
        if CORDONED_BY_ANNOTATION in notes and not others and (live.get("spec") or {}).get("unschedulable"):
            patch["spec"] = {"unschedulable": None}
        if notes:
            try:
                self._kube.merge_patch(NODE, work.spec.node, None, patch)
            except ObjectMissing:
                return
        if "spec" in patch:
            text = f"node {work.spec.node}: uncordoned, because maintenance {work.name} is over"
            log_action("uncordon", work.spec.node, text)

    def _snapshot(self, work: MaintenanceWork, service: ComputeService | None) -> HostSnapshot:
        return HostSnapshot(
            name=work.spec.node,
            namespace=self._namespace,
            host=work.host,
            there=work.node is not None,
            node=machine_facts(work.node, self._namespace) if work.node is not None else None,
            service=service,
            machine=machine_of(work.node) if work.node is not None else None,
            fencing_confirmation=None if work.confirmation_void else work.confirmation,
            void=work.confirmation_void,
            beside=work.beside,
            doubt=work.doubt,
        )
