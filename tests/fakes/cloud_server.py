"""A FakeCloud behind HTTP: Keystone, Nova, Placement, Neutron and Cinder on loopback, in their own shapes.

Under it the real adapter is at work, with openstacksdk and JSON. `tests/openstack/test_cloud_contract.py`
holds it to what the real ones do. What no one asks for is answered with a 404 that is no service's own.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from controller.adapters.openstack.client import AGGREGATE_KEY
from controller.errors import CloudRefused
from tests.fakes import cloud_shapes as shapes
from tests.fakes.cloud import FakeCloud
from tests.fakes.identity import FakeIdentity
from tests.fakes.json_server import JsonRequest, serving

# As far as a page goes, whatever is asked for (Nova's max_limit, as it comes).
PAGE = 1000
PATHS = {
    "identity": "/identity/v3",
    "compute": "/compute/v2.1",
    "placement": "/placement",
    "network": "/network",
    "block-storage": "/volume/v3",
}
Answer = tuple[int, Any]
Asked = Mapping[str, str]
_ROUTES: list[tuple[str, re.Pattern[str], str]] = []


def _route(method: str, path: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """The function answers this; a `*` in the path is one of its arguments."""

    def noted(function: Callable[..., Answer]) -> Callable[..., Answer]:
        pattern = re.compile(re.escape(path).replace(r"\*", "([^/]+)"))
        _ROUTES.append((method, pattern, function.__name__))
        return function

    return noted


class CloudServer:
    """`requests`: method and path of all that came, in order, those of Keystone and discovery among them.

    `page`: as far as a page of a list goes at most.
    """

    def __init__(self, cloud: FakeCloud, port: int) -> None:
        self.cloud = cloud
        self.url = f"http://127.0.0.1:{port}"
        self.requests: list[tuple[str, str]] = []
        self.page = PAGE
        self._lock = threading.Lock()

    def clouds(self) -> bytes:
        """The clouds.yaml of its administrator."""
        auth = {
            "auth_url": f"{self.url}/identity/v3",
            "username": "admin",
            "password": "of-the-administrator",
            "project_name": "admin",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }
        return yaml.safe_dump({"clouds": {"default": {"auth": auth, "region_name": "RegionOne"}}}).encode()

    def answer(self, method: str, target: str, body: Any) -> Answer:
        """Status and body. One request at a time: a FakeCloud is for one thread."""
        path = urlsplit(target).path.rstrip("/")
        asked = dict(parse_qsl(urlsplit(target).query))
        with self._lock:
            self.requests.append((method, path))
            for known, pattern, name in _ROUTES:
                found = pattern.fullmatch(path) if known == method else None
                if found is None:
                    continue
                try:
                    answer: Answer = getattr(self, name)(*found.groups(), asked, body)
                except CloudRefused as error:
                    return _fault(path, error.code, str(error))
                return answer
        return 404, {}

    # -- Keystone, and who has which version

    @_route("POST", "/identity/v3/auth/tokens")
    def _token(self, asked: Asked, body: Any) -> Answer:
        return 201, FakeIdentity(0)._token(self._catalogue())

    @_route("GET", "/identity/v3/auth/catalog")
    def _listed(self, asked: Asked, body: Any) -> Answer:
        return 200, {"catalog": self._catalogue()}

    def _catalogue(self) -> list[dict[str, Any]]:
        endpoint = {"interface": "public", "region": "RegionOne", "region_id": "RegionOne"}
        return [
            {"type": type_, "name": type_, "id": type_, "endpoints": [{**endpoint, "id": type_, "url": url}]}
            for type_, url in ((type_, self.url + path) for type_, path in PATHS.items())
        ]

    @_route("GET", "/identity/v3")
    def _identity(self, asked: Asked, body: Any) -> Answer:
        return 200, {"version": self._version("identity", "v3.14", "stable")}

    @_route("GET", "/compute/v2.1")
    def _compute(self, asked: Asked, body: Any) -> Answer:
        return 200, {"version": self._version("compute", "v2.1", "CURRENT", "2.1", "2.100")}

    @_route("GET", "/volume/v3")
    def _volume(self, asked: Asked, body: Any) -> Answer:
        return 200, {"versions": [self._version("block-storage", "v3.0", "CURRENT", "3.0", "3.71")]}

    @_route("GET", "/placement")
    def _placement(self, asked: Asked, body: Any) -> Answer:
        version = self._version("placement", "v1.0", "CURRENT", "1.0", "1.39")
        return 200, {"versions": [{**version, "max_version": "1.39"}]}

    @_route("GET", "/network")
    def _network(self, asked: Asked, body: Any) -> Answer:
        link = {"rel": "self", "href": f"{self.url}/network/v2.0/"}
        return 200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]}

    def _version(self, type_: str, id_: str, status: str, least: str = "", most: str = "") -> dict[str, Any]:
        link = {"rel": "self", "href": f"{self.url}{PATHS[type_]}/"}
        spoken = {"min_version": least, "version": most} if most else {}
        return {"id": id_, "status": status, "links": [link], **spoken}

    # -- Nova

    @_route("GET", "/compute/v2.1/os-services")
    def _services(self, asked: Asked, body: Any) -> Answer:
        listed = [shapes.service(one) for one in self.cloud.services.values()]
        desired = [one for one in listed if all(one[key] == value for key, value in asked.items())]
        self.cloud._called("compute_services")
        return 200, {"services": desired}

    @_route("PUT", "/compute/v2.1/os-services/*")
    def _set_service(self, id_: str, asked: Asked, body: Any) -> Answer:
        if "forced_down" in body:
            self.cloud.force_down(id_, down=body["forced_down"])
        else:
            enabled = body["status"] == "enabled"
            if body.get("disabled_reason") == "":
                return _fault(path="/compute", code=400, text="Invalid input for field disabled_reason.")
            reason = body.get("disabled_reason") or ""
            self.cloud.set_compute_service(id_, enabled=enabled, reason=reason)
        return 200, {"service": shapes.service(self.cloud._service(id_))}

    @_route("DELETE", "/compute/v2.1/os-services/*")
    def _delete_service(self, id_: str, asked: Asked, body: Any) -> Answer:
        self.cloud._service(id_)
        self.cloud.delete_compute_service(id_)
        return 204, None

    @_route("GET", "/compute/v2.1/os-hypervisors/detail")
    def _hypervisors(self, asked: Asked, body: Any) -> Answer:
        on: dict[str, list[str]] = {}
        for one in self.cloud.hosted.values():
            on.setdefault(one.host, []).append(one.id)
        listed = [
            shapes.hypervisor(one, on.get(one.host, []), self.cloud.services[one.host])
            for one in self.cloud.hypervisors()
        ]
        return self._page("hypervisors", listed, asked)

    @_route("GET", "/compute/v2.1/os-aggregates")
    def _aggregates(self, asked: Asked, body: Any) -> Answer:
        listed = [shapes.aggregate(one, AGGREGATE_KEY) for one in self.cloud.aggregates()]
        return 200, {"aggregates": listed}

    @_route("GET", "/compute/v2.1/servers/detail")
    def _servers(self, asked: Asked, body: Any) -> Answer:
        found = self.cloud.servers_on(asked["host"])
        return self._page("servers", [shapes.server(one, self.url) for one in found], asked)

    @_route("GET", "/compute/v2.1/servers/*")
    def _server(self, id_: str, asked: Asked, body: Any) -> Answer:
        found = self.cloud.server(id_)
        if found is None:
            raise CloudRefused(f"Instance {id_} could not be found.", 404)
        return 200, {"server": shapes.server(found, self.url)}

    @_route("GET", "/compute/v2.1/os-migrations")
    def _migrations(self, asked: Asked, body: Any) -> Answer:
        # The newest first.
        found = reversed(self.cloud.migrations(asked["instance_uuid"]))
        return self._page("migrations", [shapes.migration(one) for one in found], asked, key="uuid")

    @_route("POST", "/compute/v2.1/servers/*/action")
    def _act(self, id_: str, asked: Asked, body: Any) -> Answer:
        [action] = body
        known = {
            "os-migrateLive": self.cloud.live_migrate,
            "migrate": self.cloud.cold_migrate,
            "evacuate": self.cloud.evacuate,
            "confirmResize": self.cloud.confirm_resize,
        }
        known[action](id_)
        return (200, {}) if action == "evacuate" else (202, None)

    @_route("DELETE", "/compute/v2.1/servers/*/migrations/*")
    def _abort(self, server: str, migration: str, asked: Asked, body: Any) -> Answer:
        self.cloud.abort_migration(server, int(migration))
        return 202, None

    def _page(self, name: str, listed: list[dict[str, Any]], asked: Asked, key: str = "id") -> Answer:
        ids = [str(one[key]) for one in listed]
        begin = ids.index(asked["marker"]) + 1 if asked.get("marker") else 0
        end = begin + min(int(asked.get("limit") or self.page), self.page)
        body: dict[str, Any] = {name: listed[begin:end]}
        if end < len(listed):
            body[f"{name}_links"] = [{"rel": "next", "href": "http://of-no-use/"}]
        return 200, body

    # -- Placement

    @_route("GET", "/placement/resource_providers")
    def _providers(self, asked: Asked, body: Any) -> Answer:
        there = [
            {
                "uuid": f"provider-{host}",
                "root_provider_uuid": f"provider-{host}",
                "name": host,
                "generation": 1,
            }
            for host in self.cloud.held
            if asked.get("name", host) == host
        ]
        return 200, {"resource_providers": there}

    @_route("GET", "/placement/resource_providers/*/allocations")
    def _allocations(self, provider: str, asked: Asked, body: Any) -> Answer:
        held = self.cloud.allocations(provider.removeprefix("provider-"))
        if held is None:
            raise CloudRefused(f"No resource provider with uuid {provider} found", 404)
        used = {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}}
        return 200, {
            "allocations": dict.fromkeys(held, used),
            "resource_provider_generation": 1,
        }

    @_route("DELETE", "/placement/allocations/*")
    def _free(self, consumer: str, asked: Asked, body: Any) -> Answer:
        if all(consumer not in held for held in self.cloud.held.values()):
            raise CloudRefused(f"No allocations for consumer '{consumer}'", 404)
        self.cloud.delete_allocations(consumer)
        return 204, None

    @_route("DELETE", "/placement/resource_providers/*")
    def _delete_provider(self, provider: str, asked: Asked, body: Any) -> Answer:
        if provider.removeprefix("provider-") not in self.cloud.held:
            raise CloudRefused(f"No resource provider with uuid {provider} found for delete", 404)
        self.cloud.delete_provider(provider.removeprefix("provider-"))
        return 204, None

    # -- Neutron

    @_route("GET", "/network/v2.0/agents")
    def _agents(self, asked: Asked, body: Any) -> Answer:
        return 200, {"agents": [shapes.agent(one, one.load) for one in self.cloud.network_agents()]}

    @_route("PUT", "/network/v2.0/agents/*")
    def _set_agent(self, id_: str, asked: Asked, body: Any) -> Answer:
        desired = body["agent"]
        self.cloud.set_agent(id_, enabled=desired["admin_state_up"], description=desired["description"])
        return 200, {"agent": shapes.agent(self.cloud.agents[id_], 0)}

    @_route("DELETE", "/network/v2.0/agents/*")
    def _delete_agent(self, id_: str, asked: Asked, body: Any) -> Answer:
        if id_ not in self.cloud.agents:
            raise CloudRefused(f"Agent {id_} could not be found.", 404)
        self.cloud.delete_agent(id_)
        return 204, None

    @_route("GET", "/network/v2.0/agents/*/dhcp-networks")
    def _networks(self, agent: str, asked: Asked, body: Any) -> Answer:
        return 200, {"networks": [shapes.network(one) for one in self.cloud.served_by(agent)]}

    @_route("GET", "/network/v2.0/agents/*/l3-routers")
    def _routers(self, agent: str, asked: Asked, body: Any) -> Answer:
        return 200, {"routers": [shapes.router(one) for one in self.cloud.routed_by(agent)]}

    @_route("GET", "/network/v2.0/networks/*/dhcp-agents")
    def _of_network(self, network: str, asked: Asked, body: Any) -> Answer:
        return self._having(self.cloud.agents_of_network(network))

    @_route("GET", "/network/v2.0/routers/*/l3-agents")
    def _of_router(self, router: str, asked: Asked, body: Any) -> Answer:
        return self._having(self.cloud.agents_of_router(router))

    def _having(self, ids: tuple[str, ...]) -> Answer:
        return 200, {"agents": [shapes.agent(self.cloud.agents[one], 1) for one in ids]}

    @_route("POST", "/network/v2.0/agents/*/dhcp-networks")
    def _add_network(self, agent: str, asked: Asked, body: Any) -> Answer:
        self.cloud.add_to_agent(agent, network=body["network_id"])
        return 201, None

    @_route("POST", "/network/v2.0/agents/*/l3-routers")
    def _add_router(self, agent: str, asked: Asked, body: Any) -> Answer:
        self.cloud.add_to_agent(agent, router=body["router_id"])
        return 201, None

    @_route("DELETE", "/network/v2.0/agents/*/dhcp-networks/*")
    def _remove_network(self, agent: str, network: str, asked: Asked, body: Any) -> Answer:
        self.cloud.remove_from_agent(agent, network=network)
        return 204, None

    @_route("DELETE", "/network/v2.0/agents/*/l3-routers/*")
    def _remove_router(self, agent: str, router: str, asked: Asked, body: Any) -> Answer:
        self.cloud.remove_from_agent(agent, router=router)
        return 204, None

    # -- Cinder

    @_route("GET", "/volume/v3/os-services")
    def _volumes(self, asked: Asked, body: Any) -> Answer:
        return 200, {"services": [shapes.volume_service(one) for one in self.cloud.volume_services()]}

    @_route("PUT", "/volume/v3/os-services/*")
    def _set_volume(self, action: str, asked: Asked, body: Any) -> Answer:
        known = self.cloud.volumes[body["host"]]
        reason = body.get("disabled_reason") or ""
        self.cloud.set_volume_service(known, enabled=action == "enable", reason=reason)
        return 200, {"host": body["host"], "binary": body["binary"]}


def _fault(path: str, code: int, text: str) -> Answer:
    """A refusal in the words of the service that it is of."""
    if path.startswith("/network"):
        return code, {"NeutronError": {"type": "Refused", "message": text, "detail": ""}}
    if path.startswith("/placement"):
        return code, {"errors": [{"status": code, "title": "Refused", "detail": text}]}
    names = {404: "itemNotFound", 409: "conflictingRequest"}
    return code, {names.get(code, "badRequest"): {"code": code, "message": text}}


def served(cloud: FakeCloud) -> AbstractContextManager[CloudServer]:
    """One that answers until the end of the block."""

    def answer(server: CloudServer, asked: JsonRequest) -> tuple[int, Any]:
        return server.answer(asked.method, asked.path, json.loads(asked.body) if asked.body else None)

    return serving(lambda port: CloudServer(cloud, port), answer)
