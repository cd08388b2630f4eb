"""Takes out of OpenStack what it knows of a host that is no more."""

from __future__ import annotations

import logging
from dataclasses import replace

from controller.cloud_port import Cloud
from controller.domain.cloud_facts import MARK, CloudView
from controller.domain.compute_node import Decision, HostFacts, Step
from controller.domain.reasons import Reason
from controller.errors import CloudRefused, CloudUnavailable

log = logging.getLogger(__name__)


def what_is_left(host: str, cloud: Cloud) -> str:
    """What is still on a host, empty when it is certain that no server is.

    The list of its servers and what Placement holds have to agree: a list alone may have been cut short.
    Raises CloudUnavailable, CloudRefused.
    """
    servers = cloud.servers_on(host)
    if servers:
        return f"OpenStack has {len(servers)} servers on it: evacuate them, or bring the node back"
    held = cloud.allocations(host)
    if held is None and cloud.compute_service(host) is not None:
        # Each compute has a provider: what it holds is not known, and not nothing.
        raise CloudUnavailable("Placement shows no provider of it, though Nova has its compute service")
    for consumer in held or ():
        server = cloud.server(consumer)
        if server is None:
            # It belongs to a move: Nova says below whether that is over.
            continue
        if server.host in ("", host) or not _was_evacuated(consumer, host, cloud):
            return f"Placement has resources of server {consumer} on it: nothing is removed"
    return ""


def _was_evacuated(server: str, host: str, cloud: Cloud) -> bool:
    """Whether a server that is elsewhere now left this host for good.

    Nova keeps what such a server held on a dead host until the host returns, or its service is deleted.
    """
    away = [one for one in cloud.migrations(server) if one.source == host and one.kind == "evacuation"]
    return bool(away) and away[-1].ended and not away[-1].failed


def remove_host(facts: HostFacts, decision: Decision, cloud: Cloud, view: CloudView) -> Decision:
    """Removes the host; Step.FORGET once nothing of it is left.

    The compute service goes first: Nova refuses that while a move to or from the host is not over, and it
    frees what evacuated servers held there. Only then, and once Nova lists it no more, what no server needs
    is taken out of Placement. Raises CloudUnavailable, CloudRefused.
    """
    host = facts.host
    if facts.was_compute:
        left = what_is_left(host, cloud)
        if left:
            return Decision(Step.BLOCKED, Reason.SERVERS_LEFT, left)
        if facts.service is not None:
            try:
                cloud.delete_compute_service(facts.service.id)
            except CloudRefused as error:
                if error.code != 409:
                    raise
                return Decision(Step.BLOCKED, Reason.SERVERS_LEFT, f"Nova keeps its service: {error}")
            log.info("host %s: compute service removed", host)
        if cloud.compute_service(host) is not None:
            # Placement's part is safe to take only after Nova's own check, which comes with the deletion.
            raise CloudUnavailable("Nova still lists its compute service: Placement is left as it is")
        for consumer in cloud.allocations(host) or ():
            if cloud.server(consumer) is None:
                cloud.delete_allocations(consumer)
        cloud.delete_provider(host)
    # None of a node that has another role: those agents are in use.
    for agent in facts.agents or ():
        if not agent.alive:
            cloud.delete_agent(agent.id)
    for volume in view.volumes_on(host):
        if volume.binary == "cinder-volume" and volume.enabled and not volume.up:
            cloud.set_volume_service(volume, enabled=False, reason=MARK + "node removed")
    return decision if facts.service is not None else replace(decision, step=Step.FORGET)
