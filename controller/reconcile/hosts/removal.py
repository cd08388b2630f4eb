"""Takes out of OpenStack what it knows of a host that is no more."""

from __future__ import annotations

from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.hosts.host_facts import HostFacts, NextStep, Step
from controller.domain.shared.cloud_facts import REMOVED, Agent, CloudView
from controller.domain.shared.plurals import count
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.openstack import Cloud
from controller.reconcile.hosts import openstack_writes

# As Neutron calls those agents that something may hang on.
L3, DHCP = "L3 agent", "DHCP agent"


def remaining_in_openstack(host: str, cloud: Cloud) -> str:
    """What is still on a host, empty when it is certain that no server is.

    The list of its servers and what Placement holds have to agree: a list alone may have been cut short.
    Raises CloudUnavailable, CloudRefused.
    """
    servers = cloud.servers_on(host)
    if servers:
        return f"OpenStack has {count(len(servers), 'server')} on it: evacuate them, or bring the node back"
    consumers = cloud.allocations(host)
    if consumers is None and cloud.compute_service(host) is not None:
        # Each compute has a provider: what it holds is not known, and not nothing.
        raise CloudUnavailable("Placement has no provider of it, although Nova has its compute service")
    for consumer in consumers or ():
        server = cloud.server(consumer)
        if server is None:
            # It belongs to a move: Nova says below whether that is over.
            continue
        if server.host in ("", host) or not _was_evacuated(consumer, host, cloud):
            return f"Placement has resources of server {consumer} on it: nothing is removed"
    return ""


def _was_evacuated(server: str, host: str, cloud: Cloud) -> bool:
    """Whether a server that is elsewhere now left this host for good.

    Nova keeps what such a server used on a dead host until the host returns, or its service is deleted.
    """
    away = [one for one in cloud.migrations(server) if one.source == host and one.kind == "evacuation"]
    return bool(away) and away[-1].ended and not away[-1].failed


def remove_host(facts: HostFacts, decision: NextStep, cloud: Cloud, view: CloudView) -> NextStep:
    """Removes the host; Step.FORGET once nothing of it is left.

    The compute service goes first: Nova refuses that while a move to or from the host is not over, and it
    frees what evacuated servers used there. Only then, and once Nova lists it no more, what no server needs
    is taken out of Placement. Raises CloudUnavailable, CloudRefused.
    """
    host = facts.host
    if facts.was_compute:
        remaining = remaining_in_openstack(host, cloud)
        if remaining:
            return NextStep(Step.BLOCKED, Reason.SERVERS_LEFT, remaining)
        if facts.service is not None:
            try:
                openstack_writes.delete_compute_service(cloud, facts.service)
            except CloudRefused as error:
                if error.code != 409:
                    raise
                return NextStep(
                    Step.BLOCKED, Reason.SERVERS_LEFT, f"Nova does not delete its service: {error}"
                )
        if cloud.compute_service(host) is not None:
            # Placement's part is safe to take only after Nova's own check, which comes with the deletion.
            raise CloudUnavailable("Nova still lists its compute service, so Placement is not changed")
        for consumer in cloud.allocations(host) or ():
            if cloud.server(consumer) is None:
                openstack_writes.delete_allocations(cloud, consumer, host)
        openstack_writes.delete_provider(cloud, host)
    stranded = _remove_agents(facts, cloud, view)
    for volume in view.volumes_on(host):
        if volume.binary == "cinder-volume" and volume.enabled and not volume.up:
            openstack_writes.set_volume_service(cloud, volume, enabled=False, reason=REMOVED)
    if stranded:
        return NextStep(Step.BLOCKED, Reason.SERVERS_LEFT, stranded)
    return decision if facts.service is not None else replace(decision, step=Step.FORGET)


def _remove_agents(facts: HostFacts, cloud: Cloud, view: CloudView) -> str:
    """Deletes its silent network agents; why some of them stay, empty when none had to.

    With an agent goes the knowledge of what it serves: a router that is nowhere else would be lost. None of a
    node that has another role are given: those are in use.
    """
    stranded = ""
    for agent in facts.agents or ():
        if agent.alive:
            continue
        remaining = sorted(_only_on(agent, cloud, view))
        if not remaining:
            openstack_writes.delete_agent(cloud, agent)
            continue
        what = "router" if agent.kind == L3 else "network"
        more = f" and {len(remaining) - 3} more" if len(remaining) > 3 else ""
        stranded = (
            f"the {agent.kind} has {what}s that no living agent serves: "
            f"{', '.join(remaining[:3])}{more}; move them (openstack network agent remove, and add, "
            f"{what}), or bring the node back"
        )
    return stranded


def _only_on(agent: Agent, cloud: Cloud, view: CloudView) -> set[str]:
    """Routers or networks of an agent which no living one of its kind has, by as few requests as may be."""
    if agent.kind not in (L3, DHCP):
        return set()
    having = cloud.routed_by if agent.kind == L3 else cloud.served_by
    agents_of = cloud.agents_of_router if agent.kind == L3 else cloud.agents_of_network
    remaining = set(having(agent.id))
    others = {one.id for one in view.agents if one.kind == agent.kind and one.alive and one.id != agent.id}
    if len(remaining) <= len(others):
        return {item for item in remaining if others.isdisjoint(agents_of(item))}
    for other in sorted(others):
        remaining -= set(having(other)) if remaining else set()
    return remaining
