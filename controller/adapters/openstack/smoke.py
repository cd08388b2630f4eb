"""The ports of a smoke check on Keystone, Glance, Neutron, Nova and Cinder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from controller.adapters.openstack.answers import items_of
from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.clouds_yaml import parse_clouds
from controller.domain.region.smoke import TAG, Kind, Leftover, SmokeProject, parse_project
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.smoke import Progress
from controller.ports.system import Clock, Randomness

# Seconds that a request may take, for a new region on a busy machine.
REQUEST_TIMEOUT = 60.0
ROLE = "member"
NOVA = "2.69"
_MEGABYTES = 64
_CINDER_TYPES = ("block-storage", "volumev3", "block-store", "volume")
# The scope of a token, which the project of the run replaces.
_SCOPES = ("project_", "tenant_", "domain_", "system_", "trust_", "default_domain")
_NEUTRONS_OWN = "network:"
_PATHS = {
    Kind.SERVER: ("compute", "/servers"),
    Kind.VOLUME: ("block_storage", "/volumes"),
    Kind.PORT: ("network", "/ports"),
    Kind.NETWORK: ("network", "/networks"),
    Kind.SECURITY_GROUP: ("network", "/security-groups"),
    Kind.IMAGE: ("image", "/images"),
    Kind.FLAVOR: ("compute", "/flavors"),
}

# A list of each service: its name in the library, the path, and the name of the list in the answer.
_LISTS = {
    "baremetal": ("baremetal", "/nodes", "nodes"),
    "dns": ("dns", "/zones", "zones"),
    "instance-ha": ("instance_ha", "/segments", "segments"),
    "key-manager": ("key_manager", "/secrets", "secrets"),
    "load-balancer": ("load_balancer", "/lbaas/loadbalancers", "loadbalancers"),
    "object-storage": ("object_store", "/", ""),
    "orchestration": ("orchestration", "/stacks", "stacks"),
    "placement": ("placement", "/resource_providers", "resource_providers"),
    "shared-file-system": ("shared_file_system", "/shares", "shares"),
}


class OpenStackTenant:
    """A member of one project."""

    def __init__(self, calls: CloudCalls) -> None:
        self._calls = calls

    def make_image(self, name: str, content: bytes) -> str:
        body = {"name": name, "disk_format": "raw", "container_format": "bare", "visibility": "private"}
        made = self._calls.send("POST", "image", "/images", body)
        self._calls.send_content("image", f"/images/{made['id']}/file", content)
        return str(made["id"])

    def image(self, id_: str) -> Progress:
        return Progress(str(_there(self._calls.get("image", f"/images/{id_}"), "image").get("status")))

    def image_content(self, id_: str) -> bytes:
        return self._calls.get_content("image", f"/images/{id_}/file")

    def make_network(self, name: str, cidr: str) -> str:
        network = self._made("network", "/networks", "network", {"name": name})
        subnet = {"name": name, "network_id": network, "ip_version": 4, "cidr": cidr}
        self._made("network", "/subnets", "subnet", subnet)
        return network

    def make_port(self, name: str, network: str) -> tuple[str, str]:
        body = {"port": {"name": name, "network_id": network}}
        made = self._calls.send("POST", "network", "/ports", body)["port"]
        addresses = [str(one.get("ip_address") or "") for one in made.get("fixed_ips") or ()]
        return str(made["id"]), next(iter(addresses), "")

    def make_volume(self, name: str) -> str:
        return self._made("block_storage", "/volumes", "volume", {"name": name, "size": 1})

    def volume(self, id_: str) -> Progress:
        answer = _there(self._calls.get("block_storage", f"/volumes/{id_}"), "volume")
        return Progress(str(answer["volume"]["status"]))

    def make_server(self, name: str, *, image: str, flavor: str, port: str) -> str:
        asked = {"name": name, "imageRef": image, "flavorRef": flavor, "networks": [{"port": port}]}
        return self._made("compute", "/servers", "server", asked, NOVA)

    def server(self, id_: str) -> Progress:
        found = _there(self._calls.get("compute", f"/servers/{id_}", microversion=NOVA), "server")["server"]
        return Progress(str(found["status"]), str((found.get("fault") or {}).get("message") or "")[:500])

    def attach(self, server: str, volume: str) -> None:
        body = {"volumeAttachment": {"volumeId": volume}}
        self._calls.send("POST", "compute", f"/servers/{server}/os-volume_attachments", body, NOVA)

    def close(self) -> None:
        """Gives back its connections."""
        self._calls.close()

    def _made(self, service: str, path: str, name: str, asked: Mapping[str, Any], version: str = "") -> str:
        return str(self._calls.send("POST", service, path, {name: dict(asked)}, version)[name]["id"])


class OpenStackSmoke:
    """The administrator of the clouds.yaml. Nothing is sent before the first call."""

    def __init__(
        self, settings: Mapping[str, Any], clock: Clock, randomness: Randomness, authority: bytes = b""
    ) -> None:
        self._settings = settings

        def open_calls(given: Mapping[str, Any]) -> CloudCalls:
            return CloudCalls(given, clock, randomness, authority=authority, request_timeout=REQUEST_TIMEOUT)

        self._open: Callable[[Mapping[str, Any]], CloudCalls] = open_calls
        self._calls = open_calls(settings)
        self.auth_url = str(settings["auth"]["auth_url"])

    def services(self) -> frozenset[str]:
        found = self._calls.login().services
        return found | {"block-storage"} if found & set(_CINDER_TYPES) else found

    def listed(self, service: str) -> int:
        name, path, key = _LISTS[service]
        answer = self._calls.get(name, path, {} if service == "placement" else {"limit": 10})
        if not key:
            # The containers of an account come as a bare list, or as nothing.
            return len(answer or ())
        return len(items_of(answer, key, path))

    def projects(self) -> tuple[SmokeProject, ...]:
        listed = items_of(self._calls.get("identity", "/projects", {"tags": TAG}), "projects", "/projects")
        found = (
            parse_project(str(one.get("id")), str(one.get("name")), map(str, one.get("tags") or ()))
            for one in listed
        )
        return tuple(one for one in found if one is not None)

    def make_project(self, name: str, tags: tuple[str, ...]) -> SmokeProject:
        asked = {"name": name, "domain_id": self._calls.login().domain, "tags": list(tags)}
        asked["description"] = "created by osctl smoke, which deletes it with all its resources"
        made = self._calls.send("POST", "identity", "/projects", {"project": asked})["project"]
        parsed = parse_project(str(made["id"]), name, tags)
        if parsed is None:
            raise ValueError(f"{name} is no name of a smoke check's project")
        return parsed

    def enter(self, project: SmokeProject) -> OpenStackTenant:
        roles = items_of(self._calls.get("identity", "/roles", {"name": ROLE}), "roles", "/roles")
        if not roles:
            raise CloudRefused(f'Keystone has no role "{ROLE}"', 404)
        user, role = self._calls.login().user, roles[0]["id"]
        self._calls.send("PUT", "identity", f"/projects/{project.id}/users/{user}/roles/{role}", None)
        auth = {
            key: value
            for key, value in self._settings["auth"].items()
            if not key.replace("-", "_").startswith(_SCOPES)
        }
        return OpenStackTenant(self._open({**self._settings, "auth": {**auth, "project_id": project.id}}))

    def make_flavor(self, name: str, project: SmokeProject) -> str:
        asked = {"name": name, "ram": _MEGABYTES, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": False}
        made = self._calls.send("POST", "compute", "/flavors", {"flavor": asked}, NOVA)["flavor"]["id"]
        access = {"addTenantAccess": {"tenant": project.id}}
        self._calls.send("POST", "compute", f"/flavors/{made}/action", access, NOVA)
        return str(made)

    def leftovers(self, project: SmokeProject) -> tuple[Leftover, ...]:
        return tuple(self._leftovers(project))

    def _leftovers(self, project: SmokeProject) -> Iterator[Leftover]:
        """A service that the catalogue does not have holds nothing."""
        there = self.services()
        mine = {"all_tenants": "1", "project_id": project.id}
        if "compute" in there:
            servers = self._calls.pages("compute", "/servers/detail", "servers", mine, NOVA)
            for one in _only_of(project.id, servers, "tenant_id", "/servers"):
                yield Leftover(Kind.SERVER, str(one["id"]))
        if "block-storage" in there:
            volumes = self._calls.pages("block_storage", "/volumes/detail", "volumes", mine, "")
            for one in _only_of(project.id, volumes, "os-vol-tenant-attr:tenant_id", "/volumes"):
                yield Leftover(Kind.VOLUME, str(one["id"]))
        if "network" in there:
            yield from self._left_networks(project)
        if "image" in there:
            for one in self._of_project("image", "/images", "images", {"owner": project.id}):
                yield Leftover(Kind.IMAGE, str(one["id"]))
        if "compute" in there:
            hidden = {"is_public": "None"}
            for one in self._calls.pages("compute", "/flavors/detail", "flavors", hidden, NOVA):
                if one.get("name") == project.name:
                    yield Leftover(Kind.FLAVOR, str(one["id"]))

    def _left_networks(self, project: SmokeProject) -> Iterator[Leftover]:
        for one in self._of_project("network", "/ports", "ports", {"project_id": project.id}):
            if not str(one.get("device_owner") or "").startswith(_NEUTRONS_OWN):
                yield Leftover(Kind.PORT, str(one["id"]))
        for one in self._of_project("network", "/networks", "networks", {"project_id": project.id}):
            yield Leftover(Kind.NETWORK, str(one["id"]))

    def _of_project(
        self, service: str, path: str, name: str, query: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        listed = items_of(self._calls.get(service, path, query), name, path)
        [(key, project)] = query.items()
        return list(_only_of(project, listed, key, path))

    def remove(self, thing: Leftover) -> None:
        service, path = _PATHS[thing.kind]
        self._calls.send("DELETE", service, f"{path}/{thing.id}", None, NOVA if service == "compute" else "")

    def remove_project(self, project: SmokeProject) -> None:
        # Neutron creates a security group for each project, which only an administrator can remove, and
        # creates it again at each list of the project's groups.
        query = {"project_id": project.id}
        if "network" in self.services():
            for one in self._of_project("network", "/security-groups", "security_groups", query):
                self.remove(Leftover(Kind.SECURITY_GROUP, str(one["id"])))
        self._calls.send("DELETE", "identity", f"/projects/{project.id}", None)

    def close(self) -> None:
        """Gives back its connections."""
        self._calls.close()


def open_smoke_cloud(
    clouds: bytes, clock: Clock, randomness: Randomness, authority: bytes = b""
) -> OpenStackSmoke:
    """The cloud of a clouds.yaml. Raises CloudRefused if the text does not have one usable cloud."""
    settings = parse_clouds(clouds, trusted=bool(authority))
    return OpenStackSmoke(settings, clock, randomness, authority)


def _only_of(project: str, listed: Iterable[dict[str, Any]], key: str, path: str) -> Iterator[dict[str, Any]]:
    """The listed objects.

    Each must name the project under `key`: a service that ignored the filter would otherwise make us remove
    objects of others. Raises CloudUnavailable.
    """
    for one in listed:
        if str(one.get(key)) != project:
            raise CloudUnavailable(f"{path}: the answer is not about one project alone")
        yield one


def _there(answer: Any, what: str) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise CloudUnavailable(f"the {what} that was just created does not exist")
    return answer
