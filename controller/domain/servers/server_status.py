"""What the status of an OpenStackServer remembers: what was resolved, asked for and made. Pure.

It is what a pass begins with, and never the whole truth: it may be older than OpenStack, or lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.servers.cloud_resources import CREATION_ORDER, CloudResource, Kind
from controller.domain.shared.times import seconds_of

# How each kind is listed in `status.resources`.
_LISTS: Mapping[Kind, str] = {
    Kind.PORT: "ports",
    Kind.TRUNK: "trunks",
    Kind.VOLUME: "volumes",
    Kind.SERVER: "servers",
    Kind.FLOATING_IP: "floatingIPs",
}

Key = tuple[Kind, str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One thing by its kind and name.

    `id` is empty until it is known; `requested`: when it was last asked for, in seconds since the epoch, 0.0
    for not, or once the id is known. `available`: of a volume, whether it could be used once.
    `retain`: of a floating IP, that it outlives the object.
    """

    kind: Kind
    name: str
    id: str = ""
    requested: float = 0.0
    available: bool = False
    retain: bool = False

    @property
    def key(self) -> Key:
        return self.kind, self.name

    @property
    def let_go(self) -> bool:
        """Whether it is remembered only for not being deleted by its mark: its name is its id then."""
        return self.retain and self.name == self.id


@dataclass(frozen=True, slots=True)
class ResolvedPort:
    """The ids that a port is made with; one of `subnets` for each fixed IP, empty where none is named."""

    network: str
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """The ids that everything is made with, as they were when the spec with this `digest` was resolved."""

    digest: str
    image: str
    flavor: str
    ports: tuple[ResolvedPort, ...]
    group: str = ""
    floating_network: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """Where credentials lead: the project's id, and the region, empty where that is not determined."""

    id: str
    region: str = ""

    def is_same(self, other: Project) -> bool:
        """By what is known of both. One Keystone has several URLs, and none of them tells."""
        return self.id == other.id and (not self.region or not other.region or self.region == other.region)

    def __str__(self) -> str:
        return f"{self.id} in {self.region}" if self.region else self.id


@dataclass(frozen=True)
class ServerRecord:
    """The status as it is read and written, without conditions.

    `project`: the project of its objects. `removing`: a removal has begun, and is not finished.
    `provisioned`: the server was ACTIVE once.
    """

    project: Project | None = None
    resolved: Resolved | None = None
    things: Mapping[Key, Recorded] = field(default_factory=dict)
    removing: bool = False
    provisioned: bool = False
    instance_state: str = ""
    addresses: tuple[tuple[str, str], ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether nothing was ever noted, or the status was lost."""
        return self.project is None and self.resolved is None and not self.things

    def is_answer(self, found: CloudResource) -> bool:
        """Whether a volume is what the request made whose answer is out."""
        asked = self.things.get((found.kind, found.name))
        waiting = asked is not None and not asked.id and asked.requested > 0.0
        return asked is not None and waiting and found.request == timestamp(asked.requested)

    def id_of(self, kind: Kind, name: str) -> str:
        """The id of one thing, empty while it is not known."""
        found = self.things.get((kind, name))
        return found.id if found is not None else ""

    def of(self, kind: Kind) -> tuple[Recorded, ...]:
        """All of one kind."""
        return tuple(one for one in self.things.values() if one.kind == kind)

    @property
    def server_id(self) -> str:
        return next((one.id for one in self.of(Kind.SERVER)), "")

    def with_things(self, changed: Iterable[Recorded]) -> ServerRecord:
        """The same with these in the place of what it had of the same kind and name."""
        return replace(self, things={**self.things, **{one.key: one for one in changed}})

    def without(self, keys: Iterable[Key]) -> ServerRecord:
        """The same without these."""
        gone = set(keys)
        return replace(self, things={key: one for key, one in self.things.items() if key not in gone})

    def written(self) -> dict[str, Any]:
        """As it stands in a status."""
        status: dict[str, Any] = {"initialization": {"provisioned": self.provisioned}}
        if self.project is not None:
            status["project"] = {"id": self.project.id}
            if self.project.region:
                status["project"]["region"] = self.project.region
        if self.removing:
            status["removing"] = True
        if self.resolved is not None:
            status["resolved"] = _written_resolved(self.resolved)
        resources = {
            _LISTS[kind]: [_written_thing(one) for one in sorted(self.of(kind), key=lambda one: one.name)]
            for kind in CREATION_ORDER
            if self.of(kind)
        }
        if resources:
            status["resources"] = resources
        if self.server_id:
            status["instanceID"] = self.server_id
            status["providerID"] = f"openstack:///{self.server_id}"
        if self.instance_state:
            status["instanceState"] = self.instance_state
        if self.addresses:
            status["addresses"] = [{"type": type_, "address": address} for type_, address in self.addresses]
        return status


def read_record(status: Mapping[str, Any]) -> ServerRecord:
    """What a status says. Raises ValueError where another version must have written it."""
    try:
        resources = status.get("resources") or {}
        things = [
            _read_thing(kind, one) for kind, name in _LISTS.items() for one in resources.get(name) or ()
        ]
        resolved, project = status.get("resolved"), status.get("project")
        return ServerRecord(
            project=Project(str(project["id"]), str(project.get("region") or "")) if project else None,
            resolved=_read_resolved(resolved) if resolved else None,
            things={one.key: one for one in things},
            removing=bool(status.get("removing")),
            provisioned=bool((status.get("initialization") or {}).get("provisioned")),
            instance_state=str(status.get("instanceState") or ""),
            addresses=tuple((str(one["type"]), str(one["address"])) for one in status.get("addresses") or ()),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the status cannot be read: {type(error).__name__}: {error}") from None


def _written_thing(one: Recorded) -> dict[str, Any]:
    written: dict[str, Any] = {"name": one.name}
    if one.id:
        written["id"] = one.id
    if one.requested:
        written["requestedAt"] = timestamp(one.requested)
    for name in ("available", "retain"):
        if getattr(one, name):
            written[name] = True
    return written


def _read_thing(kind: Kind, given: Mapping[str, Any]) -> Recorded:
    return Recorded(
        kind,
        str(given["name"]),
        str(given.get("id") or ""),
        seconds_of(given.get("requestedAt")),
        available=bool(given.get("available")),
        retain=bool(given.get("retain")),
    )


def _written_resolved(resolved: Resolved) -> dict[str, Any]:
    written: dict[str, Any] = {
        "specDigest": resolved.digest,
        "imageID": resolved.image,
        "flavorID": resolved.flavor,
        "ports": [
            {
                "networkID": port.network,
                "subnetIDs": list(port.subnets),
                "securityGroupIDs": list(port.security_groups),
            }
            for port in resolved.ports
        ],
    }
    if resolved.group:
        written["serverGroupID"] = resolved.group
    if resolved.floating_network:
        written["floatingNetworkID"] = resolved.floating_network
    return written


def _read_resolved(given: Mapping[str, Any]) -> Resolved:
    return Resolved(
        digest=str(given["specDigest"]),
        image=str(given["imageID"]),
        flavor=str(given["flavorID"]),
        ports=tuple(
            ResolvedPort(
                str(port["networkID"]),
                tuple(map(str, port.get("subnetIDs") or ())),
                tuple(map(str, port.get("securityGroupIDs") or ())),
            )
            for port in given["ports"]
        ),
        group=str(given.get("serverGroupID") or ""),
        floating_network=str(given.get("floatingNetworkID") or ""),
    )
