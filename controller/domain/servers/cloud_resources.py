"""The objects of one OpenStackServer in OpenStack, and their marks.

Pure. Each has a mark with the uid of the OpenStackServer from its creation on: a server has a tag and an
entry in its metadata, a volume only the entry, an object of Neutron its description. Neutron's tags are set
afterwards, by a separate request. Names are for people and never decide about ownership. The mark is not
secret, because guests read it from their metadata: it counts only in the project of the objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# Nova takes tags of 60 characters without a comma or a slash (nova/api/validation/parameter_types.py).
_PREFIX = "osctl-server-"
# The key in the metadata of servers and volumes.
METADATA_KEY = "osctl-server"
# A volume also has the time of its request there: Cinder gives its metadata to what is restored of its backup
# as well, so that the mark alone does not tell whether a volume was made for the object.
REQUEST_KEY = "osctl-server-request"


class Kind(StrEnum):
    """What is made, in the words of OpenStack."""

    PORT = "port"
    TRUNK = "trunk"
    VOLUME = "volume"
    SERVER = "server"
    FLOATING_IP = "floating IP"


# What needs something else is made after it, and goes before it.
CREATION_ORDER = (Kind.PORT, Kind.TRUNK, Kind.VOLUME, Kind.SERVER, Kind.FLOATING_IP)
REMOVAL_ORDER = (Kind.SERVER, Kind.FLOATING_IP, Kind.TRUNK, Kind.PORT, Kind.VOLUME)


def mark_of(uid: str) -> str:
    """The mark of all that is made for the object with this uid."""
    return f"{_PREFIX}{uid}"


def uid_of(mark: str) -> str:
    """The uid that a mark is made of."""
    return mark.removeprefix(_PREFIX)


@dataclass(frozen=True, slots=True)
class CloudResource:
    """One thing in OpenStack as it was read.

    `marks`: wherever a mark of ours may stand. `used_by`: the server that a port or a volume is at, the port
    that a floating IP leads to. `status` and `task` in OpenStack's words; `fault`: Nova's own words on why a
    server is in ERROR. `addresses`: pairs of type and address, of a server; the one address of a floating IP.
    `request`: when a volume was asked for, as its metadata have it. `project`: the id of whose it is.
    """

    kind: Kind
    id: str
    name: str = ""
    status: str = ""
    task: str = ""
    fault: str = ""
    used_by: str = ""
    marks: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    addresses: tuple[tuple[str, str], ...] = ()
    created: str = ""
    request: str = ""
    project: str = ""

    def is_of(self, mark: str) -> bool:
        """Whether it was made for the object with this mark."""
        return mark in self.marks

    @property
    def leaving(self) -> bool:
        """Whether its deletion is under way, so that another request would be in vain."""
        if self.kind == Kind.SERVER:
            return self.task in ("deleting", "force-deleting") or self.status == "DELETED"
        return self.kind == Kind.VOLUME and self.status == "deleting"
