"""What is checked at each write of a process of ours: whether it is ours to change, and may be now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from controller.ports.kubernetes import COMPUTE_MAINTENANCE, POD
from tests.world.cluster import COMPUTE, NAMESPACE
from tests.world.truth import Machine, Violated

if TYPE_CHECKING:
    from tests.world.world import World

# As long may a pass take, with the request that it ends with, seconds.
PASS = 90.0
# spec.deadlines.server of all maintenances here.
SERVER_DEADLINE = 120.0
OF_OTHERS = frozenset((("ComputeMaintenance", "of-the-other-region"), ("Pod", "somebodys")))
ANNOTATIONS = f"{NAMESPACE}.osctl.dev/"
# What a drain lock is called, before the name of its Node.
LOCK = "osctl-drain-lock-"


class WatchedWrites:
    """Raises Violated for what must never be written."""

    def __init__(self, world: World) -> None:
        self._world = world

    def write(self, verb: str, kind: str, name: str, given: Mapping[str, Any]) -> None:
        """Of Kubernetes: whether it is ours to change."""
        if (kind, name) in OF_OTHERS:
            raise Violated("an object of others is changed", f"{verb} of the {kind} {name}: {given}")
        if kind == "Node":
            self._watch_node(verb, name, given)
        if verb == "delete" and kind in ("Pod", "PodDisruptionBudget"):
            self._watch_deletion(kind, name, given)

    def _watch_node(self, verb: str, name: str, given: Mapping[str, Any]) -> None:
        if verb == "delete":
            raise Violated("an object of others is changed", f"the Node {name} is deleted")
        meta = given.get("metadata") or {}
        foreign = [key for key in meta.get("annotations") or {} if not key.startswith(ANNOTATIONS)]
        others = given.keys() - {"metadata", "spec"} or meta.keys() - {"annotations", "resourceVersion"}
        if foreign or others or (given.get("spec") or {}).keys() - {"unschedulable"}:
            raise Violated("an object of others is changed", f"{given} is written to the Node {name}")
        if (given.get("spec") or {}).get("unschedulable") and self._only_planned(name):
            raise Violated("a host is acted upon that was not meant", f"{name} is cordoned by a plan")
        if "spec" in given and not given["spec"]["unschedulable"] and name in self._world.cordoned_by_person:
            raise Violated(
                "an object of others is changed", f"{name} is uncordoned, which a person had cordoned"
            )

    def _is_compute(self, node: str) -> bool:
        """Whether it is to be one: a person may have taken the role away."""
        live = self._world.cluster.node(node)
        return live is not None and COMPUTE in (live["metadata"].get("labels") or {})

    def _only_planned(self, node: str) -> bool:
        """Whether all that persons have asked for a Node are plans."""
        world = self._world
        here = [one["metadata"]["name"] for one in world.maintenances() if one["spec"]["nodeName"] == node]
        return bool(here) and all(name in world.plans for name in here)

    def created(self, obj: Mapping[str, Any]) -> None:
        """An evacuation that begins by itself."""
        world = self._world
        if obj["kind"] != COMPUTE_MAINTENANCE.kind:
            return
        node = obj["spec"]["nodeName"]
        if world.paused_since is not None and world.time.seconds - world.paused_since > PASS:
            raise Violated("a host is acted upon that was not meant", f"{node} is evacuated while Paused")
        nodes = world.cluster.nodes
        named = [one["spec"]["nodeName"] for one in world.maintenances()]
        # Of its machine, whichever of its Nodes it names.
        meant = {nodes[name].machine for name in named if name in nodes}
        lost = [
            one.name
            for one in nodes.values()
            if one.ready == "Unknown"
            and world.time.seconds - one.lost > PASS
            and one.machine not in meant
            and world.truth.with_node(one.name) is not None
            and self._is_compute(one.name)
        ]
        many = sorted({world.truth.machines[nodes[name].machine].host for name in lost})
        if len(many) > max(world.unhealthy, world.unhealthy_before) and not world.leader.blind:
            raise Violated(
                "a host is acted upon that was not meant", f"{node} is evacuated while {many} are lost"
            )

    def _watch_deletion(self, kind: str, name: str, given: Mapping[str, Any]) -> None:
        world = self._world
        lock = name.startswith(LOCK)
        if lock:
            node = name.removeprefix(LOCK)
            machine = world.truth.with_node(node) if node in world.cluster.nodes else None
            left = [one.id for one in world.cloud.hosted.values() if machine and one.host == machine.host]
            if left and machine is not None and self._is_known(machine):
                raise Violated("servers are drained", f"the lock of {node} goes, which has {left}")
        elif kind == "Pod":
            live = world.cluster.kube.get(POD, name, NAMESPACE)
            if live is None or given["uid"] not in ("", live["metadata"]["uid"]):
                return
            machine = world.truth.with_node(live["spec"]["nodeName"])
            runs = machine is not None and machine.powered and machine.contacted is not None
            if machine is not None and runs and not machine.erred:
                raise Violated(
                    "a server runs twice",
                    f"the pod {name} is taken for ended, and its machine {machine.host} is on",
                )
        elif kind == "PodDisruptionBudget":
            raise Violated("an object of others is changed", f"the budget {name} is deleted")

    def _is_known(self, machine: Machine) -> bool:
        """Whether our one process can know of it as which Node it is there."""
        world = self._world
        alone = sum(one.alive for one in world.processes) == 1 and not world.leader.blind
        return alone and machine.powered and world.time.seconds - machine.named > 300.0

    def command(self, name: str, subject: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        """Of OpenStack: whether it is ours to ask for."""
        world = self._world
        world.met[f"we ask: {name}"] += 1
        idle = not world.maintenances() and name in (
            "set_compute_service",
            "force_down",
            "delete_compute_service",
        )
        if idle and world.paused_since is not None and world.time.seconds - world.paused_since > PASS:
            raise Violated("a host is acted upon that was not meant", f"{name}({subject}) while Paused")
        check = getattr(self, f"_watch_{name}", None)
        if check is not None:
            check(subject, given, more)

    def _watch_set_compute_service(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        world = self._world
        service = next((one for one in world.cloud.services.values() if one.id == id_), None)
        if service is None:
            return
        mine = world.disabled_by.get(service.host)
        if more["enabled"] and mine is not None and not service.enabled:
            raise Violated(
                "an object of others is changed",
                f"the compute service of {service.host} is enabled, which a person had disabled ({mine})",
            )

    def _watch_force_down(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        world = self._world
        service = next((one for one in world.cloud.services.values() if one.id == id_), None)
        if service is not None and not more["down"] and f"forced {service.host}" in world.disabled_by:
            raise Violated(
                "an object of others is changed",
                f"the compute service of {service.host} is let up, which a person had forced down",
            )

    def _watch_abort_migration(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        world = self._world
        began = world.cloud.began.get(given[1], 0.0)
        ended = any(one["metadata"].get("deletionTimestamp") for one in world.maintenances())
        if world.time.seconds - began < SERVER_DEADLINE and not ended:
            raise Violated(
                "a move is broken off that had time", f"{id_} after {world.time.seconds - began:.0f} s"
            )

    def _watch_evacuate(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        world = self._world
        server = world.cloud.hosted.get(id_)
        machine = world.truth.with_host(server.host) if server is not None else None
        if machine is None:
            return
        node = world.cluster.nodes.get(machine.node)
        since = world.cloud.reporting.get(machine.host)
        blinded = f"forced {machine.host}" in world.disabled_by
        if since is not None and world.time.seconds - since > PASS and not blinded:
            raise Violated("a server runs twice", f"{id_} is evacuated from {machine.host}, which reports")
        if node is not None and node.ready == "True" and node.machine == machine.key:
            raise Violated("a server runs twice", f"{id_} is evacuated from {machine.host}, which is Ready")
