"""What persons and owners of servers do in OpenStack."""

from __future__ import annotations

from dataclasses import replace

from tests.world.events.draw import Draw, happens
from tests.world.world import World

BY_HAND = "somebody works on it"


@happens
def person_disables_compute(world: World, draw: Draw) -> str | None:
    services = sorted(world.cloud.services)
    if not services:
        return None
    host = draw.one(services)
    service = world.cloud.services[host]
    if host in world.disabled_by:
        del world.disabled_by[host]
        world.cloud.set_compute_service(service.id, enabled=True)
        return f"somebody enables the compute service of {host}"
    if not service.enabled:
        return None
    world.disabled_by[host] = BY_HAND
    world.cloud.set_compute_service(service.id, enabled=False, reason=BY_HAND)
    return f'somebody disables the compute service of {host} ("{BY_HAND}")'


@happens
def person_forces_down(world: World, draw: Draw) -> str | None:
    services = sorted(world.cloud.services)
    if not services:
        return None
    host = draw.one(services)
    service = world.cloud.services[host]
    forced = f"forced {host}"
    if forced in world.disabled_by and host not in world.cloud.uncleaned:
        del world.disabled_by[forced]
        world.cloud.force_down(service.id, down=False)
        return f"somebody lets the compute service of {host} up"
    if service.forced_down or service.reason.startswith("osctl.dev"):
        return None
    world.disabled_by[forced] = BY_HAND
    world.cloud.force_down(service.id, down=True)
    return f"somebody forces the compute service of {host} down"


@happens
def server_is_made(world: World, draw: Draw) -> str | None:
    hosts = [
        one.host
        for one in world.cloud.services.values()
        if one.enabled and (machine := world.truth.with_host(one.host)) is not None and machine.reports
    ]
    if not hosts or len(world.cloud.hosted) > 8:
        return None
    host = draw.one(sorted(hosts))
    disk = draw.one(("image", "volume"))
    state = draw.one(("active", "active", "stopped"))
    id_ = world.boot_server(host, disk, state=state)
    return f"{id_} is made on {host} ({world.truth.disks[id_]}, {state})"


@happens
def server_is_deleted(world: World, draw: Draw) -> str | None:
    idle = sorted(one.id for one in world.cloud.hosted.values() if not one.task)
    if not idle:
        return None
    id_ = draw.one(idle)
    server = world.cloud.hosted[id_]
    machine = world.truth.with_host(server.host)
    if machine is None or not machine.reports or server.status == "VERIFY_RESIZE":
        return None
    world.truth.stop(id_, machine)
    del world.cloud.hosted[id_]
    for held in world.cloud.held.values():
        held.discard(id_)
    return f"the owner of {id_} deletes it"


@happens
def server_is_switched(world: World, draw: Draw) -> str | None:
    idle = sorted(one.id for one in world.cloud.hosted.values() if not one.task)
    if not idle:
        return None
    id_ = draw.one(idle)
    server = world.cloud.hosted[id_]
    machine = world.truth.with_host(server.host)
    if machine is None or not machine.reports or server.status not in ("ACTIVE", "SHUTOFF"):
        return None
    if server.status == "ACTIVE":
        world.truth.stop(id_, machine)
        world.cloud.hosted[id_] = replace(server, status="SHUTOFF", state="stopped")
        return f"the owner of {id_} stops it"
    world.cloud.hosted[id_] = replace(server, status="ACTIVE", state="active")
    world.truth.start(id_, machine)
    return f"the owner of {id_} starts it"


@happens
def moves_stand_still(world: World, draw: Draw) -> str | None:
    world.cloud.stuck = not world.cloud.stuck
    return f"moves of servers {'stand still' if world.cloud.stuck else 'go on'}"
