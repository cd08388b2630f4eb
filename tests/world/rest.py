"""Peace: everything is repaired, persons take back what they did, and the region has to come to rest."""

from __future__ import annotations

from controller.domain.shared.cloud_facts import MARK
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE
from tests.world.cluster import COMPUTE
from tests.world.truth import Violated
from tests.world.watched_writes import ANNOTATIONS, LOCK
from tests.world.world import World

# Passes, and seconds between two of them.
PASSES, PAUSE = 120, 20.0
# Of our annotations, those that tell of something under way.
_UNDER_WAY = ("cordoned-by", "fenced", "last-compute-report", "not-ready-since", "evacuation-declined")


def make_peace(world: World) -> None:
    world.faults.clear()
    world.lies.clear()
    world.traps.clear()
    world.to_power_off.clear()
    cloud, cluster = world.cloud, world.cluster
    cloud.stuck = False
    for machine in world.truth.present():
        machine.cluster_link = machine.cloud_link = True
        machine.unwell = machine.broken = False
        if not machine.powered:
            world.truth.power_on(machine, world.time.seconds)
    world.processes = [one for one in world.processes if one.alive][:1]
    if world.processes:
        world.leader = world.processes[0]
        world.leader.blind = False
    world.paused_since = None
    cluster.edit_region({"mode": "Apply", "features": {"nodes": {"evacuation": "Never", "maxUnhealthy": 9}}})
    for one in world.maintenances():
        cluster.kube.delete(COMPUTE_MAINTENANCE, one["metadata"]["name"])
    for name in sorted(cluster.nodes):
        live = cluster.node(name)
        assert live is not None
        patch = {"metadata": {"labels": {COMPUTE: "enabled"}}}
        if name in world.cordoned_by_person:
            patch["spec"] = {"unschedulable": None}
        cluster.kube.merge_patch(NODE, name, None, patch)
        if not any(one.node == name for one in world.truth.present()):
            cluster.remove_node(name)
    world.cordoned_by_person.clear()
    _give_back(world)
    world.tell("everything is mended, and persons have taken back what they did")


def _give_back(world: World) -> None:
    """What persons did in OpenStack; some of it has to wait until computes are back."""
    cloud = world.cloud
    for machine in world.truth.present():
        deleted, uncleaned = machine.host not in cloud.services, machine.host in cloud.uncleaned
        if machine.compute and (deleted or uncleaned):
            # Someone has it begin again: its log says that it cannot report, or Nova waits for it to clean
            # up what was evacuated from a machine that was on.
            machine.compute = False
        if cloud.registered.get(machine.host, machine.key) != machine.key:
            # Servers of a machine that is no more are given up, unless they are being evacuated. What Nova
            # takes for under way from there never ends by itself (`nova reset-state`).
            cloud.break_off(machine)
            idle = [one for one in cloud.hosted.values() if not one.task]
            for server in [one for one in idle if one.host == machine.host]:
                del cloud.hosted[server.id]
                for held in cloud.held.values():
                    held.discard(server.id)
    for what in list(world.disabled_by):
        host = what.removeprefix("forced ")
        service = cloud.services.get(host)
        if service is None:
            del world.disabled_by[what]
        elif what != host:
            if host not in cloud.uncleaned:
                del world.disabled_by[what]
                cloud.force_down(service.id, down=False)
        else:
            del world.disabled_by[what]
            cloud.set_compute_service(service.id, enabled=True)


def come_to_rest(world: World) -> None:
    """Raises Violated where the region does not come to rest."""
    make_peace(world)
    why: list[str] = ["nothing was looked at"]
    for number in range(PASSES):
        world.pass_time(PAUSE)
        if number == PASSES // 2:
            _delete_services_of_others(world)
        world.run()
        _give_back(world)
        why = unrest(world)
        if not why:
            return
    raise Violated("it never comes to rest", "; ".join(why))


def _delete_services_of_others(world: World) -> None:
    """`openstack compute service delete`, where a machine cannot register as another had its host's name, and
    we had never seen that one: `status.nodes` has said for long that its compute does not report."""
    for machine in world.truth.present():
        service = world.cloud.services.get(machine.host)
        others = service is not None and world.cloud.registered[machine.host] != machine.key
        if others and service is not None and not world.cloud.moves_of(machine.host):
            world.met["a person deletes the service of a machine that is no more"] += 1
            world.cloud.delete_compute_service(service.id)


def unrest(world: World) -> list[str]:
    """What is not as the spec asks for, or still in someone's hands."""
    cloud, cluster, why = world.cloud, world.cluster, []
    for machine in world.truth.present():
        service = cloud.services.get(machine.host)
        if service is None:
            why.append(f"{machine.host} has no compute service")
            continue
        if not (service.enabled and service.up) or service.forced_down:
            why.append(f"{service}")
        live = cluster.node(machine.node)
        if live is None or live["spec"].get("unschedulable"):
            why.append(f"the Node {machine.node} is cordoned, or missing")
        notes = (live or {"metadata": {}})["metadata"].get("annotations") or {}
        why += [f"{machine.node} has {key}" for key in notes if key.removeprefix(ANNOTATIONS) in _UNDER_WAY]
    why += [f"the maintenance {one['metadata']['name']}: {_says(one)}" for one in world.maintenances()]
    why += [f"{one}" for one in cloud.agents.values() if not one.enabled or MARK in one.description]
    for item in ("router1", "router2"):
        having = [
            agent for agent, items in cloud.on_agents.items() if item in items and agent in cloud.agents
        ]
        why += [] if having else [f"{item} is on no agent"]
    return why + _locks(world) + _servers(world)


def _locks(world: World) -> list[str]:
    """Drain locks are on the Nodes that have servers, and on no other."""
    having = {one.host for one in world.cloud.hosted.values()}
    wanted = {one.node for one in world.truth.present() if one.host in having}
    why = []
    for kind in ("Pod", "PodDisruptionBudget"):
        names = {one["metadata"]["name"] for one in world.cluster.kube.objects(kind)}
        locked = {name.removeprefix(LOCK) for name in names if name.startswith(LOCK)}
        why += [f"the {kind} of the lock of {node} is left" for node in sorted(locked - wanted)]
        why += [f"{node} has servers and no {kind} of a lock" for node in sorted(wanted - locked)]
    return why


def _servers(world: World) -> list[str]:
    why = []
    for server in world.cloud.hosted.values():
        running = world.truth.runs.get(server.id, set())
        machine = world.truth.with_host(server.host)
        wanted = {machine.key} if machine is not None and server.state == "active" else set()
        if running != wanted and not server.task and server.state != "error":
            why.append(f"{server.id} of {server.host} runs on {sorted(running)}")
        if server.task or server.status == "VERIFY_RESIZE":
            why.append(f"{server.id} is {server.status} {server.task}")
    return why


def _says(maintenance: dict[str, object]) -> str:
    status = maintenance.get("status") or {}
    assert isinstance(status, dict)
    found = next((one for one in status.get("conditions") or () if one["type"] == "Ready"), {})
    return f"{status.get('phase')}, {found.get('reason')}: {found.get('message')}"
