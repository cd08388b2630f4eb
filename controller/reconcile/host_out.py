"""Takes a host out of service for a maintenance, and puts back what it took out; both may be repeated.

What is ours is known by its mark: an annotation of the Node, disabled_reason of services, the description
of agents. Whatever somebody else had taken out before stays out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.cloud_port import Cloud
from controller.domain.cloud_facts import MARK, Agent, CloudView, ComputeService, forced_reason
from controller.domain.conditions import timestamp
from controller.domain.maintenance_plan import Mode
from controller.domain.names import CORDONED_BY_ANNOTATION, NO_EVACUATION_ANNOTATION
from controller.domain.node_maintenance import MaintenanceSpec
from controller.domain.nodes import NodeFacts, parse_node
from controller.domain.reasons import Reason
from controller.errors import CloudRefused, CloudUnavailable, ObjectMissing
from controller.ports import NODE, Clock, Kube, KubeObject

log = logging.getLogger(__name__)

L3, DHCP = "L3 agent", "DHCP agent"
_KINDS = {L3: "Router", DHCP: "Network"}
MOVES_PER_LOOK = 10

Obstacle = tuple[Reason, str]
Move = dict[str, str]


def mark_of(maintenance: str) -> str:
    """What a maintenance leaves on what it disables."""
    return f"{MARK}maintenance {maintenance}"


class HostOut:
    """Takes hosts out of service and puts them back. Raises CloudUnavailable, CloudRefused, KubeError."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock

    def take_out(self, name: str, spec: MaintenanceSpec, cloud: Cloud, view: CloudView) -> Obstacle | None:
        """The host takes nothing new from here on; what stands in the way of moving its servers, or None."""
        live = self._kube.get(NODE, spec.node)
        node = parse_node(live) if live is not None else None
        if spec.mode == Mode.EVACUATE:
            obstacle = _not_dead(spec, node, view, self._clock.now())
            if obstacle is not None:
                return obstacle
        elif live is None:
            return Reason.NODE_REMOVED, f'there is no node "{spec.node}"'
        else:
            self._cordon(live, name)
        service = view.service(spec.node)
        holds = spec.mode == Mode.EVACUATE and service is not None and not service.forced_down
        if service is not None and service.enabled and not holds:
            cloud.set_compute_service(service.id, enabled=False, reason=mark_of(name))
        self._disable(name, spec.node, cloud, view)
        if service is None:
            # A node for networks only has none, and is out of service with its agents.
            if spec.mode == Mode.CORDON or (node is not None and not node.is_compute):
                return None
            return Reason.COMPUTE_MISSING, f'OpenStack has no compute service on "{spec.node}"'
        if holds:
            self._hold_down(service, cloud)
        if spec.mode == Mode.MIGRATE and not service.up:
            text = "its compute service does not report: servers can only be evacuated, after fencing"
            return Reason.COMPUTE_DOWN, text
        return None

    @staticmethod
    def _hold_down(service: ComputeService, cloud: Cloud) -> None:
        """Has Nova take the host for dead. That it is held down by us is written before it is."""
        reason = forced_reason("" if service.enabled else service.reason)
        if service.enabled or reason != service.reason:
            cloud.set_compute_service(service.id, enabled=False, reason=reason)
        cloud.force_down(service.id, down=True)

    @staticmethod
    def _disable(name: str, host: str, cloud: Cloud, view: CloudView) -> None:
        """Nothing new is placed on the host, be it volumes, routers or networks."""
        for volume in view.volumes_on(host):
            if volume.enabled and volume.binary == "cinder-volume":
                cloud.set_volume_service(volume, enabled=False, reason=mark_of(name))
        for agent in _serving(view.agents_on(host)):
            if agent.enabled:
                text = mark_of(name) + (f"; {agent.description}" if agent.description else "")
                cloud.set_agent(agent.id, enabled=False, description=text)

    def _cordon(self, live: KubeObject, name: str) -> None:
        if (live.get("spec") or {}).get("unschedulable"):
            return
        meta = live["metadata"]
        note = {"annotations": {CORDONED_BY_ANNOTATION: name}, "resourceVersion": meta["resourceVersion"]}
        self._kube.merge_patch(NODE, meta["name"], None, {"metadata": note, "spec": {"unschedulable": True}})

    def put_back(self, name: str, spec: MaintenanceSpec, cloud: Cloud, view: CloudView) -> None:
        """Undoes what this maintenance did. Its compute service is enabled by the ordinary care for hosts.

        That one waits until node, pods and agents are well, and has all the time for it.
        """
        for volume in view.volumes_on(spec.node):
            if not volume.enabled and volume.reason == mark_of(name):
                cloud.set_volume_service(volume, enabled=True)
        for agent in view.agents_on(spec.node):
            own, separator, before = agent.description.partition("; ")
            if own == mark_of(name):
                cloud.set_agent(agent.id, enabled=True, description=before if separator else "")
        live = self._kube.get(NODE, spec.node)
        if live is None:
            return
        meta = live["metadata"]
        node = parse_node(live)
        notes: dict[str, str | None] = {}
        if (meta.get("annotations") or {}).get(CORDONED_BY_ANNOTATION) == name:
            notes[CORDONED_BY_ANNOTATION] = None
        if spec.mode == Mode.EVACUATE and node is not None and not node.is_ready and node.since:
            # Taken back while the node is still away: it is not to be begun again by itself.
            notes[NO_EVACUATION_ANNOTATION] = timestamp(node.since)
        patch: dict[str, Any] = {
            "metadata": {"annotations": notes, "resourceVersion": meta["resourceVersion"]}
        }
        if CORDONED_BY_ANNOTATION in notes and (live.get("spec") or {}).get("unschedulable"):
            patch["spec"] = {"unschedulable": None}
        if notes:
            try:
                self._kube.merge_patch(NODE, spec.node, None, patch)
            except ObjectMissing:
                return

    # -- routers and networks -----------------------------------------------------------------------

    def plan_network(self, host: str, cloud: Cloud, view: CloudView) -> Sequence[Move]:
        """What the agents of the host serve."""
        return [
            {"id": item, "kind": _KINDS[agent.kind], "from": agent.id, "state": "Pending"}
            for agent in _serving(view.agents_on(host))
            for item in _served(agent, cloud)
        ]

    def move_network(
        self, obj: Mapping[str, Any], spec: MaintenanceSpec, cloud: Cloud, view: CloudView
    ) -> Sequence[Move]:
        """How far routers and networks are, and which are to be moved next: nothing is moved yet."""
        if spec.mode in (Mode.EVACUATE, Mode.CORDON):
            return ()
        noted = (obj.get("status") or {}).get("network") or ()
        known: dict[tuple[str, str], Move] = {(one["id"], one["from"]): dict(one) for one in noted}
        present = {(one["id"], one["from"]): one for one in self.plan_network(spec.node, cloud, view)}
        moving = 0
        for key, move in {**present, **known}.items():
            kind = L3 if move["kind"] == "Router" else DHCP
            there = bool(move.get("to")) and move["id"] in _served_by(str(move.get("to")), kind, cloud)
            if key not in present and (there or not move.get("to")):
                known[key] = {**move, "state": "Done"}
            elif move["state"] == "Moving":
                moving += 1
                known[key] = move
            elif moving < MOVES_PER_LOOK:
                target = _target(kind, move["id"], spec.node, cloud, view)
                moving += target is not None
                known[key] = (
                    {**move, "state": "Blocked"}
                    if target is None
                    else {**move, "state": "Moving", "to": target}
                )
            else:
                known[key] = {**move, "state": "Pending"}
        return sorted(known.values(), key=lambda one: (one["kind"], one["id"], one["from"]))

    def write_network(self, moves: Iterable[Move], cloud: Cloud) -> None:
        """Moves what is noted to be moved. A router may be on one agent only, a network on several."""
        for move in moves:
            if move["state"] != "Moving":
                continue
            source, target = move["from"], move.get("to", "")
            router = move["id"] if move["kind"] == "Router" else ""
            network = move["id"] if move["kind"] == "Network" else ""
            try:
                if router:
                    cloud.remove_from_agent(source, router=router)
                if target:
                    _add(cloud, target, router, network)
                if network:
                    cloud.remove_from_agent(source, network=network)
            except (CloudRefused, CloudUnavailable) as error:
                log.info("%s %s: %s", move["kind"], move["id"], error)


def _add(cloud: Cloud, agent: str, router: str, network: str) -> None:
    try:
        cloud.add_to_agent(agent, router=router, network=network)
    except CloudRefused as error:
        if error.code != 409:  # there already
            raise


def _not_dead(spec: MaintenanceSpec, node: NodeFacts | None, view: CloudView, now: float) -> Obstacle | None:
    """Why nothing may be evacuated from this node, None where it is certain that it is off."""
    service = view.service(spec.node)
    if node is not None and node.is_ready:
        return Reason.COMPUTE_STILL_REPORTS, "the node is ready: its servers run; migrate them instead"
    if service is not None and service.up:
        text = "its compute service reports: its servers run; they are evacuated only when it is silent"
        return Reason.COMPUTE_STILL_REPORTS, text
    if not (spec.fenced or (node is not None and node.is_fenced(now))):
        text = f"it is not certain that the node is off: osctl node fenced {spec.node}, or spec.fenced"
        return Reason.FENCING_AWAITED, text
    return None


def _serving(agents: Iterable[Agent]) -> list[Agent]:
    return [agent for agent in agents if agent.kind in _KINDS]


def _served(agent: Agent, cloud: Cloud) -> Sequence[str]:
    return _served_by(agent.id, agent.kind, cloud)


def _served_by(agent: str, kind: str, cloud: Cloud) -> Sequence[str]:
    return cloud.routed_by(agent) if kind == L3 else cloud.served_by(agent)


def _target(kind: str, item: str, host: str, cloud: Cloud, view: CloudView) -> str | None:
    """The agent to go to; empty where enough others serve it already, None where there is none."""
    others = [
        one for one in view.agents if one.kind == kind and one.host != host and one.alive and one.enabled
    ]
    loads = {agent.id: _served(agent, cloud) for agent in others}
    if any(item in served for served in loads.values()):
        return ""
    if not others:
        return None
    return min(loads, key=lambda agent: (len(loads[agent]), agent))
