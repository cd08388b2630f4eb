"""A region in which it is known what is true, with the real reconcilers at work in it.

`World` holds everything together: time, machines, the cluster, the cloud, our processes, and what is broken
just now. What may happen in it is in `events`; what must never happen is checked where it would come about
(`truth`, `region_cloud`) and here, at each write of a process of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.shared.cloud_facts import Server
from controller.ports.kubernetes import NODE_MAINTENANCE, POD
from tests.world.clocks import Time
from tests.world.cluster import NAMESPACE, Cluster
from tests.world.process import Killed, Process
from tests.world.region_cloud import RegionCloud
from tests.world.truth import COMPUTE_STARTS_WITHIN, Machine, Truth, Violated

# Machines speak so often, seconds.
SLICE = 10.0
# As long may a pass take, with the request that it ends with.
PASS = 90.0
# spec.deadlines.server of all maintenances here.
SERVER_DEADLINE = 120.0
OF_OTHERS = frozenset((("NodeMaintenance", "of-the-other-region"), ("Pod", "somebodys")))
ANNOTATIONS = f"{NAMESPACE}.osctl.dev/"


@dataclass(frozen=True)
class Setting:
    """How a region begins. `places`: where its computes make disks."""

    hosts: int = 3
    places: str = "rbd:vms"
    evacuation: str = "Auto"
    fencing: bool = False
    unhealthy: str = "2"
    clock: float = 0.0


@dataclass(eq=False)
class Trap:
    """What a process meets at one of its next calls.

    `left`: so many writes (or calls) are left to it before. `what`: dies before or after it, stands still,
    has its answer lost. `meanwhile` happens while it stands still.
    """

    what: str
    left: int
    seconds: float = 0.0
    meanwhile: list[Any] = field(default_factory=list)
    writes: bool = True


class World:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.time = Time()
        self.truth = Truth()
        self.cluster = Cluster(self.truth, self.time)
        self.cloud = RegionCloud(self.truth)
        self.cloud.removed = self._service_removed
        self.faults: dict[str, str] = {}
        self.lies: dict[str, tuple[str, int]] = {}
        self.traps: list[Trap] = []
        self.story: list[str] = []
        self.met: Counter[str] = Counter()
        self.depth = 0
        self.to_power_off: list[tuple[float, str]] = []
        # By host: who disabled, or forced down, its compute service; what persons cordoned.
        self.disabled_by: dict[str, str] = {}
        self.cordoned_by_person: set[str] = set()
        self.confirmations: list[Any] = []
        # Maintenances that were always plans; since when the region is paused, and its circuit breaker.
        self.plans: set[str] = set()
        self.paused_since: float | None = None
        self.unhealthy = self.unhealthy_before = int(setting.unhealthy)
        self._born = 0

    def begin(self) -> None:
        """The region is installed, and our process has had its first passes."""
        chosen = self.setting
        nodes: dict[str, Any] = {
            "evacuation": chosen.evacuation,
            "holdDown": "30s",
            "maxUnhealthy": int(chosen.unhealthy),
        }
        if chosen.fencing:
            nodes["fencing"] = {"url": "https://fencing.example.org/"}
        self.cluster.configured = chosen.places
        self.cluster.install({"nodes": nodes, "compute": {"images": {"backend": "ceph"}}})
        for number in range(1, chosen.hosts + 1):
            self.add_machine(f"cmp{number}")
        self.cluster.add_member("cmp1")
        self.add_foreign()
        self.processes = [self.born()]
        self.leader = self.processes[0]
        self.pass_time(60.0)
        self.cloud.on_agents = {"L3-cmp1": ["router1", "router2"], "DH-cmp1": ["network1"]}
        for _ in range(4):
            self.run()
            self.pass_time(10.0)

    # -- what there is

    def add_machine(self, host: str, node: str = "") -> Machine:
        key = f"machine{len(self.truth.machines) + 1}"
        machine = Machine(key, host, node or host, self.cluster.configured, mounted=self.cluster.configured)
        self.truth.machines[key] = machine
        return machine

    def add_foreign(self) -> None:
        """Objects of others, which nobody of ours may touch."""
        maintenance = {
            "apiVersion": NODE_MAINTENANCE.api_version,
            "kind": NODE_MAINTENANCE.kind,
            "metadata": {"name": "of-the-other-region", "finalizers": ["node.osctl.dev/other.region"]},
            "spec": {"region": {"namespace": "other", "name": "region"}, "nodeName": "cmp1"},
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "somebodys", "namespace": NAMESPACE},
            "spec": {"nodeName": "cmp2", "containers": [{"name": "c", "image": "i"}]},
        }
        for obj in (maintenance, pod):
            self.cluster.kube.create(obj)

    def born(self) -> Process:
        """A process that knows nothing yet."""
        self._born += 1
        return Process(self, f"node-{self._born}", self.setting.clock)

    def boot_server(self, host: str, disk: str, *, state: str = "active") -> str:
        """A server on a host. `disk`: `volume`, or what its host makes."""
        machine = self.truth.with_host(host)
        assert machine is not None
        id_ = f"vm{len(self.truth.disks) + 1}"
        self.truth.disks[id_] = "volume" if disk == "volume" else machine.place
        status = "ACTIVE" if state == "active" else "SHUTOFF"
        server = Server(id_, id_, host, status, state=state, memory=512, disk=1, local_disk=disk != "volume")
        self.cloud.hosted[id_] = server
        self.cloud.held[host].add(id_)
        if state == "active":
            self.truth.start(id_, machine)
        return id_

    def _service_removed(self, host: str) -> None:
        """What persons did to a compute service is gone with it."""
        self.disabled_by.pop(host, None)
        self.disabled_by.pop(f"forced {host}", None)

    # -- time

    def pass_time(self, seconds: float) -> None:
        end = self.time.seconds + seconds
        while self.time.seconds < end:
            self.time.seconds = min(end, self.time.seconds + SLICE)
            self._tick()

    def _tick(self) -> None:
        now = self.time.seconds
        for at, key in list(self.to_power_off):
            if now >= at:
                self.to_power_off.remove((at, key))
                self.truth.power_off(self.truth.machines[key])
        self.cluster.tick()
        for machine in self.truth.present():
            ready = machine.powered and machine.contacted is not None and machine.cloud_link
            if ready and not (machine.compute or machine.broken):
                assert machine.contacted is not None
                if now - machine.contacted >= COMPUTE_STARTS_WITHIN:
                    self.start_compute(machine)
        self.cloud.tick(now)

    def start_compute(self, machine: Machine) -> None:
        machine.places = machine.mounted
        machine.compute = self.cloud.register(machine)

    def run(self, *kinds: str) -> None:
        """One pass of each process that believes to be in charge."""
        self.cluster.run_locks()
        if not self.leader.alive:
            self.processes = [one for one in self.processes if one.alive]
            self.leader = self.born()
            self.processes.append(self.leader)
            self.leader.run("region")
        for process in list(self.processes):
            if process is self.leader or process.alive:
                process.run(*(kinds or ("hosts", "maintenances", "region")))

    # -- between a process and its servers

    def before_call(self, process: Process, service: str, words: str, *, write: bool) -> None:
        if not process.alive:
            raise Killed
        self._meet(process, words, write=write, after=False)
        if not process.alive:
            raise Killed

    def after_call(self, process: Process, words: str, *, write: bool) -> None:
        self._meet(process, words, write=write, after=True)

    def _meet(self, process: Process, words: str, *, write: bool, after: bool) -> None:
        if self.depth > 1:
            return
        for trap in list(self.traps):
            if trap not in self.traps or trap.what == "cut":
                continue
            if (trap.writes and not write) or (trap.what == "dies after") != after:
                continue
            if trap.left > 0:
                trap.left -= 1
                continue
            self.traps.remove(trap)
            self.met[f"process {trap.what}"] += 1
            where = "after" if after else "before"
            if trap.what in ("dies after", "dies before"):
                self.tell(f"{process.name} is killed {where}: {words}")
                process.alive = False
                raise Killed
            self._stand_still(process, trap, words)

    def _stand_still(self, process: Process, trap: Trap, words: str) -> None:
        if trap.what == "meets another":
            self.tell(f"everybody else works before {process.name} goes on with: {words}")
            self.depth += 1
            for other in list(self.processes):
                other.run("maintenances", "hosts", "region")
            self.depth -= 1
            return
        self.tell(f"{process.name} stands still for {trap.seconds:.0f} s before: {words}")
        self.depth += 1
        try:
            if trap.what == "stands still, and another takes over":
                other = self.born()
                self.processes.append(other)
                self.leader = other
            self.pass_time(trap.seconds / 2)
            for event in trap.meanwhile:
                self.happen(event)
            if self.leader is not process:
                self.leader.run("hosts", "maintenances", "region")
            self.pass_time(trap.seconds / 2)
            if self.leader is not process:
                self.leader.run("hosts", "maintenances", "region")
        finally:
            self.depth -= 1
        self.tell(f"{process.name} goes on with: {words}")
        if self.leader is not process:
            # Its fence ends it: what it is about to send is sent, and nothing after that.
            self.traps.insert(0, Trap("dies after", 0, writes=False))

    def cut(self, service: str, words: str) -> bool:
        """Whether the answer to what was just done is lost."""
        for trap in list(self.traps):
            if trap.what != "cut":
                continue
            if trap.left > 0:
                trap.left -= 1
                continue
            self.traps.remove(trap)
            self.met["answer lost"] += 1
            self.tell(f"the answer of the {service} is lost: {words}")
            return True
        return False

    def lie(self, name: str, given: tuple[Any, ...], result: Any) -> Any:
        """What a list shows while a cell is missing from it."""
        cell = self.lies.get("cell")
        if cell is None:
            return result
        host = cell[0]
        if name in ("compute_services", "hypervisors"):
            return tuple(one for one in result if one.host != host)
        if name == "servers_on" and given[0] == host:
            return ()
        if name == "compute_service" and given[0] == host:
            return None
        return result

    # -- what is checked at the writes of our processes

    def watch_write(
        self, process: Process, verb: str, kind: str, name: str, given: Mapping[str, Any]
    ) -> None:
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
        if "spec" in given and not given["spec"]["unschedulable"] and name in self.cordoned_by_person:
            raise Violated(
                "an object of others is changed", f"{name} is uncordoned, which a person had cordoned"
            )

    def _only_planned(self, node: str) -> bool:
        """Whether all that persons have asked for a Node are plans."""
        here = [one["metadata"]["name"] for one in self.maintenances() if one["spec"]["nodeName"] == node]
        return bool(here) and all(name in self.plans for name in here)

    def watch_created(self, obj: Mapping[str, Any]) -> None:
        """An evacuation that begins by itself."""
        if obj["kind"] != NODE_MAINTENANCE.kind:
            return
        node = obj["spec"]["nodeName"]
        if self.paused_since is not None and self.time.seconds - self.paused_since > PASS:
            raise Violated("a host is acted upon that was not meant", f"{node} is evacuated while Paused")
        meant = {one["spec"]["nodeName"] for one in self.maintenances()}
        lost = [
            one.name
            for one in self.cluster.nodes.values()
            if one.ready == "Unknown"
            and self.time.seconds - one.lost > PASS
            and one.name not in meant
            and self.truth.with_node(one.name) is not None
        ]
        many = sorted({self.truth.machines[self.cluster.nodes[name].machine].host for name in lost})
        if len(many) > max(self.unhealthy, self.unhealthy_before) and not self.leader.blind:
            raise Violated(
                "a host is acted upon that was not meant", f"{node} is evacuated while {many} are lost"
            )

    def _watch_deletion(self, kind: str, name: str, given: Mapping[str, Any]) -> None:
        lock = name.startswith("osctl-drain-lock-")
        if lock:
            node = name.removeprefix("osctl-drain-lock-")
            machine = self.truth.with_node(node) if node in self.cluster.nodes else None
            left = [one.id for one in self.cloud.hosted.values() if machine and one.host == machine.host]
            if left and machine is not None and self._is_known(machine):
                raise Violated("servers are drained", f"the lock of {node} goes, which has {left}")
        elif kind == "Pod":
            live = self.cluster.kube.get(POD, name, NAMESPACE)
            if live is None or given["uid"] not in ("", live["metadata"]["uid"]):
                return
            machine = self.truth.with_node(live["spec"]["nodeName"])
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
        alone = sum(one.alive for one in self.processes) == 1 and not self.leader.blind
        return alone and machine.powered and self.time.seconds - machine.named > 300.0

    def watch_command(
        self, process: Process, name: str, subject: str, given: tuple[Any, ...], more: Mapping[str, Any]
    ) -> None:
        """Of OpenStack: whether it is ours to ask for."""
        self.met[f"we ask: {name}"] += 1
        idle = not self.maintenances() and name in (
            "set_compute_service",
            "force_down",
            "delete_compute_service",
        )
        if idle and self.paused_since is not None and self.time.seconds - self.paused_since > PASS:
            raise Violated("a host is acted upon that was not meant", f"{name}({subject}) while Paused")
        check = getattr(self, f"_watch_{name}", None)
        if check is not None:
            check(subject, given, more)

    def _watch_set_compute_service(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        service = next((one for one in self.cloud.services.values() if one.id == id_), None)
        if service is None:
            return
        mine = self.disabled_by.get(service.host)
        if more["enabled"] and mine is not None and not service.enabled:
            raise Violated(
                "an object of others is changed",
                f"the compute service of {service.host} is enabled, which a person had disabled ({mine})",
            )

    def _watch_force_down(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        service = next((one for one in self.cloud.services.values() if one.id == id_), None)
        if service is not None and not more["down"] and f"forced {service.host}" in self.disabled_by:
            raise Violated(
                "an object of others is changed",
                f"the compute service of {service.host} is let up, which a person had forced down",
            )

    def _watch_abort_migration(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        began = self.cloud.began.get(given[1], 0.0)
        ended = any(one["metadata"].get("deletionTimestamp") for one in self.maintenances())
        if self.time.seconds - began < SERVER_DEADLINE and not ended:
            raise Violated(
                "a move is broken off that had time", f"{id_} after {self.time.seconds - began:.0f} s"
            )

    def _watch_evacuate(self, id_: str, given: tuple[Any, ...], more: Mapping[str, Any]) -> None:
        server = self.cloud.hosted.get(id_)
        machine = self.truth.with_host(server.host) if server is not None else None
        if machine is None:
            return
        node = self.cluster.nodes.get(machine.node)
        since = self.cloud.reporting.get(machine.host)
        blinded = f"forced {machine.host}" in self.disabled_by
        if since is not None and self.time.seconds - since > PASS and not blinded:
            raise Violated("a server runs twice", f"{id_} is evacuated from {machine.host}, which reports")
        if node is not None and node.ready == "True" and node.machine == machine.key:
            raise Violated("a server runs twice", f"{id_} is evacuated from {machine.host}, which is Ready")

    # -- the story

    def tell(self, text: str) -> None:
        self.story.append(f"{self.time.seconds - 100:.0f} s: {'  ' * self.depth}{text}")

    def happen(self, event: Any) -> bool:
        """One event, if it can happen now."""
        from tests.world.events import happen

        return happen(self, event)

    # -- fencing

    def fence(self, node: str, uid: str, *, late: bool) -> bool:
        """The fencing service: powers the machine off that has this Node, and says so once it is."""
        known = self.cluster.nodes.get(node)
        machine = self.truth.machines.get(known.machine) if known is not None and known.uid == uid else None
        if machine is None:
            return False
        if late and machine.powered:
            self.to_power_off.append((self.time.seconds + 30.0, machine.key))
            return False
        self.truth.power_off(machine)
        return True

    def maintenances(self) -> list[dict[str, Any]]:
        """Of our region."""
        return [
            one
            for one in self.cluster.kube.objects("NodeMaintenance")
            if one["spec"]["region"]["namespace"] == NAMESPACE
        ]
