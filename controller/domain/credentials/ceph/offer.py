"""The offer of a Ceph cluster, in any form: its id, its monitors, keys of clients.

Pure. No message quotes the input, which may be a key in the wrong place.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller.errors import ControllerError

# Port of monitors for the second protocol (docs.ceph.com, rados/configuration/msgr2).
V2_PORT = 3300
# A key is a type, its creation time, the length of the secret and the secret (ceph: src/auth/Crypto.cc,
# CryptoKey::encode), in base64.
_KEY_HEAD = struct.Struct("<HIIH")
_LONGEST = 1024
# Octets of the secret by type; type 0 has no secret.
_NO_TYPE, _SECRET_SIZES = 0, {1: 16}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# Represents content of a Secret that is not UTF-8 text: valid input does not have this character.
NO_TEXT = "\N{REPLACEMENT CHARACTER}"
KEY_OF_SEVERAL = "has the same key as another client; use the key that ceph auth get-key prints for each"


class CephMalformed(ControllerError):
    """The offer is malformed. The text says what is wrong, and quotes nothing of it."""


@dataclass(frozen=True)
class Monitor:
    """The addresses of one monitor: `ADDRESS:PORT` for each version of the protocol, or empty."""

    v2: str = ""
    v1: str = ""

    def __str__(self) -> str:
        """As `mon_host` has it."""
        parts = [f"{version}:{place}" for version, place in (("v2", self.v2), ("v1", self.v1)) if place]
        return f"[{','.join(parts)}]"


@dataclass(frozen=True)
class OfferedClient:
    """A user of Ceph. `capabilities` are those in the offer, or empty."""

    key: str = field(repr=False)
    capabilities: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OfferedPool:
    """A pool and its role; `volume_type` if it is for the volumes of one type only."""

    name: str
    role: str
    volume_type: str = ""


@dataclass(frozen=True)
class Place:
    """An object of the shared namespace, as messages name it."""

    kind: str
    name: str


@dataclass(frozen=True)
class OfferProblem:
    """A problem with one object of the offer. `client` if it affects only one client."""

    place: Place
    message: str
    client: str = ""


@dataclass(frozen=True)
class CephOffer:
    """The readable part of the offer.

    `monitors` are empty if the cluster is unknown, and then it must not be used. `pools` is None if the form
    does not contain pools.
    """

    fsid: str = ""
    monitors: tuple[Monitor, ...] = ()
    clients: Mapping[str, OfferedClient] = field(default_factory=dict)
    pools: tuple[OfferedPool, ...] | None = None
    gateway_url: str = ""
    problems: tuple[OfferProblem, ...] = ()


def parse_fsid(text: str) -> str:
    """The id of a cluster, in lower case. Raises CephMalformed."""
    found = text.strip().lower()
    if not _UUID.fullmatch(found) or not found.strip("0-"):
        raise CephMalformed("is no UUID")
    return found


def parse_key(text: str) -> str:
    """The key of a client, as `ceph auth get-key` prints it. Raises CephMalformed."""
    key = text.strip()
    try:
        octets = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise CephMalformed("is not a key of Ceph") from None
    if len(octets) <= _KEY_HEAD.size or len(octets) > _LONGEST:
        raise CephMalformed("is not a key of Ceph")
    kind, _, _, size = _KEY_HEAD.unpack_from(octets)
    if kind == _NO_TYPE or size != _SECRET_SIZES.get(kind, size):
        raise CephMalformed("is not a key of Ceph")
    if size != len(octets) - _KEY_HEAD.size:
        raise CephMalformed("is only a part of a key of Ceph")
    return key


def parse_address(text: str) -> tuple[str, int]:
    """An address and a port, as `192.0.2.1:6789` or `[2001:db8::1]:6789`. Raises CephMalformed."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        address = ipaddress.ip_address(host[1:-1] if bracketed else host)
    except ValueError:
        raise CephMalformed("is not an address with a port") from None
    if not colon or "%" in host or bracketed != (address.version == 6):
        raise CephMalformed("is not an address with a port")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise CephMalformed("has no port from 1 to 65535")
    if not _is_of_one_machine(getattr(address, "ipv4_mapped", None) or address):
        raise CephMalformed("is an address that other machines cannot reach")
    return str(address), int(port)


def _is_of_one_machine(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether other machines can reach one machine by it."""
    nobody = address.is_unspecified or address.is_loopback or address.is_multicast
    return not nobody and str(address) != "255.255.255.255"


def find_repeated(monitors: Sequence[Monitor]) -> int | None:
    """The index of a monitor with a repeated address, or None."""
    seen: set[str] = set()
    for index, monitor in enumerate(monitors):
        for place in filter(None, (monitor.v2, monitor.v1)):
            if place in seen:
                return index
            seen.add(place)
    return None


def keys_of_several(clients: Mapping[str, OfferedClient]) -> frozenset[str]:
    """The users with a key of another user: Ceph generates a separate key for each, so one is a mistake."""
    times = Counter(client.key for client in clients.values())
    return frozenset(user for user, client in clients.items() if times[client.key] > 1)


def joined(address: str, port: int) -> str:
    """The reverse of `parse_address`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
