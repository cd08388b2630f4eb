"""A region in which it is known what is true, with the real reconcilers at work in it.

`World` holds everything together: time, machines, the cluster, the cloud, our processes, and what is broken
just now. What may happen in it is in `events`; what must never happen is checked where it would come about
(`truth`, `region_cloud`), and at each write of a process of ours (`watched_writes`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from controller.domain.shared.cloud_facts import Server
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.world.clocks import Time
from tests.world.cluster import NAMESPACE, Cluster
from tests.world.process import Process
from tests.world.region_cloud import RegionCloud
from tests.world.traps import Traps
from tests.world.truth import COMPUTE_STARTS_WITHIN, Machine, Truth
from tests.world.watched_writes import WatchedWrites

# Machines speak so often, seconds.
SLICE = 10.0


@dataclass(frozen=True)
class Setting:
    """How a region begins. `places`: where its computes make disks."""

    hosts: int = 3
    places: str = "rbd:vms"
    evacuation: str = "Auto"
    fencing: bool = False
    unhealthy: str = "2"
    clock: float = 0.0


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
        self.traps = Traps(self)
        self.watched = WatchedWrites(self)
        self.story: list[str] = []
        self.met: Counter[str] = Counter()
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
        """Objects of others, which no one of ours may touch."""
        maintenance = {
            "apiVersion": COMPUTE_MAINTENANCE.api_version,
            "kind": COMPUTE_MAINTENANCE.kind,
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

    def rebuild_is_asked(self, node: str) -> None:
        """A person says of a Node that servers of its machine may be made again without their disks: of the
        one that is to join as it, and of the one that joined as it last, whatever that is called since."""
        last = self.truth.machines.get(self.cluster.joined.get(node, ""))
        for machine in (self.truth.with_node(node), last):
            if machine is not None:
                self.truth.may_rebuild.add(machine.host)

    # -- the story

    def tell(self, text: str) -> None:
        self.story.append(f"{self.time.seconds - 100:.0f} s: {'  ' * self.traps.depth}{text}")

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
            for one in self.cluster.kube.objects("ComputeMaintenance")
            if one["spec"]["region"]["namespace"] == NAMESPACE
        ]
