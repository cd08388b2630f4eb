"""Writes to OpenStack, each with its line in the log. Nothing else here changes anything there.

All raise CloudUnavailable and CloudRefused, and log nothing then. `why` is for people, and holds no secret.
"""

from __future__ import annotations

from controller.domain.shared.cloud_facts import Agent, Aggregate, ComputeService, VolumeService
from controller.ports.openstack import Cloud
from controller.reconcile.shared.action_log import log_action


def set_compute_service(
    cloud: Cloud, service: ComputeService, *, enabled: bool, reason: str = "", why: str = ""
) -> None:
    """`reason` is what Nova keeps as disabled_reason; the one before goes, also where it is empty."""
    cloud.set_compute_service(service.id, enabled=enabled, reason=reason)
    done = "enable" if enabled else "disable"
    text = f"compute service of {service.host}: {done}d"
    _log(f"{done}-compute-service", service.host, text, why or reason)


def force_down(cloud: Cloud, service: ComputeService, *, down: bool, why: str = "") -> None:
    cloud.force_down(service.id, down=down)
    action, done = ("force-down", "forced down") if down else ("end-force-down", "forced down no more")
    _log(f"{action}-compute-service", service.host, f"compute service of {service.host}: {done}", why)


def delete_compute_service(cloud: Cloud, service: ComputeService) -> None:
    cloud.delete_compute_service(service.id)
    _log("delete-compute-service", service.host, f"compute service of {service.host}: deleted")


def delete_allocations(cloud: Cloud, consumer: str, host: str) -> None:
    cloud.delete_allocations(consumer)
    _log(
        "delete-allocations",
        host,
        f"allocations of {consumer} on {host}: deleted, because the server does not exist",
    )


def delete_provider(cloud: Cloud, host: str) -> None:
    cloud.delete_provider(host)
    _log("delete-resource-provider", host, f"resource provider of {host}: gone")


def set_volume_service(cloud: Cloud, service: VolumeService, *, enabled: bool, reason: str = "") -> None:
    cloud.set_volume_service(service, enabled=enabled, reason=reason)
    done = "enable" if enabled else "disable"
    _log(f"{done}-volume-service", service.name, f"{service.binary} {service.name}: {done}d", reason)


def set_agent(cloud: Cloud, agent: Agent, *, enabled: bool, description: str) -> None:
    cloud.set_agent(agent.id, enabled=enabled, description=description)
    done = "enable" if enabled else "disable"
    _log(f"{done}-network-agent", agent.host, f"{agent.kind} {agent.id} of {agent.host}: {done}d")


def delete_agent(cloud: Cloud, agent: Agent) -> None:
    cloud.delete_agent(agent.id)
    _log("delete-network-agent", agent.host, f"{agent.kind} {agent.id} of {agent.host}: deleted")


def ensure_aggregate(cloud: Cloud, name: str, *, zone: str, begun: bool) -> Aggregate:
    made = cloud.ensure_aggregate(name, zone=zone, begun=begun)
    _log("ensure-aggregate", name, f"aggregate {name}: created, and marked as ours", zone and f"zone {zone}")
    return made


def place_host(cloud: Cloud, aggregate: Aggregate, host: str, *, member: bool) -> None:
    cloud.place_host(aggregate, host, member=member)
    action, done = ("add-to", "added to") if member else ("remove-from", "removed from")
    _log(f"{action}-aggregate", host, f"host {host}: {done} aggregate {aggregate.name}")


def live_migrate(cloud: Cloud, server: str) -> None:
    cloud.live_migrate(server)
    _log("live-migrate", server, f"server {server}: live migration requested")


def cold_migrate(cloud: Cloud, server: str) -> None:
    cloud.cold_migrate(server)
    _log("cold-migrate", server, f"server {server}: cold migration requested")


def confirm_resize(cloud: Cloud, server: str) -> None:
    cloud.confirm_resize(server)
    _log("confirm-resize", server, f"server {server}: cold migration confirmed")


def evacuate(cloud: Cloud, server: str) -> None:
    cloud.evacuate(server)
    _log("evacuate", server, f"server {server}: evacuation requested")


def abort_migration(cloud: Cloud, server: str, migration: int) -> None:
    cloud.abort_migration(server, migration)
    _log("abort-migration", server, f"server {server}: migration {migration} aborted")


def add_to_agent(cloud: Cloud, agent: str, *, router: str = "", network: str = "") -> None:
    cloud.add_to_agent(agent, router=router, network=network)
    what = f"router {router}" if router else f"network {network}"
    _log("add-to-network-agent", router or network, f"{what}: added to agent {agent}")


def remove_from_agent(cloud: Cloud, agent: str, *, router: str = "", network: str = "") -> None:
    cloud.remove_from_agent(agent, router=router, network=network)
    what = f"router {router}" if router else f"network {network}"
    _log("remove-from-network-agent", router or network, f"{what}: removed from agent {agent}")


def _log(action: str, object_: str, text: str, why: str = "") -> None:
    log_action(action, object_, f"{text} ({why})" if why else text)
