"""What the reconciler of OpenStackServers needs of an OpenStack, as protocols.

The cloud may belong to others, and the account need not be an administrator. Every call has a deadline. Reads
are retried within it, and writes are sent once. Raises CloudUnavailable if the outcome is unknown or a list
may be incomplete (CredentialsDenied if the credentials are the cause), CloudRefused if OpenStack refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Protocol

from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.server_spec import Reference
from controller.domain.servers.server_status import Project


class Catalog(StrEnum):
    """What a spec refers to."""

    IMAGE = "image"
    FLAVOR = "flavor"
    NETWORK = "network"
    EXTERNAL_NETWORK = "external network"
    SUBNET = "subnet"
    SECURITY_GROUP = "security group"
    SERVER_GROUP = "server group"


class ServerCloud(Protocol):
    """One project of one cloud. Safe from several threads."""

    def until(self, deadline: float, *, grace: float = 0.0) -> ServerCloud:
        """The same for work that has to end, as `ports.openstack.Cloud.until`."""
        ...

    def close(self) -> None:
        """Gives back its connections."""
        ...

    def authenticate(self) -> Project:
        """The project of the credentials, after a login if there was none yet."""
        ...

    def find(self, catalog: Catalog, reference: Reference, *, network: str = "") -> tuple[str, ...]:
        """Ids of all that a reference fits; `network`: of subnets, only its own.

        An id, and a filter that names a project, are taken as they are. Any other filter fits what the own
        project has. Only where that is nothing it fits what is there for all: public images, shared and
        external networks, and images of others that the project has accepted.
        """
        ...

    def network_of(self, subnet: str) -> str:
        """The id of the network of a subnet, empty if there is no such subnet."""
        ...

    def read(self, kind: Kind, id_: str) -> CloudResource | None:
        """None only if the service says that it does not exist, or if it belongs to another project."""
        ...

    def marked(self, kind: Kind, mark: str, name: str) -> tuple[CloudResource, ...]:
        """All of a kind with this mark in the own project. `name`: that of a server, which Nova can look for.

        Complete: where a cell of Nova hides servers it raises CloudUnavailable. NotOffered where the service
        itself says that the cloud has no such things.
        """
        ...

    def create(self, kind: Kind, body: Mapping[str, Any]) -> CloudResource:
        """Sent once."""
        ...

    def delete(self, one: CloudResource) -> None:
        """Asks for it; what is gone already is none to speak of."""
        ...

    def set_tags(self, one: CloudResource, tags: Collection[str]) -> None:
        """Of what Neutron has: these and no others."""
        ...

    def release_volume(self, volume: str) -> bool:
        """Frees a volume that is only reserved, for a server that Nova does not know. Whether it was so."""
        ...

    def attach_port(self, server: str, port: str) -> None:
        """Sent once."""
        ...

    def point_floating_ip(self, id_: str, port: str) -> None:
        """Attaches it to a port, or to none. May be repeated."""
        ...


class ServerClouds(Protocol):
    """Opens clouds from a clouds.yaml."""

    def open(
        self, clouds: bytes, authority: bytes = b"", *, cloud: str = "", region: str = "", own: bool = False
    ) -> ServerCloud:
        """`cloud` and `region`: which of them, empty for what the text says itself.

        `own`: the text is the installation's own. Other texts may only use plain ways to log in. Nothing is
        sent yet. Raises CloudMissing if the text has no such cloud, CloudRefused if it is no clouds.yaml.
        """
        ...
