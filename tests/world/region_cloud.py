"""The region's OpenStack, driven by what is true: a FakeCloud whose computes are those of the machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from controller.domain.shared.cloud_facts import Agent, ComputeService
from controller.errors import CloudRefused
from tests.fakes.cloud import UNFINISHED, FakeCloud
from tests.world.truth import Machine, Truth, Violated

# Nova's service_down_time, seconds.
DOWN_AFTER = 60.0
# Neutron's agent_down_time.
AGENT_DOWN_AFTER = 75.0
NEW = "New compute service disabled due to config option."


class RegionCloud(FakeCloud):
    """`now` is Nova's own time: what it compares the reports of its computes with."""

    def __init__(self, truth: Truth) -> None:
        super().__init__()
        self.truth = truth
        self.now = 0.0
        self.reported: dict[str, float] = {}
        # By host: since when its compute reports without a break.
        self.reporting: dict[str, float] = {}
        self.agents_reported: dict[str, float] = {}
        self.registered: dict[str, str] = {}
        # When each move was asked for, and whether moves go on at all.
        self.began: dict[int, float] = {}
        self.stuck = False
        self.removed: Callable[[str], None] = lambda host: None
        self._services = 0

    # -- what machines do

    def tick(self, now: float) -> None:
        """Computes report, and what is under way goes on."""
        self.now = now
        for machine in self.truth.present():
            if machine.powered and machine.contacted is not None and machine.cloud_link:
                self.agents_reported[machine.host] = now
                self._register_agents(machine.host)
            if machine.reports and machine.host in self.services:
                self.reporting.setdefault(machine.host, now)
                self.heard(machine.host)
            else:
                self.reporting.pop(machine.host, None)
        self._judge()
        self.pass_time()

    def heard(self, host: str) -> None:
        """Its compute reports now."""
        self.reported[host] = self.now
        self._written(host)

    def _judge(self) -> None:
        """Which computes Nova believes to be up."""
        for host, service in self.services.items():
            up = self.now - self.reported.get(host, -DOWN_AFTER) < DOWN_AFTER
            if up != service.up:
                self.services[host] = replace(service, up=up)
        for id_, agent in self.agents.items():
            alive = self.now - self.agents_reported.get(agent.host, -AGENT_DOWN_AFTER) < AGENT_DOWN_AFTER
            if alive != agent.alive:
                self.agents[id_] = replace(agent, alive=alive)

    def register(self, machine: Machine) -> bool:
        """A compute begins; False where Nova refuses it, as another machine's service has its name."""
        host = machine.host
        if host not in self.services:
            self._services += 1
            self.services[host] = ComputeService(
                f"service-{self._services}", host, enabled=False, up=True, reason=NEW
            )
            self.held.setdefault(host, set())
            self.registered[host] = machine.key
        elif self.registered[host] != machine.key:
            return False
        self.break_off(machine)
        self._begin_compute(machine)
        return True

    def _register_agents(self, host: str) -> None:
        for kind in ("L3 agent", "DHCP agent"):
            id_ = f"{kind[:2]}-{host}"
            if id_ not in self.agents:
                self.agents[id_] = Agent(id_, host, kind, True)

    def set_agent(self, id_: str, *, enabled: bool, description: str) -> None:
        if id_ not in self.agents:
            raise CloudRefused(f"Agent {id_} could not be found", 404)
        super().set_agent(id_, enabled=enabled, description=description)

    def break_off(self, machine: Machine) -> None:
        """What was under way from or to it when it ended does not go on."""
        for move in list(self._under_way):
            record = self.moves[move.migration]
            server = self.hosted.get(move.server)
            if server is None or machine.host not in (record.source, record.target):
                continue
            if record.kind == "evacuation":
                if record.target == machine.host and server.host == record.source:
                    self._end(move, replace(server, task="", status="ERROR", state="error"), "error")
            elif server.host == record.source:
                self._end(move, replace(server, task="", status="ACTIVE"), "error")
            elif self._is_evacuated(server.id, record.source):
                # Its source finds the server in another state than the one that it was to move it in.
                self._end(move, server, "error")

    def _begin_compute(self, machine: Machine) -> None:
        """nova/compute/manager.py, init_host: destroys what was evacuated, resumes what is its own."""
        host = machine.host
        evacuated = {
            one.server
            for one in self.moves.values()
            if one.kind == "evacuation" and one.source == host and not one.failed
        }
        for id_ in evacuated:
            self.truth.stop(id_, machine)
        self.held.setdefault(host, set())
        self.restart(host)
        for server in list(self.hosted.values()):
            mine = server.host == host and server.state == "active"
            if mine and not (server.id in evacuated and self._is_evacuated(server.id, host)):
                self.truth.start(server.id, machine)
        self.reported[host] = self.now
        self._judge()

    def _is_evacuated(self, server: str, host: str) -> bool:
        newest = max((one for one in self.moves.values() if one.server == server), key=lambda one: one.id)
        return newest.kind == "evacuation" and newest.source == host and not newest.failed

    def left_on(self, host: str) -> list[str]:
        """Servers of a host that no one evacuates: those that are being migrated run there meanwhile."""
        evacuated = {one.server for one in self._under_way if self.moves[one.migration].kind == "evacuation"}
        return [one.id for one in self.hosted.values() if one.host == host and one.id not in evacuated]

    # -- moves

    def _begin(self, name: str, id_: str, kind: str, status: str, task: str) -> None:
        self._judge()
        before = self._next
        super()._begin(name, id_, kind, status, task)
        if self._next > before:
            self.began[self._next] = self.now

    def _advance(self, move: Any) -> None:
        record, server = self.moves[move.migration], self.hosted.get(move.server)
        if self.stuck and record.status != "accepted":
            # It is under way, and gets nowhere.
            return
        source, target = self.truth.with_host(record.source), self.truth.with_host(record.target)
        if server is None or target is None or not target.reports:
            if server is not None and record.kind == "live-migration" and server.host == record.source:
                # libvirt tells the source that the other side is gone.
                self._end(move, replace(server, task="", status="ACTIVE"), "error")
            return
        if record.kind != "evacuation" and (source is None or not source.reports):
            return
        placed = server.host
        super()._advance(move)
        after = self.hosted.get(move.server)
        if after is None or after.host == placed or after.host != record.target:
            return
        runs = after.state == "active"
        if record.kind == "evacuation":
            self.truth.give_disk(after.id, target.place, record.source)
        else:
            assert source is not None
            self.truth.stop(after.id, source)
            if self.truth.disks[after.id] != "volume":
                self.truth.disks[after.id] = target.place
        if runs:
            self.truth.start(after.id, target)

    def _end(self, move: Any, server: Any, status: str) -> None:
        if server.status == "ACTIVE" and server.state == "stopped":
            server = replace(server, status="SHUTOFF")
        super()._end(move, server, status)

    # -- what must never be asked for

    def delete_allocations(self, consumer: str) -> None:
        if consumer in self.hosted:
            raise Violated("data deleted", f"the allocations of {consumer}, which exists, are deleted")
        super().delete_allocations(consumer)

    def delete_agent(self, id_: str) -> None:
        """With an agent goes what only it has."""
        elsewhere = {item for other, items in self.on_agents.items() if other != id_ for item in items}
        lost = [item for item in self.on_agents.get(id_, ()) if item not in elsewhere]
        if lost and id_ in self.agents:
            raise Violated("data deleted", f"the agent {id_} is deleted, which alone has {lost}")
        super().delete_agent(id_)

    def delete_compute_service(self, id_: str) -> None:
        found = next((one for one in self.services.values() if one.id == id_), None)
        if found is not None:
            machine = self.truth.with_host(found.host)
            # Nova's own refusal comes first; it does not know of processes.
            running = [server for server, on in self.truth.runs.items() if machine and machine.key in on]
            super().delete_compute_service(id_)
            if running and machine is not None and machine.reports and found.host not in self.services:
                raise Violated("data deleted", f"the compute service of {found.host}, which has {running}")
            if found.host not in self.services:
                self.removed(found.host)
                self.registered.pop(found.host, None)
                self.reported.pop(found.host, None)

    def moves_of(self, host: str) -> list[int]:
        """What is not over, from or to a host."""
        return [
            one.id
            for one in self.moves.values()
            if one.status in UNFINISHED and host in (one.source, one.target)
        ]
