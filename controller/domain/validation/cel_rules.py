"""The validation rules of our resource definitions, said once more in Python for use without a server.

Keyed by the rule's CEL text: a definition's rule that has no entry here, or an entry that no definition
uses, fails a test, and another test asks a real API server whether both agree.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controller.domain.shared.durations import parse_duration
from controller.domain.shared.max_unhealthy import parse_max_unhealthy

Rule = Callable[[Any], bool]

_NODE_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
    r"::([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
)


def normalized(rule: str) -> str:
    """A rule's text with each run of white space as one space."""
    return " ".join(rule.split())


def is_transition(rule: str) -> bool:
    """Whether the rule compares with the object before the change, which only a server knows."""
    return "oldSelf" in rule


def predicate(rule: str) -> Rule:
    """What decides on a value that the rule is put on. Raises KeyError for a rule unknown here."""
    return RULES[normalized(rule)]


def is_ip(value: str) -> bool:
    """An IPv4 or IPv6 address as CEL's isIP() sees it: no zone, no IPv4 within IPv6."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value and not (address.version == 6 and "." in value)


def is_network(value: str) -> bool:
    """A network as CEL's isCIDR() sees it: host bits may be set, the length is plain digits."""
    address, slash, length = value.partition("/")
    plain = length.isascii() and length.isdigit() and (length == "0" or not length.startswith("0"))
    return bool(slash) and plain and is_ip(address) and int(length) <= (32 if "." in address else 128)


def _in(key: str, names: str) -> Callable[[Mapping[str, Any]], bool]:
    """A rule that the field `key`, when set, is the name of an item of the list `names`."""
    return lambda self: key not in self or self[key] in {item["name"] for item in self.get(names, ())}


def _only_with(field: str, key: str, value: str) -> Callable[[Mapping[str, Any]], bool]:
    """A rule that `field` is set only where `key` has this value."""
    return lambda self: field not in self or self.get(key) == value


def _distinct(names: Sequence[str]) -> bool:
    return len(set(names)) == len(names)


def _external(self: Mapping[str, Any]) -> bool:
    expected = self.get("floatingNetwork", {}).get("physicalNetwork")
    return expected is None or expected in {network["name"] for network in self.get("externalNetworks", ())}


def _floating(self: Mapping[str, Any]) -> bool:
    floating = self.get("floatingNetwork", {})
    return not floating.get("enabled") or ("physicalNetwork" in floating and "subnet" in floating)


def _is_max_unhealthy(value: object) -> bool:
    try:
        parse_max_unhealthy(value)
    except ValueError:
        return False
    return True


_MACHINE = ("nodeUID", "bootID", "ready", "lastHeartbeatTime")

RULES: Mapping[str, Rule] = {
    # NodeMaintenance
    "has(self.nodeUID) && has(self.bootID) && has(self.ready) && has(self.lastHeartbeatTime)": (
        lambda self: all(name in self for name in _MACHINE)
    ),
    "!has(self.ready) || self.ready in ['Unknown', 'False', '']": (
        lambda self: self.get("ready", "") in ("Unknown", "False", "")
    ),
    # OpenStackServer
    "has(self.flavor) != has(self.flavorID)": lambda self: ("flavor" in self) != ("flavorID" in self),
    "has(self.id) != has(self.filter)": lambda self: ("id" in self) != ("filter" in self),
    "has(self.network) != has(self.pool)": lambda self: ("network" in self) != ("pool" in self),
    "has(self.subnet) || has(self.ipAddress)": lambda self: "subnet" in self or "ipAddress" in self,
    "has(self.network) || (has(self.fixedIPs) && self.fixedIPs.exists(one, has(one.subnet)))": (
        lambda self: "network" in self or any("subnet" in one for one in self.get("fixedIPs", ()))
    ),
    "!self.startsWith('osctl-server-')": lambda self: not self.startswith("osctl-server-"),
    "self != 'root'": lambda self: self != "root",
    "isIP(self) || isCIDR(self)": lambda self: is_ip(self) or is_network(self),
    "!has(self.volume) || self.type == 'Volume'": _only_with("volume", "type", "Volume"),
    "(has(self.from) && self.from == 'Machine') != has(self.name)": (
        lambda self: (self.get("from") == "Machine") != ("name" in self)
    ),
    (
        "!has(self.disablePortSecurity) || !self.disablePortSecurity || "
        "(!has(self.securityGroups) && !has(self.allowedAddressPairs))"
    ): lambda self: (
        not self.get("disablePortSecurity")
        or ("securityGroups" not in self and "allowedAddressPairs" not in self)
    ),
    (
        "self.all(port, !has(port.nameSuffix) || self.exists_one(other, has(other.nameSuffix) && "
        "other.nameSuffix == port.nameSuffix))"
    ): lambda self: _distinct([port["nameSuffix"] for port in self if "nameSuffix" in port]),
    # both kinds
    "self.metadata.name.size() <= 63": lambda self: len(self["metadata"]["name"]) <= 63,
    # HelmBundle
    "!has(self.dependsOn) || !(self.name in self.dependsOn)": (
        lambda self: self["name"] not in self.get("dependsOn", ())
    ),
    "has(self.path) != has(self.repository)": lambda self: ("path" in self) != ("repository" in self),
    "!has(self.repository) || self.repository.startsWith('file:') || has(self.version)": (
        lambda self: self.get("repository", "file:").startswith("file:") or "version" in self
    ),
    "duration(self) >= duration('10s') && duration(self) <= duration('24h')": (
        lambda self: 10 <= parse_duration(self) <= 24 * 3600
    ),
    # OpenStackDeployment
    "!has(self.path) || !has(self.repository)": lambda self: "path" not in self or "repository" not in self,
    "has(self.repository) || (!has(self.credentialsSecret) && !has(self.caSecret))": (
        lambda self: "repository" in self or ("credentialsSecret" not in self and "caSecret" not in self)
    ),
    (
        "self.all(label, label.size() <= 320 && "
        "label.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?::"
        "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))"
    ): lambda self: all(len(label) <= 320 and _NODE_KEY.fullmatch(label) for label in self),
    "!has(self.enabled) || !has(self.disabled) || !self.enabled.exists(name, name in self.disabled)": (
        lambda self: not set(self.get("enabled", ())) & set(self.get("disabled", ()))
    ),
    (
        "!has(self.floatingNetwork) || !has(self.floatingNetwork.physicalNetwork) || "
        "(has(self.externalNetworks) && "
        "self.externalNetworks.exists(network, network.name == self.floatingNetwork.physicalNetwork))"
    ): _external,
    (
        "!has(self.floatingNetwork) || !has(self.floatingNetwork.enabled) || "
        "!self.floatingNetwork.enabled || "
        "(has(self.floatingNetwork.physicalNetwork) && has(self.floatingNetwork.subnet))"
    ): _floating,
    (
        "type(self) == int ? self >= 1 && self <= 5000 : self.matches('^([1-9][0-9]?|100)%$')"
    ): _is_max_unhealthy,
    "isCIDR(self)": is_network,
    "isIP(self)": is_ip,
    "!has(self.ceph) || (has(self.backend) && self.backend == 'ceph')": _only_with("ceph", "backend", "ceph"),
    "has(self.source) == has(self.__namespace__)": lambda self: ("source" in self) == ("namespace" in self),
    "!has(self.secretName) || (has(self.source) && self.source == 'Secret')": (
        _only_with("secretName", "source", "Secret")
    ),
    "!has(self.request) || self.request != 'Rook' || (has(self.source) && self.source == 'Rook')": (
        lambda self: self.get("request") != "Rook" or self.get("source") == "Rook"
    ),
    "!has(self.lvm) || (has(self.backend) && self.backend == 'lvm')": _only_with("lvm", "backend", "lvm"),
    (
        "!has(self.defaultBackend) || "
        "(has(self.backends) && self.backends.exists(backend, backend.name == self.defaultBackend))"
    ): _in("defaultBackend", "backends"),
    "self.type == 'ceph' || !has(self.ceph)": _only_with("ceph", "type", "ceph"),
    "self.type == 'lvm' || !has(self.lvm)": _only_with("lvm", "type", "lvm"),
    "(self.type == 'nfs') == has(self.nfs)": lambda self: (self["type"] == "nfs") == ("nfs" in self),
    "self.type != 'custom' || has(self.conf)": lambda self: self["type"] != "custom" or "conf" in self,
    "!has(self.enabled) || !self.enabled || has(self.driver)": (
        lambda self: not self.get("enabled") or "driver" in self
    ),
    "!has(self.driver) || self.driver != 'nfs' || has(self.share)": (
        lambda self: self.get("driver") != "nfs" or "share" in self
    ),
    "self.type == 'pvc' || !has(self.size)": _only_with("size", "type", "pvc"),
    "self.type == 'ceph' || !has(self.pool)": _only_with("pool", "type", "ceph"),
    "!has(self.secretName) || !has(self.issuer)": (
        lambda self: "secretName" not in self or "issuer" not in self
    ),
    "!has(self.authoritySecret) || !has(self.issuer)": (
        lambda self: "authoritySecret" not in self or "issuer" not in self
    ),
    "!has(self.caSecret) || !has(self.authoritySecret)": (
        lambda self: "caSecret" not in self or "authoritySecret" not in self
    ),
    "(has(self.backend) && self.backend == 'vault') == has(self.vault)": (
        lambda self: (self.get("backend") == "vault") == ("vault" in self)
    ),
}
