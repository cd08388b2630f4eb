"""What is really so: which machine is on, whose processes run where, and in which place each disk is.

No one in the world may ask here but the world itself: kubelets, Nova and persons each tell of it what they
would. A state that must never be raises `Violated` the moment it comes about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

# Seconds from power to the first word of a kubelet, and from that to a nova-compute that runs: a machine
# tests its memory first, and the pod of nova-compute waits for its network agent.
BOOTS_WITHIN, COMPUTE_STARTS_WITHIN = 45.0, 35.0


class Violated(AssertionError):
    """Something happened that must never happen. `hazard` as in docs/safety.md."""

    def __init__(self, hazard: str, text: str) -> None:
        super().__init__(f"{hazard}: {text}")
        self.hazard = hazard


@dataclass
class Machine:
    """A computer. `host`: what its operating system calls it; `node`: as which Node its kubelet joins.

    `cluster_link`, `cloud_link`: whether its kubelet reaches the API server, and its nova-compute Nova.
    `contacted`: when its kubelet first spoke since it was started. `places`: where its nova-compute, as it
    runs, makes disks. `named`: when it came to join as that Node. `erred`: someone
    said that it is off while it was not. `asleep`: servers whose processes go on when it wakes.
    """

    key: str
    host: str
    node: str
    places: str
    clock: float = 0.0
    powered: bool = True
    boots: int = 1
    started: float = -1000.0
    contacted: float | None = -1000.0
    cluster_link: bool = True
    cloud_link: bool = True
    unwell: bool = False
    compute: bool = False
    broken: bool = False
    mounted: str = ""
    posted: float = -1000.0
    named: float = -1000.0
    retired: bool = False
    erred: bool = False
    asleep: frozenset[str] = frozenset()

    @property
    def boot(self) -> str:
        return f"{self.key}-boot-{self.boots}"

    @property
    def place(self) -> str:
        """Where a disk that is made here is."""
        return self.places if self.places.startswith("rbd:") else f"{self.places}@{self.key}"

    @property
    def reports(self) -> bool:
        """Whether its nova-compute reports to Nova."""
        return self.powered and self.compute and self.cloud_link


@dataclass
class Truth:
    """Machines, and the processes of servers on them. `disks`: by server, the place of its disk."""

    machines: dict[str, Machine] = field(default_factory=dict)
    runs: dict[str, set[str]] = field(default_factory=dict)
    disks: dict[str, str] = field(default_factory=dict)
    # Hosts of which a person said that their servers may be made again without their disks.
    may_rebuild: set[str] = field(default_factory=set)
    routers: set[str] = field(default_factory=set)

    def with_host(self, host: str) -> Machine | None:
        """The machine that has a host's name now."""
        return next((one for one in self.machines.values() if one.host == host and not one.retired), None)

    def with_node(self, node: str) -> Machine | None:
        return next((one for one in self.machines.values() if one.node == node and not one.retired), None)

    def present(self) -> Iterator[Machine]:
        return (one for one in self.machines.values() if not one.retired)

    def start(self, server: str, machine: Machine) -> None:
        """A process of the server begins."""
        here = self.runs.setdefault(server, set())
        for other in sorted(here - {machine.key}):
            if self.machines[other].erred:
                # A person said that this one is off: no one can know better.
                here.discard(other)
                continue
            raise Violated(
                "a server runs twice",
                f"{server} is started on {machine.host} ({machine.key}) and still runs on "
                f"{self.machines[other].host} ({other})",
            )
        here.add(machine.key)

    def stop(self, server: str, machine: Machine) -> None:
        self.runs.get(server, set()).discard(machine.key)

    def power_off(self, machine: Machine) -> None:
        machine.powered = machine.compute = False
        machine.contacted, machine.asleep = None, frozenset()
        for here in self.runs.values():
            here.discard(machine.key)

    def sleep(self, machine: Machine) -> None:
        """It looks as if it were off, and nothing of it runs; all goes on where it was when it wakes."""
        machine.asleep = frozenset(one for one, here in self.runs.items() if machine.key in here)
        machine.powered = False
        for here in self.runs.values():
            here.discard(machine.key)

    def wake(self, machine: Machine, servers: Collection[str]) -> None:
        """`servers`: those that no one has begun to start elsewhere; the others someone has ended here."""
        machine.powered = True
        for server in sorted(machine.asleep & set(servers)):
            self.start(server, machine)
        machine.asleep = frozenset()

    def power_on(self, machine: Machine, now: float) -> None:
        machine.powered, machine.compute, machine.asleep = True, False, frozenset()
        machine.boots += 1
        machine.started, machine.contacted = now, None

    def give_disk(self, server: str, place: str, host: str) -> None:
        """What an evacuation finds of a disk, or makes again."""
        before = self.disks[server]
        if before == "volume" or before == place:
            return
        if host not in self.may_rebuild:
            raise Violated(
                "a disk is rebuilt empty", f"that of {server} was {before}, and is made again as {place}"
            )
        self.disks[server] = place
