"""An OpenStack in memory: `FakeCloud` implements `controller.ports.openstack.Cloud`.

It keeps what the reconcilers rely on: a server has one task at a time (409 otherwise), a migration shows
first as a task, then on another host, then as ended; an evacuation asks for no task, so that a second one
begins beside the first; a host that was forced down is not freed before its compute was restarted; a service
that has servers is not deleted. `tests/openstack/test_cloud_contract.py`
holds it, and the real one, to that. What happens in time happens here when a test calls `pass_time()`.

`before` and `after` are called with the name of each call, reads too; they may raise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from controller.domain.health.probes import CONTROL
from controller.domain.shared.cloud_facts import (
    Agent,
    Aggregate,
    ComputeService,
    ControlService,
    Hypervisor,
    Migration,
    Server,
    VolumeService,
)
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.system import Clock

READS = frozenset(
    (
        "compute_services",
        "compute_control",
        "compute_service",
        "hypervisors",
        "network_agents",
        "volume_services",
        "aggregates",
        "servers_on",
        "server",
        "migrations",
        "allocations",
        "routed_by",
        "served_by",
        "agents_of_router",
        "agents_of_network",
    )
)


# An address that all hosts have which were given none of their own.
EVERYWHERE = "192.0.2.1"
# Where Nova's vm_state is not the status in small letters.
STATES = {"SHUTOFF": "stopped", "VERIFY_RESIZE": "resized"}
# As Nova counts moves that are not over: one that waits to be confirmed is not.
UNFINISHED = ("accepted", "preparing", "running", "post-migrating", "finished")


def _nothing(name: str, subject: str) -> None:
    """The default of the hooks."""


@dataclass
class _Move:
    migration: int
    server: str
    target: str


class FakeCloud:
    def __init__(self, *hosts: str) -> None:
        self.services: dict[str, ComputeService] = {}
        self.agents: dict[str, Agent] = {}
        self.volumes: dict[str, VolumeService] = {}
        self.groups: dict[int, Aggregate] = {}
        self.hosted: dict[str, Server] = {}
        self.moves: dict[int, Migration] = {}
        self.held: dict[str, set[str]] = {}
        self.on_agents: dict[str, list[str]] = {}
        self.uncleaned: set[str] = set()
        # By host, its address as Nova has it; and those that are in no cell yet.
        self.addresses: dict[str, str] = {}
        self.unmapped: set[str] = set()
        self.calls: list[tuple[str, str]] = []
        self.before: Callable[[str, str], None] = _nothing
        self.after: Callable[[str, str], None] = _nothing
        self.failing: set[str] = set()
        # For what is to end in time; without it nothing has to.
        self.clock: Clock | None = None
        self._under_way: list[_Move] = []
        self._next = self._updates = 0
        for host in hosts:
            self.add_host(host)

    # -- for tests

    def add_host(self, host: str) -> None:
        """A compute service that registered, with its provider."""
        self.services[host] = ComputeService(f"service-{host}", host, True, True)
        self.held[host] = set()

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [call for call in self.calls if call[0] not in READS]

    def boot(self, count: int, host: str, **more: object) -> list[str]:
        ids = [f"{host}-{len(self.hosted) + number:04}" for number in range(count)]
        for id_ in ids:
            server = Server(id_, f"vm-{id_}", host, "ACTIVE", memory=512, disk=1)
            made = replace(server, **more)  # type: ignore[arg-type]
            self.hosted[id_] = replace(made, state=made.state or STATES.get(made.status, made.status.lower()))
            self.held[host].add(id_)
        return ids

    def report(self, host: str) -> None:
        """Its compute reports, which a service that is forced down does not show but by its last update."""
        self.services[host] = replace(self.services[host], up=True)
        self._written(host)

    def _written(self, host: str) -> None:
        """Nova writes down when a service was changed or reported last (updated_at)."""
        self._updates += 1
        self.services[host] = replace(self.services[host], updated=f"update {self._updates}")

    def die(self, host: str) -> None:
        self.services[host] = replace(self.services[host], up=False)

    def catch(self, server: str, task: str = "rebooting_hard", status: str = "HARD_REBOOT") -> None:
        """Its host died in the middle of a task, which never ends."""
        self.hosted[server] = replace(self.hosted[server], task=task, status=status)

    def restart(self, host: str) -> None:
        """The compute starts again, and cleans up what was evacuated."""
        service = self.services[host]
        self.services[host] = replace(service, up=not service.forced_down)
        self._written(host)
        self.uncleaned.discard(host)
        self.held[host] = {id_ for id_ in self.held[host] if self.hosted[id_].host == host}

    def pass_time(self) -> None:
        """Every move takes one step: under way, on its new host, ended."""
        for move in list(self._under_way):
            self._advance(move)

    def _advance(self, move: _Move) -> None:
        record, server = self.moves[move.migration], self.hosted.get(move.server)
        if server is None:
            self._under_way.remove(move)
        elif record.status == "accepted":
            self.moves[move.migration] = replace(record, status="running")
        elif move.server in self.failing:
            self._end(move, replace(server, task="", status="ACTIVE"), "error")
        elif server.host != move.target:
            self.held[move.target].add(server.id)
            self.hosted[server.id] = replace(server, host=move.target)
        else:
            self._arrive(move, record, server)

    def _arrive(self, move: _Move, record: Migration, server: Server) -> None:
        if record.kind == "migration":
            self._end(move, replace(server, task="", status="VERIFY_RESIZE"), "finished")
        elif record.kind == "evacuation":
            self.uncleaned.add(record.source)
            self._end(move, replace(server, task="", status="ACTIVE"), "done")
        else:
            self.held[record.source].discard(server.id)
            self._end(move, replace(server, task="", status="ACTIVE"), "completed")

    def _end(self, move: _Move, server: Server, status: str) -> None:
        self.hosted[server.id] = server
        self.moves[move.migration] = replace(self.moves[move.migration], status=status)
        self._under_way.remove(move)

    def _called(self, name: str, subject: str = "") -> None:
        self.before(name, subject)
        self.calls.append((name, subject))

    def close(self) -> None:
        """There is no connection."""

    # -- looks

    def until(self, deadline: float, *, grace: float = 0.0) -> FakeCloud:
        """The same, on `clock`."""
        return cast(FakeCloud, _InTime(self, deadline, deadline + grace))

    def longer(self, seconds: float) -> FakeCloud:
        return self

    @property
    def late(self) -> bool:
        return False

    def compute_services(self) -> tuple[ComputeService, ...]:
        self._called("compute_services")
        return tuple(replace(one, up=one.up and not one.forced_down) for one in self.services.values())

    def compute_control(self) -> tuple[ControlService, ...]:
        self._called("compute_control")
        return tuple(ControlService(binary, "ctl1", enabled=True, up=True) for binary in CONTROL)

    def compute_service(self, host: str) -> ComputeService | None:
        self._called("compute_service", host)
        found = self.services.get(host)
        return replace(found, up=found.up and not found.forced_down) if found else None

    def hypervisors(self) -> tuple[Hypervisor, ...]:
        self._called("hypervisors")
        counts = Counter(one.host for one in self.hosted.values())
        return tuple(
            Hypervisor(host, counts[host], self.addresses.get(host, EVERYWHERE))
            for host in self.services
            if host not in self.unmapped
        )

    def network_agents(self) -> tuple[Agent, ...]:
        """Agents here report whenever they are asked for."""
        self._called("network_agents")
        return tuple(replace(one, load=len(self.on_agents.get(one.id, ()))) for one in self.agents.values())

    def volume_services(self) -> tuple[VolumeService, ...]:
        self._called("volume_services")
        return tuple(self.volumes.values())

    def aggregates(self) -> tuple[Aggregate, ...]:
        self._called("aggregates")
        return tuple(self.groups.values())

    def servers_on(self, host: str) -> tuple[Server, ...]:
        self._called("servers_on", host)
        return tuple(one for one in self.hosted.values() if one.host == host)

    def server(self, id_: str) -> Server | None:
        self._called("server", id_)
        return self.hosted.get(id_)

    def migrations(self, server: str) -> tuple[Migration, ...]:
        self._called("migrations", server)
        return tuple(one for one in self.moves.values() if one.server == server)

    def allocations(self, host: str) -> tuple[str, ...] | None:
        self._called("allocations", host)
        return tuple(sorted(self.held[host])) if host in self.held else None

    def routed_by(self, agent: str) -> tuple[str, ...]:
        self._called("routed_by", agent)
        return tuple(self.on_agents.get(agent, ()))

    def served_by(self, agent: str) -> tuple[str, ...]:
        self._called("served_by", agent)
        return tuple(self.on_agents.get(agent, ()))

    def agents_of_router(self, router: str) -> tuple[str, ...]:
        self._called("agents_of_router", router)
        return self._agents_of(router, "L3 agent")

    def agents_of_network(self, network: str) -> tuple[str, ...]:
        self._called("agents_of_network", network)
        return self._agents_of(network, "DHCP agent")

    def _agents_of(self, item: str, kind: str) -> tuple[str, ...]:
        having = (agent for agent, items in self.on_agents.items() if item in items)
        return tuple(one for one in having if one in self.agents and self.agents[one].kind == kind)

    # -- writes that may be repeated

    def _service(self, id_: str) -> ComputeService:
        found = next((one for one in self.services.values() if one.id == id_), None)
        if found is None:
            raise CloudRefused("no such service", 404)
        return found

    def set_compute_service(self, id_: str, *, enabled: bool, reason: str = "") -> None:
        service = self._service(id_)
        self._called("set_compute_service", service.host)
        changed = replace(service, enabled=enabled, reason="" if enabled else reason)
        if changed != service:
            self.services[service.host] = changed
            self._written(service.host)
        self.after("set_compute_service", service.host)

    def force_down(self, id_: str, *, down: bool) -> None:
        service = self._service(id_)
        self._called("force_down" if down else "unforce", service.host)
        if not down and service.host in self.uncleaned:
            raise CloudRefused("`done` evacuation migration records remain", 400)
        if service.forced_down != down:
            self.services[service.host] = replace(service, forced_down=down)
            self._written(service.host)
        self.after("force_down", service.host)

    def delete_compute_service(self, id_: str) -> None:
        service = next((one for one in self.services.values() if one.id == id_), None)
        if service is None:
            return
        self._called("delete_compute_service", service.host)
        moves = self.moves.values()
        if any(one.host == service.host for one in self.hosted.values()):
            raise CloudRefused("Unable to delete compute service that is hosting instances", 409)
        if any(one.status in UNFINISHED and service.host in (one.source, one.target) for one in moves):
            raise CloudRefused("Unable to delete compute service that has in-progress migrations", 409)
        for record in moves:
            if record.kind == "evacuation" and record.source == service.host:
                self.held.get(service.host, set()).discard(record.server)
        del self.services[service.host]
        # Nova takes the provider along only where nothing is held there.
        if not self.held.get(service.host):
            self.held.pop(service.host, None)
        self.after("delete_compute_service", service.host)

    def delete_agent(self, id_: str) -> None:
        self._called("delete_agent", id_)
        self.agents.pop(id_, None)
        self.after("delete_agent", id_)

    def delete_allocations(self, consumer: str) -> None:
        self._called("delete_allocations", consumer)
        for held in self.held.values():
            held.discard(consumer)
        self.after("delete_allocations", consumer)

    def delete_provider(self, host: str) -> None:
        if host not in self.held:
            return
        self._called("delete_provider", host)
        if self.held[host]:
            raise CloudRefused("provider in use", 409)
        del self.held[host]
        self.after("delete_provider", host)

    def set_agent(self, id_: str, *, enabled: bool, description: str) -> None:
        self._called("set_agent", id_)
        self.agents[id_] = replace(self.agents[id_], enabled=enabled, description=description)
        self.after("set_agent", id_)

    def set_volume_service(self, service: VolumeService, *, enabled: bool, reason: str = "") -> None:
        self._called("set_volume_service", service.name)
        self.volumes[service.name] = replace(service, enabled=enabled, reason=reason)
        self.after("set_volume_service", service.name)

    def ensure_aggregate(self, name: str, *, zone: str, begun: bool = False) -> Aggregate:
        known = next((one for one in self.groups.values() if one.name == name), None)
        if known is not None and (known.ours or not (begun and known.bare)):
            return known
        self._called("ensure_aggregate", name)
        if known is not None:
            self.groups[known.id] = replace(known, ours=True, bare=False)
            return self.groups[known.id]
        made = Aggregate(len(self.groups) + 1, name, frozenset(), zone, ours=True)
        self.groups[made.id] = made
        self.after("ensure_aggregate", name)
        return made

    def place_host(self, aggregate: Aggregate, host: str, *, member: bool) -> None:
        self._called("place_host", host)
        known = self.groups[aggregate.id]
        hosts = known.hosts | {host} if member else known.hosts - {host}
        self.groups[aggregate.id] = replace(known, hosts=hosts)
        self.after("place_host", host)

    # -- writes that are asked for once

    def live_migrate(self, server: str) -> None:
        self._begin("live_migrate", server, "live-migration", "MIGRATING", "migrating")

    def cold_migrate(self, server: str) -> None:
        self._begin("cold_migrate", server, "migration", "RESIZE", "resize_migrating")

    def evacuate(self, server: str) -> None:
        self._begin("evacuate", server, "evacuation", "REBUILD", "rebuilding")

    def _begin(self, name: str, id_: str, kind: str, status: str, task: str) -> None:
        self._called(name, id_)
        server = self.hosted.get(id_)
        if server is None:
            raise CloudRefused("no such server", 404)
        evacuated = kind == "evacuation"
        if evacuated and server.state not in ("active", "stopped", "error"):
            raise CloudRefused(f"Cannot evacuate while it is in vm_state {server.state}", 409)
        if not evacuated and (server.task or server.status == "VERIFY_RESIZE"):
            raise CloudRefused("Cannot do that while it is in another task", 409)
        source = self.services[server.host]
        if evacuated == (source.up and not source.forced_down):
            raise CloudRefused("the compute service of the host is in the wrong state", 400)
        targets = [
            one.host
            for one in self.services.values()
            if one.enabled and one.up and not one.forced_down and one.host != server.host
        ]
        if not targets:
            raise CloudRefused("No valid host was found", 400)
        self._next += 1
        target = min(targets, key=lambda host: (len(self.held[host]), host))
        self.moves[self._next] = Migration(self._next, id_, kind, "accepted", server.host, target)
        self.hosted[id_] = replace(server, status=status, task=task)
        self._under_way.append(_Move(self._next, id_, target))
        self.after(name, id_)

    def confirm_resize(self, server: str) -> None:
        self._called("confirm_resize", server)
        known = self.hosted[server]
        if known.status != "VERIFY_RESIZE":
            raise CloudRefused("Cannot confirm", 409)
        self.hosted[server] = replace(known, status="ACTIVE")
        record = max((one for one in self.moves.values() if one.server == server), key=lambda one: one.id)
        self.moves[record.id] = replace(record, status="confirmed")
        self.held[record.source].discard(server)
        self.after("confirm_resize", server)

    def abort_migration(self, server: str, migration: int) -> None:
        self._called("abort_migration", server)
        move = next((one for one in self._under_way if one.migration == migration), None)
        if move is None or self.moves[migration].status != "running":
            raise CloudRefused("it cannot be aborted any more", 400)
        # Nova takes it as long as the move is running; a hypervisor that has handed the server over goes on.
        if self.hosted[server].host != move.target:
            self._end(move, replace(self.hosted[server], task="", status="ACTIVE"), "cancelled")
        self.after("abort_migration", server)

    def add_to_agent(self, agent: str, *, router: str = "", network: str = "") -> None:
        self._called("add_to_agent", agent)
        served = self.on_agents.setdefault(agent, [])
        item = router or network
        elsewhere = any(item in items for other, items in self.on_agents.items() if other != agent)
        if item in served or (router and elsewhere):
            raise CloudRefused("it is on an agent already", 409)
        served.append(item)
        self.after("add_to_agent", agent)

    def remove_from_agent(self, agent: str, *, router: str = "", network: str = "") -> None:
        self._called("remove_from_agent", agent)
        served = self.on_agents.setdefault(agent, [])
        if (router or network) in served:
            served.remove(router or network)
        self.after("remove_from_agent", agent)


class _InTime:
    """A FakeCloud of which nothing is asked after a time."""

    def __init__(self, cloud: FakeCloud, begun_by: float, until: float) -> None:
        self._cloud = cloud
        self._begun_by = begun_by
        self._until = until

    def longer(self, seconds: float) -> FakeCloud:
        return cast(FakeCloud, _InTime(self._cloud, self._begun_by, self._until + seconds))

    @property
    def late(self) -> bool:
        return self._over(self._begun_by)

    def _over(self, deadline: float) -> bool:
        clock = self._cloud.clock
        return clock is not None and clock.monotonic() >= deadline

    def __getattr__(self, name: str) -> Any:
        if self._over(self._until):
            raise CloudUnavailable("not sent, because the time limit of this reconciliation is reached")
        return getattr(self._cloud, name)


class FakeClouds:
    """Opens the same cloud whatever the credentials, and keeps what they were."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.cloud = cloud
        self.opened: list[bytes] = []

    def open(self, clouds: bytes, authority: bytes = b"") -> FakeCloud:
        self.opened.append(clouds)
        return self.cloud


class FakeFencing:
    """Confirms the nodes in `off`."""

    def __init__(self) -> None:
        self.off: set[str] = set()
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.authorities: list[bytes] = []

    def confirm(
        self,
        url: str,
        *,
        node: str,
        uid: str,
        boot: str,
        since: float,
        token: str = "",
        authority: bytes = b"",
    ) -> bool:
        self.asked.append(node)
        self.tokens.append(token)
        self.authorities.append(authority)
        return node in self.off
