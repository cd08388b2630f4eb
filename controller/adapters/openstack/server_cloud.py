"""The port `ServerCloud` on Nova, Neutron, Cinder and Glance, as any member of a project."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from controller.adapters.openstack.answers import items_of, read_each
from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.catalog_search import CatalogSearch
from controller.adapters.openstack.clouds_yaml import parse_clouds
from controller.adapters.openstack.server_shapes import read_resource
from controller.domain.servers.cloud_resources import METADATA_KEY, CloudResource, Kind, uid_of
from controller.domain.servers.server_spec import Reference
from controller.domain.servers.server_status import Project
from controller.errors import CloudRefused, CloudUnavailable, NotOffered
from controller.ports.servers import Catalog
from controller.ports.system import Clock, Randomness

# 2.52: tags with the request for a server; 2.69: objects in a cell that is down are reported as UNKNOWN.
NOVA = "2.69"
_UNKNOWN = "UNKNOWN"
# 3.27: the reservation of a volume.
CINDER = "3.27"
# Where each kind is: the service, the path of its list, the names of a list and of one.
_PLACES: Mapping[Kind, tuple[str, str, str, str]] = {
    Kind.PORT: ("network", "/ports", "ports", "port"),
    Kind.TRUNK: ("network", "/trunks", "trunks", "trunk"),
    Kind.FLOATING_IP: ("network", "/floatingips", "floatingips", "floatingip"),
    Kind.VOLUME: ("block_storage", "/volumes", "volumes", "volume"),
    Kind.SERVER: ("compute", "/servers", "servers", "server"),
}


class OpenStackServerCloud:
    """One project of one cloud.

    An administrator's credentials see the things of all projects, and any user may write our mark into their
    own object, so objects of other projects are never returned.
    """

    def __init__(self, calls: CloudCalls) -> None:
        self._calls = calls
        self._catalog = CatalogSearch(calls)

    def until(self, deadline: float, *, grace: float = 0.0) -> OpenStackServerCloud:
        return OpenStackServerCloud(self._calls.until(deadline, grace=grace))

    def close(self) -> None:
        """Gives back its connections."""
        self._calls.close()

    def authenticate(self) -> Project:
        """Raises CredentialsDenied, CloudUnavailable."""
        login = self._calls.login()
        if not login.project:
            raise CloudRefused("the credentials have no project, which a server needs")
        (only,) = login.regions if len(login.regions) == 1 else ("",)
        return Project(login.project, self._calls.region or only)

    # -- what is there already ----------------------------------------------------------------------

    def find(self, catalog: Catalog, reference: Reference, *, network: str = "") -> tuple[str, ...]:
        """Ids of all matches of a reference."""
        return self._catalog.find(catalog, reference, network=network)

    def network_of(self, subnet: str) -> str:
        """The id of the network of a subnet, empty if there is no such subnet."""
        path = "/subnets"
        listed = items_of(self._calls.get("network", path, {"id": subnet}), "subnets", path)
        return next((str(one.get("network_id") or "") for one in listed), "")

    # -- what is ours -------------------------------------------------------------------------------

    def read(self, kind: Kind, id_: str) -> CloudResource | None:
        """None only if the service says that it does not exist, or if it belongs to another project."""
        found = self._read(kind, id_)
        return found if found is not None and found.project == self._project() else None

    def _read(self, kind: Kind, id_: str) -> CloudResource | None:
        """The object, of any project."""
        service, path, _, name = _PLACES[kind]
        answer = self._calls.get(service, f"{path}/{id_}", microversion=_version(kind))
        return None if answer is None else _one(kind, answer, name, path, self._project())

    def _project(self) -> str:
        return self._calls.login().project

    def marked(self, kind: Kind, mark: str, name: str) -> tuple[CloudResource, ...]:
        """All of a kind with this mark, also with an incomplete one."""
        if kind == Kind.SERVER:
            return self._marked_servers(mark, name)
        if kind == Kind.VOLUME:
            return self._marked_volumes(mark)
        self._require(kind)
        found: dict[str, CloudResource] = {}
        service, path, names, _ = _PLACES[kind]
        project = self._project()
        for key in ("description", "tags"):
            query = {key: mark, "project_id": project}
            listed = items_of(self._calls.get(service, path, query), names, path)
            found |= {one.id: one for one in self._of_project(kind, listed, path, project)}
        return tuple(one for one in found.values() if one.is_of(mark))

    @staticmethod
    def _of_project(
        kind: Kind, listed: Iterable[Mapping[str, Any]], path: str, project: str
    ) -> tuple[CloudResource, ...]:
        """The listed objects, without those of other projects, whatever the filter."""
        found = read_each(listed, lambda one: read_resource(kind, one, project), path)
        return tuple(one for one in found if one.project == project)

    def _marked_volumes(self, mark: str) -> tuple[CloudResource, ...]:
        # Cinder reads the value as Python writes a dict (cinder/api/common.py, process_general_filters).
        query = {"metadata": str({METADATA_KEY: uid_of(mark)})}
        listed = list(self._calls.pages("block_storage", "/volumes/detail", "volumes", query, ""))
        found = self._of_project(Kind.VOLUME, listed, "/volumes/detail", self._project())
        return tuple(one for one in found if one.is_of(mark))

    def _marked_servers(self, mark: str, name: str) -> tuple[CloudResource, ...]:
        """By the name, and then by the mark: a server without a cell is not found by tag.

        Such lists silently omit a cell that is down.
        """
        path = "/servers/detail"
        self._require_cells()
        listed = list(self._calls.pages("compute", path, "servers", {"name": f"^{re.escape(name)}$"}, NOVA))
        project = self._project()
        found = self._of_project(Kind.SERVER, listed, path, project)
        tagged = list(self._calls.pages("compute", path, "servers", {"tags": mark}, NOVA))
        renamed = self._of_project(Kind.SERVER, tagged, path, project)
        # One may go down or recover between the lists.
        self._require_cells()
        return tuple({one.id: one for one in (*found, *renamed) if one.is_of(mark)}.values())

    def _require_cells(self) -> None:
        """Raises CloudUnavailable if a cell with servers of the project is down.

        Nova shows them only in a list with no filter and no limit (nova/api/openstack/compute/servers.py,
        _is_cell_down_supported), and not beyond its own limit.
        """
        every = items_of(self._calls.get("compute", "/servers", microversion=NOVA), "servers", "/servers")
        if any(one.get("status") == _UNKNOWN for one in every):
            raise CloudUnavailable("a cell of Nova is down, and may have servers that are not listed")

    def _require(self, kind: Kind) -> None:
        """Raises NotOffered if the cloud does not offer the kind, because Neutron's answer for its path looks
        like that of a proxy.
        """
        if kind != Kind.TRUNK:
            return
        listed = items_of(self._calls.get("network", "/extensions"), "extensions", "/extensions")
        if all(one.get("alias") != "trunk" for one in listed):
            raise NotOffered("Neutron of this cloud has no trunks", 404)

    # -- writes -------------------------------------------------------------------------------------

    def create(self, kind: Kind, body: Mapping[str, Any]) -> CloudResource:
        """Sent once. Raises CloudUnavailable if its outcome is not known, and CloudRefused."""
        service, path, _, name = _PLACES[kind]
        answer, project = self._calls.send("POST", service, path, body, _version(kind)), self._project()
        if isinstance(answer, dict) and isinstance(answer.get(name), dict):
            # For a new server, Nova returns little more than its id.
            answer = {name: {"tenant_id": project, **answer[name]}}
        return _one(kind, answer, name, path, project)

    def delete(self, one: CloudResource) -> None:
        """Requests the deletion. This also removes a server that Nova only soft-deleted."""
        service, path, _, _ = _PLACES[one.kind]
        if one.kind == Kind.SERVER and one.status == "SOFT_DELETED":
            action = {"forceDelete": None}
            self._calls.send("POST", service, f"{path}/{one.id}/action", action, NOVA)
            return
        self._calls.send("DELETE", service, f"{path}/{one.id}", None, _version(one.kind))

    def set_tags(self, one: CloudResource, tags: Collection[str]) -> None:
        """These and no others."""
        service, path, _, _ = _PLACES[one.kind]
        self._calls.send("PUT", service, f"{path}/{one.id}/tags", {"tags": sorted(tags)})

    def release_volume(self, volume: str) -> bool:
        """Nova keeps a volume reserved after it refused the request for its server.

        A reservation of another server, such as a shelved one, stays.
        """
        path = "/attachments"
        answer = self._calls.get("block_storage", f"{path}/detail", {"volume_id": volume}, CINDER)
        left = [
            str(one["id"])
            for one in items_of(answer, "attachments", path)
            if (one.get("volume_id"), one.get("status")) == (volume, "reserved")
            if one.get("instance") and self._read(Kind.SERVER, str(one["instance"])) is None
        ]
        for id_ in left:
            self._calls.send("DELETE", "block_storage", f"{path}/{id_}", None, CINDER)
        return bool(left)

    def attach_port(self, server: str, port: str) -> None:
        """Sent once."""
        body = {"interfaceAttachment": {"port_id": port}}
        self._calls.send("POST", "compute", f"/servers/{server}/os-interface", body, NOVA)

    def point_floating_ip(self, id_: str, port: str) -> None:
        """Attaches it to a port, or to none."""
        self._calls.send("PUT", "network", f"/floatingips/{id_}", {"floatingip": {"port_id": port or None}})


class OpenStackServerClouds:
    """Opens clouds from a clouds.yaml."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness

    def open(
        self, clouds: bytes, authority: bytes = b"", *, cloud: str = "", region: str = "", own: bool = False
    ) -> OpenStackServerCloud:
        """Raises CloudMissing, CloudRefused."""
        settings = parse_clouds(clouds, trusted=bool(authority), name=cloud, region=region, plain=not own)
        return OpenStackServerCloud(CloudCalls(settings, self._clock, self._randomness, authority=authority))


def _version(kind: Kind) -> str:
    return NOVA if kind == Kind.SERVER else ""


def _one(kind: Kind, answer: Any, name: str, path: str, project: str) -> CloudResource:
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        raise CloudUnavailable(f"{path}: the answer holds no {name}")
    (read,) = read_each([found], lambda one: read_resource(kind, one, project), path)
    return read
