"""The port `Cloud` on Nova, Neutron, Cinder and Placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.adapters.openstack.answers import items_of, read_each
from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.clouds_yaml import parse_clouds
from controller.adapters.openstack.placement import Placement
from controller.domain.health.probes import CONTROL, ServiceEndpoint
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
from controller.domain.shared.times import seconds_of
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.system import Clock, Randomness

# 2.69: objects in a cell that is down are reported as UNKNOWN, and not omitted. Later versions ask each
# hypervisor for its uptime.
LISTS = "2.69"
SERVICES = "2.69"
# With the properties of the image that a server was made from.
SERVER_DETAILS = "2.98"
# Live migration with the scheduler's choice of host and of how disks move.
LIVE = "2.30"
# Up to 2.94 an evacuated server keeps its power state on its new host.
EVACUATE = "2.94"
UNKNOWN = "UNKNOWN"
AGGREGATE_KEY = "osctl.dev/managed"


class OpenStackCloud:
    """One region's OpenStack, as an administrator."""

    def __init__(self, calls: CloudCalls, providers: dict[str, str] | None = None) -> None:
        self._calls = calls
        self._providers = providers if providers is not None else {}
        self._placement = Placement(calls, self._providers)

    def until(self, deadline: float, *, grace: float = 0.0) -> OpenStackCloud:
        return OpenStackCloud(self._calls.until(deadline, grace=grace), self._providers)

    def longer(self, seconds: float) -> OpenStackCloud:
        return OpenStackCloud(self._calls.longer(seconds), self._providers)

    @property
    def late(self) -> bool:
        return self._calls.late

    def close(self) -> None:
        """Gives back its connections."""
        self._calls.close()

    # -- reads --------------------------------------------------------------------------------------

    def compute_services(self) -> tuple[ComputeService, ...]:
        """Raises CloudUnavailable while a cell is down, because its content is not known."""
        return self._compute_services({})

    def compute_service(self, host: str) -> ComputeService | None:
        """The present service of one host, or None."""
        found = self._compute_services({"host": host, "binary": "nova-compute"})
        return next((one for one in found if one.host == host), None)

    def _compute_services(self, query: Mapping[str, str]) -> tuple[ComputeService, ...]:
        listed = self._nova_services(query)
        return read_each(
            (one for one in listed if one.get("binary") == "nova-compute"), _service, "/os-services"
        )

    def compute_control(self) -> tuple[ControlService, ...]:
        """Nova's conductors and schedulers, including dead ones. Raises CloudUnavailable."""
        listed = [one for binary in CONTROL for one in self._nova_services({"binary": binary})]
        return read_each(listed, _control_service, "/os-services")

    def _nova_services(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        answer = self._calls.get("compute", "/os-services", query, microversion=SERVICES)
        listed = items_of(answer, "services", "/os-services")
        if any(one.get("status") == UNKNOWN or "id" not in one for one in listed):
            raise CloudUnavailable("a cell of Nova is down, and OpenStack does not list its services")
        return listed

    def endpoints(self) -> tuple[ServiceEndpoint, ...]:
        """The catalogue, of the interface and the region that the credentials name."""
        answer = self._calls.get("identity", "/auth/catalog")
        interface, region = self._calls.interface, self._calls.region
        return tuple(
            ServiceEndpoint(str(service.get("type")), str(endpoint.get("url")))
            for service in items_of(answer, "catalog", "/auth/catalog")
            for endpoint in service.get("endpoints") or []
            if endpoint.get("interface") == interface and region in ("", _region(endpoint))
        )

    def ask(self, url: str) -> int:
        """The HTTP status of a GET without credentials. Raises CloudUnavailable for none."""
        return self._calls.status(url)

    def hypervisors(self) -> tuple[Hypervisor, ...]:
        listed = list(
            self._calls.pages(
                "compute", "/os-hypervisors/detail", "hypervisors", {"with_servers": "true"}, LISTS
            )
        )
        path = "/os-hypervisors/detail"
        self._providers.update(read_each(listed, lambda one: (one["service"]["host"], str(one["id"])), path))
        return read_each(
            listed,
            lambda one: Hypervisor(
                one["service"]["host"], len(one.get("servers") or ()), str(one.get("host_ip") or "")
            ),
            path,
        )

    def network_agents(self) -> tuple[Agent, ...]:
        listed = items_of(self._calls.get("network", "/agents"), "agents", "/agents")
        return read_each(listed, _agent, "/agents")

    def volume_services(self) -> tuple[VolumeService, ...]:
        try:
            answer = self._calls.get("block_storage", "/os-services")
        except CloudRefused as error:
            if error.code == 404:
                return ()
            raise
        return read_each(items_of(answer, "services", "/os-services"), _volume_service, "/os-services")

    def aggregates(self) -> tuple[Aggregate, ...]:
        answer = self._calls.get("compute", "/os-aggregates", microversion=LISTS)
        return read_each(items_of(answer, "aggregates", "/os-aggregates"), _aggregate, "/os-aggregates")

    def servers_on(self, host: str) -> tuple[Server, ...]:
        query = {"all_tenants": "true", "host": host}
        # A filtered list silently omits a cell that is down; the list of services shows it. It is read before
        # and after, because the cell may go down or recover in between.
        own = {"host": host, "binary": "nova-compute"}
        self._nova_services(own)
        listed = list(self._calls.pages("compute", "/servers/detail", "servers", query, SERVER_DETAILS))
        self._nova_services(own)
        return read_each(listed, _server, "/servers/detail")

    def server(self, id_: str) -> Server | None:
        answer = self._calls.get("compute", f"/servers/{id_}", microversion=SERVER_DETAILS)
        if answer is None:
            return None
        found = answer.get("server") if isinstance(answer, dict) else None
        if not isinstance(found, dict) or found.get("status") == UNKNOWN:
            raise CloudUnavailable(
                f"server {id_} has no known state: the cell of the server is down, or the answer is broken"
            )
        [server] = read_each([found], _server, f"/servers/{id_}")
        return server

    def migrations(self, server: str) -> tuple[Migration, ...]:
        query = {"instance_uuid": server}
        listed = self._calls.pages("compute", "/os-migrations", "migrations", query, LISTS, key="uuid")
        return tuple(sorted(read_each(listed, _migration, "/os-migrations"), key=lambda one: one.id))

    def allocations(self, host: str) -> tuple[str, ...] | None:
        return self._placement.allocations(host)

    def routed_by(self, agent: str) -> tuple[str, ...]:
        path = f"/agents/{agent}/l3-routers"
        return read_each(items_of(self._calls.get("network", path), "routers", path), _id, path)

    def served_by(self, agent: str) -> tuple[str, ...]:
        path = f"/agents/{agent}/dhcp-networks"
        return read_each(items_of(self._calls.get("network", path), "networks", path), _id, path)

    def agents_of_router(self, router: str) -> tuple[str, ...]:
        return self._agents_of(f"/routers/{router}/l3-agents")

    def agents_of_network(self, network: str) -> tuple[str, ...]:
        return self._agents_of(f"/networks/{network}/dhcp-agents")

    def _agents_of(self, path: str) -> tuple[str, ...]:
        answer = self._calls.get("network", path)
        return () if answer is None else read_each(items_of(answer, "agents", path), _id, path)

    # -- writes that may be repeated ----------------------------------------------------------------

    def set_compute_service(self, id_: str, *, enabled: bool, reason: str = "") -> None:
        body: dict[str, Any] = {"status": "enabled"}
        if not enabled:
            # Nova refuses an empty reason; without one it drops the former one.
            body = {"status": "disabled"} | ({"disabled_reason": reason[:255]} if reason else {})
        self._calls.send("PUT", "compute", f"/os-services/{id_}", body, SERVICES)

    def force_down(self, id_: str, *, down: bool) -> None:
        self._calls.send("PUT", "compute", f"/os-services/{id_}", {"forced_down": down}, SERVICES)

    def delete_compute_service(self, id_: str) -> None:
        self._calls.send("DELETE", "compute", f"/os-services/{id_}", None, SERVICES)

    def delete_agent(self, id_: str) -> None:
        self._calls.send("DELETE", "network", f"/agents/{id_}", None)

    def delete_allocations(self, consumer: str) -> None:
        self._placement.delete_allocations(consumer)

    def delete_provider(self, host: str) -> None:
        self._placement.delete_provider(host)

    def set_agent(self, id_: str, *, enabled: bool, description: str) -> None:
        body = {"agent": {"admin_state_up": enabled, "description": description}}
        self._calls.send("PUT", "network", f"/agents/{id_}", body)

    def set_volume_service(self, service: VolumeService, *, enabled: bool, reason: str = "") -> None:
        body = {"binary": service.binary, "host": service.name}
        if not enabled:
            body["disabled_reason"] = reason[:255]
        path = "/os-services/enable" if enabled else "/os-services/disable-log-reason"
        self._calls.send("PUT", "block_storage", path, body)

    def ensure_aggregate(self, name: str, *, zone: str, begun: bool = False) -> Aggregate:
        found = next((one for one in self.aggregates() if one.name == name), None)
        ours = begun or found is None
        if found is None:
            query = {"name": name} | ({"availability_zone": zone} if zone else {})
            body = {"aggregate": query}
            made = self._calls.send("POST", "compute", "/os-aggregates", body, LISTS)["aggregate"]
            found = _aggregate({**made, "hosts": [], "metadata": {}})
        if found.ours or not (ours and found.bare):
            return found
        mark = {"set_metadata": {"metadata": {AGGREGATE_KEY: "true"}}}
        self._calls.send("POST", "compute", f"/os-aggregates/{found.id}/action", mark, LISTS)
        return replace(found, ours=True, bare=False)

    def place_host(self, aggregate: Aggregate, host: str, *, member: bool) -> None:
        body = {"add_host" if member else "remove_host": {"host": host}}
        self._calls.send("POST", "compute", f"/os-aggregates/{aggregate.id}/action", body, LISTS)

    # -- writes that are sent once -------------------------------------------------------------

    def live_migrate(self, server: str) -> None:
        self._action(server, {"os-migrateLive": {"host": None, "block_migration": "auto"}}, LIVE)

    def cold_migrate(self, server: str) -> None:
        self._action(server, {"migrate": None}, LIVE)

    def confirm_resize(self, server: str) -> None:
        self._action(server, {"confirmResize": None}, LIVE)

    def evacuate(self, server: str) -> None:
        self._action(server, {"evacuate": {}}, EVACUATE)

    def abort_migration(self, server: str, migration: int) -> None:
        self._calls.send("DELETE", "compute", f"/servers/{server}/migrations/{migration}", None, LISTS)

    def _action(self, server: str, body: Mapping[str, Any], microversion: str) -> None:
        self._calls.send("POST", "compute", f"/servers/{server}/action", body, microversion)

    def add_to_agent(self, agent: str, *, router: str = "", network: str = "") -> None:
        path, body = _on_agent(agent, router, network)
        self._calls.send("POST", "network", path, body)

    def remove_from_agent(self, agent: str, *, router: str = "", network: str = "") -> None:
        path, _ = _on_agent(agent, router, network)
        self._calls.send("DELETE", "network", f"{path}/{router or network}", None)


def _on_agent(agent: str, router: str, network: str) -> tuple[str, dict[str, str]]:
    if router:
        return f"/agents/{agent}/l3-routers", {"router_id": router}
    return f"/agents/{agent}/dhcp-networks", {"network_id": network}


class OpenStackClouds:
    """Opens clouds. Of their credentials, only trusted certificates are on disk."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness

    def open(self, clouds: bytes, authority: bytes = b"") -> OpenStackCloud:
        calls = CloudCalls(
            parse_clouds(clouds, trusted=bool(authority)), self._clock, self._randomness, authority=authority
        )
        return OpenStackCloud(calls)


def _region(endpoint: Mapping[str, Any]) -> str:
    return str(endpoint.get("region_id") or endpoint.get("region") or "")


def _control_service(one: Mapping[str, Any]) -> ControlService:
    return ControlService(
        str(one["binary"]), str(one["host"]), one["status"] == "enabled", one["state"] == "up"
    )


def _service(one: Mapping[str, Any]) -> ComputeService:
    return ComputeService(
        id=str(one["id"]),
        host=one["host"],
        enabled=one["status"] == "enabled",
        up=one["state"] == "up",
        forced_down=bool(one.get("forced_down")),
        reason=one.get("disabled_reason") or "",
        zone=one.get("zone") or "",
        updated=str(one.get("updated_at") or ""),
    )


# What agents count in their reports (neutron/agent/dhcp/agent.py, neutron/agent/l3/agent.py, _report_state).
_LOADS = {"L3 agent": "routers", "DHCP agent": "networks"}


def _agent(one: Mapping[str, Any]) -> Agent:
    configured = one.get("configurations") or {}
    return Agent(
        id=one["id"],
        host=one["host"],
        kind=one["agent_type"],
        alive=bool(one["alive"]),
        enabled=bool(one["admin_state_up"]),
        description=one.get("description") or "",
        mode=str(configured.get("agent_mode") or ""),
        load=int(configured.get(_LOADS.get(one["agent_type"], "")) or 0),
        address=str(configured.get("tunneling_ip") or ""),
    )


def _volume_service(one: Mapping[str, Any]) -> VolumeService:
    return VolumeService(
        binary=one["binary"],
        name=one["host"],
        enabled=one["status"] == "enabled",
        up=one["state"] == "up",
        reason=one.get("disabled_reason") or "",
    )


def _migration(one: Mapping[str, Any]) -> Migration:
    return Migration(
        id=int(one["id"]),
        server=one["instance_uuid"],
        kind=one["migration_type"],
        status=one["status"],
        source=one.get("source_compute") or "",
        target=one.get("dest_compute") or "",
    )


def _id(one: Mapping[str, Any]) -> str:
    return str(one["id"])


def _aggregate(one: Mapping[str, Any]) -> Aggregate:
    metadata = one.get("metadata") or {}
    return Aggregate(
        id=int(one["id"]),
        name=one["name"],
        hosts=frozenset(one.get("hosts") or ()),
        zone=one.get("availability_zone") or metadata.get("availability_zone") or "",
        ours=AGGREGATE_KEY in metadata,
        bare=not one.get("hosts") and not metadata.keys() - {"availability_zone"},
        # Nova writes no zone: it is UTC.
        created=seconds_of(f"{one.get('created_at') or ''}Z"),
    )


def _server(one: Mapping[str, Any]) -> Server:
    flavor = one.get("flavor") or {}
    # A server that boots from a volume has no image; ephemeral and swap disks are local in any case.
    extra = int(flavor.get("ephemeral") or 0)
    boots_local = bool(one.get("image"))
    swap = int(flavor.get("swap") or 0)
    return Server(
        id=one["id"],
        name=one.get("name") or "",
        host=one.get("OS-EXT-SRV-ATTR:host") or "",
        status=one["status"],
        task=one.get("OS-EXT-STS:task_state") or "",
        state=one.get("OS-EXT-STS:vm_state") or "",
        memory=int(flavor.get("ram") or 0),
        disk=(int(flavor.get("disk") or 0) if boots_local else 0) + extra,
        local_disk=boots_local or extra > 0 or swap > 0,
        extra_specs=flavor.get("extra_specs") or {},
        image=(one["image"].get("properties") or {}) if boots_local else {},
        metadata=one.get("metadata") or {},
        volumes=len(one.get("os-extended-volumes:volumes_attached") or ()),
    )
