"""A cloud in memory for OpenStackServers: `FakeServerCloud` implements the port `ServerCloud`.

It keeps what the reconciler relies on: ids of its own, marks as the requests carry them, ports that are in
use while their server is there, names that may be there twice, lists that a cell may hide servers from.
`tests/openstack/servers/test_contract.py` holds it, and a real cloud, to that.

`before` and `after` are called with the name of each write and its kind, and may raise: an exception after
the write is an answer that did not come. What happens in time happens when a test calls `pass_time()`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.servers.cloud_resources import METADATA_KEY, REQUEST_KEY, CloudResource, Kind, mark_of
from controller.domain.servers.server_spec import Reference
from controller.domain.servers.server_status import Project
from controller.errors import CloudMissing, CloudRefused, CloudUnavailable
from controller.ports.servers import Catalog


def _nothing(_: str) -> None:
    pass


@dataclass
class FakeServerCloud:
    """`catalog`: ids and names of what is there already, by kind.

    `hidden`: ids of servers in a cell that is down. `ephemeral`: GiB of disks on a host that its flavor has.
    `reserved_for`: of a volume that is reserved, the server.
    """

    catalog: dict[Catalog, list[tuple[str, str]]] = field(
        default_factory=lambda: {
            Catalog.IMAGE: [("image-1", "tiny")],
            Catalog.FLAVOR: [("flavor-1", "small")],
            Catalog.NETWORK: [("network-1", "net0"), ("network-2", "public")],
            Catalog.EXTERNAL_NETWORK: [("network-2", "public")],
            Catalog.SUBNET: [("subnet-1", "sub0")],
            Catalog.SECURITY_GROUP: [("group-1", "default")],
            Catalog.SERVER_GROUP: [("servers-1", "apart")],
        }
    )
    things: dict[str, CloudResource] = field(default_factory=dict)
    bodies: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    ephemeral: int = 10
    reserved_for: dict[str, str] = field(default_factory=dict)
    error_next: str = ""
    soft_delete: bool = False
    before: Callable[[str], None] = _nothing
    after: Callable[[str], None] = _nothing
    login: Callable[[], None] = lambda: None
    project: Project = field(default_factory=lambda: Project("project-1", "RegionOne"))
    calls: Counter[str] = field(default_factory=Counter)
    writes: list[str] = field(default_factory=list)
    serial: int = 0

    def until(self, deadline: float, *, grace: float = 0.0) -> FakeServerCloud:
        return self

    def close(self) -> None:
        pass

    def authenticate(self) -> Project:
        self.login()
        return self.project

    # -- reads

    def find(self, catalog: Catalog, reference: Reference, *, network: str = "") -> tuple[str, ...]:
        self.calls["find"] += 1
        name = reference.query.get("name")
        return tuple(id_ for id_, known in self.catalog[catalog] if reference.id == id_ or name == known)

    def network_of(self, subnet: str) -> str:
        return "network-1" if subnet in dict(self.catalog[Catalog.SUBNET]) else ""

    def read(self, kind: Kind, id_: str) -> CloudResource | None:
        self.calls["read"] += 1
        found = self.things.get(id_)
        if id_ in self.hidden:
            return CloudResource(Kind.SERVER, id_, status="UNKNOWN")
        is_there = found is not None and found.kind == kind and found.project == self.project.id
        return found if is_there else None

    def marked(self, kind: Kind, mark: str, name: str) -> tuple[CloudResource, ...]:
        self.calls["marked"] += 1
        if kind == Kind.SERVER and self.hidden:
            raise CloudUnavailable("a cell is down")
        own = [one for one in self.things.values() if one.project == self.project.id]
        return tuple(one for one in own if one.kind == kind and one.is_of(mark))

    # -- writes

    def create(self, kind: Kind, body: Mapping[str, Any]) -> CloudResource:
        self._begin(f"create {kind}")
        self.serial += 1
        made = self._made(kind, f"{str(kind).replace(' ', '-')}-{self.serial}", next(iter(body.values())))
        self.things[made.id] = made
        self.bodies[made.id] = body
        self.after(f"create {kind}")
        return made

    def _made(self, kind: Kind, id_: str, given: Mapping[str, Any]) -> CloudResource:
        owner = (given.get("metadata") or {}).get(METADATA_KEY)
        marks = {given.get("description"), *given.get("tags", ()), mark_of(owner) if owner else None}
        status = {Kind.SERVER: "BUILD", Kind.VOLUME: "creating"}.get(kind, "DOWN")
        if kind == Kind.SERVER:
            for port in given["networks"]:
                self._require_free(port["port"])
            self._require_room(id_, given)
        return CloudResource(
            kind=kind,
            id=id_,
            name=given.get("name", ""),
            status=status,
            marks=frozenset(mark for mark in marks if mark),
            tags=frozenset(given.get("tags", ())),
            addresses=(("ExternalIP", f"198.51.100.{self.serial}"),) if kind == Kind.FLOATING_IP else (),
            created=f"{self.serial:06}",
            request=(given.get("metadata") or {}).get(REQUEST_KEY, "") if kind == Kind.VOLUME else "",
            project=self.project.id,
        )

    def _require_free(self, port: str) -> None:
        if port not in self.things:
            raise CloudRefused("compute POST /servers: 400 no such port", 400)
        if self.things[port].used_by:
            raise CloudRefused("compute POST /servers: 409 port in use", 409)

    def _require_room(self, server: str, given: Mapping[str, Any]) -> None:
        """Nova looks at volumes before, and reserves them as it does so."""
        disks = given.get("block_device_mapping_v2", ())
        if sum(one.get("volume_size", 0) for one in disks) <= self.ephemeral:
            return
        for one in disks:
            if one["source_type"] == "volume":
                self.reserved_for[one["uuid"]] = server
                self.change(one["uuid"], status="reserved")
        raise CloudRefused("compute POST /servers: 400 Ephemeral disks requested are larger", 400)

    def release_volume(self, volume: str) -> bool:
        self._begin("release volume")
        if self.reserved_for.get(volume) in {None, *self.things}:
            return False
        del self.reserved_for[volume]
        self.change(volume, status="available")
        return True

    def delete(self, one: CloudResource) -> None:
        self._begin(f"delete {one.kind}")
        found = self.things.get(one.id)
        if found is not None and one.id not in self.hidden:
            self._delete(found, force=one.status == "SOFT_DELETED")
        self.after(f"delete {one.kind}")

    def _delete(self, found: CloudResource, *, force: bool) -> None:
        if found.kind == Kind.SERVER:
            kept = replace(found, status="SOFT_DELETED", task="")
            self.things[found.id] = (
                kept if self.soft_delete and not force else replace(found, task="deleting")
            )
            return
        if found.kind == Kind.PORT and any(
            self.bodies[one.id]["trunk"]["port_id"] == found.id for one in self.of(Kind.TRUNK)
        ):
            raise CloudRefused("network DELETE /ports: 409 the port is the parent of a trunk", 409)
        if found.kind == Kind.VOLUME and (found.used_by or found.status == "reserved"):
            raise CloudRefused("block_storage DELETE /volumes: 400 in use", 400)
        del self.things[found.id]

    def set_tags(self, one: CloudResource, tags: Collection[str]) -> None:
        self._begin(f"tag {one.kind}")
        found = self.things[one.id]
        self.things[one.id] = replace(found, tags=frozenset(tags), marks=found.marks | set(tags))
        self.after(f"tag {one.kind}")

    def attach_port(self, server: str, port: str) -> None:
        self._begin("attach port")
        self.things[port] = replace(self.things[port], used_by=server)
        self.after("attach port")

    def point_floating_ip(self, id_: str, port: str) -> None:
        self._begin("point floating IP")
        self.things[id_] = replace(self.things[id_], used_by=port)
        self.after("point floating IP")

    def _begin(self, write: str) -> None:
        self.before(write)
        self.calls["write"] += 1
        self.writes.append(write)

    # -- what a test sees and does

    def of(self, kind: Kind) -> list[CloudResource]:
        return [one for one in self.things.values() if one.kind == kind]

    def change(self, id_: str, **fields: Any) -> None:
        self.things[id_] = replace(self.things[id_], **fields)

    def lose(self, id_: str) -> None:
        """Others delete it."""
        gone = self.things.pop(id_)
        if gone.kind == Kind.SERVER:
            self._free(gone.id)

    def _free(self, server: str) -> None:
        for one in list(self.things.values()):
            if one.used_by == server:
                self.change(
                    one.id, used_by="", **({"status": "available"} if one.kind == Kind.VOLUME else {})
                )

    def pass_time(self) -> None:
        """What is under way in Nova and Cinder comes to its end."""
        for one in list(self.things.values()):
            if one.kind == Kind.VOLUME and one.status == "creating":
                self.change(one.id, status="available")
            if one.kind != Kind.SERVER or one.id in self.hidden:
                continue
            if one.task == "deleting":
                self.lose(one.id)
            elif one.status == "BUILD" and self.error_next:
                self.change(one.id, status="ERROR", fault=self.error_next)
            elif one.status == "BUILD":
                self._boot(one)

    def _boot(self, one: CloudResource) -> None:
        server = self.bodies[one.id]["server"]
        for port in server["networks"]:
            self.change(port["port"], used_by=one.id)
        for disk in server.get("block_device_mapping_v2", ()):
            if disk["source_type"] == "volume":
                self.change(disk["uuid"], used_by=one.id, status="in-use")
        self.change(one.id, status="ACTIVE", addresses=(("InternalIP", "10.10.0.7"),))


class FakeServerClouds:
    """Opens the one cloud for whoever has a clouds.yaml that says `right`."""

    def __init__(self, cloud: FakeServerCloud) -> None:
        self.cloud = cloud
        self.opened: list[tuple[str, str, bool]] = []

    def open(
        self, clouds: bytes, authority: bytes = b"", *, cloud: str = "", region: str = "", own: bool = False
    ) -> FakeServerCloud:
        if clouds != b"right":
            raise CloudRefused("the credentials are not a clouds.yaml")
        if cloud not in ("", "default"):
            raise CloudMissing(f'the clouds.yaml has no cloud "{cloud}"')
        self.opened.append((cloud, region, own))
        return self.cloud
