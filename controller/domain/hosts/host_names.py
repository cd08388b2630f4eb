"""Matches Nodes with OpenStack's hosts.

Pure. Nova and Neutron use the name of the machine, often with its domain, and clouds name Nodes by address or
by id. A host is found by an annotation on the Node, by a name, or by an address that only one Node and one
host have. These must agree. Otherwise the host is not changed until a person has decided. The match is stored
in `status.nodes`, for Nodes that are gone. An address alone does not move the host of a lost Node to another
one, because its machine may only be disconnected, and the address may belong to a new machine.
"""

from __future__ import annotations

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import HOST_ANNOTATION
from controller.domain.api.region_name import node_note, node_notes
from controller.domain.shared.cloud_facts import CloudView

HOSTNAME_LABEL = "kubernetes.io/hostname"
SHOWN = 3


def hostname_of(node: Mapping[str, Any] | None) -> str:
    """The machine's name according to its Node, or empty."""
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(HOSTNAME_LABEL) or "")


def addresses_of(node: Mapping[str, Any] | None) -> frozenset[str]:
    """The addresses of a Node in the cluster (InternalIP), normalized by `address`."""
    listed = ((node or {}).get("status") or {}).get("addresses") or ()
    found = (address(one.get("address")) for one in listed if one.get("type") == "InternalIP")
    return frozenset(one for one in found if one)


def address(text: object) -> str:
    """An IP address in normal form; empty if it is invalid, or the same on many machines."""
    try:
        found = ipaddress.ip_address(str(text or ""))
    except ValueError:
        return ""
    if found.is_loopback or found.is_unspecified or found.is_link_local or found.is_multicast:
        return ""
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def remembered_hosts(osdpl: Mapping[str, Any] | None) -> dict[str, str]:
    """The hosts in a region's `status.nodes`, by the name of the Node."""
    known = ((osdpl or {}).get("status") or {}).get("nodes") or {}
    return {name: str(entry["host"]) for name, entry in known.items() if (entry or {}).get("host")}


@dataclass(frozen=True, slots=True)
class NodeNames:
    """The identifiers of one Node for the match. `stated`: the host in a person's annotation."""

    name: str
    hostname: str = ""
    addresses: frozenset[str] = frozenset()
    stated: str = ""


def names_of(node: Mapping[str, Any], namespace: str) -> NodeNames:
    """Of a Node, for the installation that serves this namespace."""
    stated = node_notes(namespace, node).get(HOST_ANNOTATION, "")
    return NodeNames(str(node["metadata"]["name"]), hostname_of(node), addresses_of(node), stated)


@dataclass(frozen=True)
class HostMatches:
    """`hosts`: by name of the Node; for a Node unknown to OpenStack, its expected name.

    `doubts`: by name of a Node, why its host is not certain; then `hosts` does not have it, and its possible
    hosts are in `candidates`. `strangers`: compute hosts without a Node, in order.
    """

    hosts: Mapping[str, str] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()

    def host(self, name: str) -> str:
        """Empty in doubt."""
        return "" if name in self.doubts else self.hosts.get(name, name)


def match_hosts(
    nodes: Iterable[NodeNames], remembered: Mapping[str, str], view: CloudView, *, namespace: str = ""
) -> HostMatches:
    """The host of each of these Nodes, and of each lost Node with a `remembered` host.

    Two Nodes may share a host only by their names, like the old and the new Node of a renamed machine.
    """
    present = {one.name: one for one in nodes}
    found = _Search(present, remembered, view)
    unclear = {name: why for name in present if (why := found.doubt(name))}
    unsure = {host: name for name in unclear for host in found.candidates(name)}
    # The Node for a person's annotation: never a Node that is gone.
    asked = {name: name for name in present}
    for name, host in found.hosts.items():
        # Other possible Nodes, and a Node that is gone: they have the same doubt.
        if host in unsure and name not in unclear:
            unclear[name] = f"the controller is not sure which node the host {host} is"
            asked.setdefault(name, unsure[host])
    known = {*found.hosts.values(), *remembered.values(), *unsure}
    strangers = tuple(sorted(found.computes - known))
    return HostMatches(
        hosts={name: host for name, host in found.hosts.items() if name not in unclear},
        doubts={name: f"{why}; {_remedy(asked[name], namespace)}" for name, why in unclear.items()},
        candidates={name: found.candidates(name) for name in unclear},
        strangers=strangers,
    )


def _remedy(name: str, namespace: str) -> str:
    note = node_note(namespace or "NAMESPACE", HOST_ANNOTATION)
    return f"name the right host: kubectl annotate node {name} {note}=HOST"


def without_host(name: str, strangers: Iterable[str], namespace: str) -> str:
    """The addition to the message that a Node has no host, if OpenStack has hosts without a Node; otherwise
    empty."""
    listed = list(strangers)
    if not listed:
        return ""
    shown = ", ".join(listed[:SHOWN]) + (f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else "")
    return (
        f"OpenStack has hosts without a node ({shown}): if one of them is this node, "
        f"{_remedy(name, namespace)}"
    )


class _Search:
    """The hosts of all Nodes together, because uniqueness needs all of them."""

    def __init__(
        self, present: Mapping[str, NodeNames], remembered: Mapping[str, str], view: CloudView
    ) -> None:
        self._present = present
        self._remembered = remembered
        self.computes = view.compute_hosts
        self._agents = view.agent_hosts
        self._stated = Counter(one.stated for one in present.values() if one.stated)
        # A person's annotation for a Node or a host overrides addresses.
        self._addressed = {
            name: host
            for name, host in _by_address(present, view).items()
            if not present[name].stated and host not in self._stated
        }
        self._owner = {host: name for name, host in self._addressed.items()}
        self._by_name: dict[str, str] = {}
        self.hosts: dict[str, str] = {}
        for name in {**present, **remembered}:
            self.hosts[name] = self._host(name)

    def _host(self, name: str) -> str:
        node = self._present.get(name)
        if node is None:
            return self._remembered[name]
        if node.stated:
            return node.stated
        names = [one for one in (self._remembered.get(name), name, node.hostname) if one]
        # A name written on another Node belongs to that Node.
        free = [one for one in names if one not in self._stated]
        addressed = self._addressed.get(name, "")
        for known in (self.computes, self._agents):
            named = next((one for one in free if one in known), "")
            if named:
                self._by_name[name] = named
            if named or addressed in known:
                return named or addressed
        # Unknown to OpenStack: never the host that a person assigned to another Node.
        return next(iter(free), "")

    def candidates(self, name: str) -> tuple[str, ...]:
        """The possible hosts of a Node."""
        node = self._present.get(name)
        found = [self.hosts.get(name, ""), self._addressed.get(name, "")]
        found += [node.stated] if node is not None else []
        found += [self._other_by_name(name)]
        return tuple(dict.fromkeys(one for one in found if one))

    def doubt(self, name: str) -> str:
        """Why the host of an existing Node is not certain, or empty."""
        node, host = self._present[name], self.hosts[name]
        if node.stated:
            if self._stated[node.stated] > 1:
                others = sorted(
                    one.name for one in self._present.values() if one.stated == host and one is not node
                )
                return (
                    f"the annotation of the node names the host {host}, and the annotation of "
                    f"{others[0]} names the same"
                )
            return ""
        if not host:
            return "annotations of other nodes already claim the hosts that have the names of this node"
        if host not in self.computes and host not in self._agents:
            return ""
        owner = self._owner.get(host, "")
        if name in self._by_name and owner not in ("", name) and self._by_name.get(owner) != host:
            return (
                f"by its name the node is the host {host}, but in OpenStack that host has the "
                f"address of the node {owner}"
            )
        other = self._addressed.get(name, "")
        if name in self._by_name and other not in ("", host):
            return f"by its name the node is the host {host}, but by its address the host {other}"
        if name not in self._by_name:
            named = sorted(one for one, found in self._by_name.items() if found == host and one != name)
            if named:
                return (
                    f"by its address the node is the host {host}, but by its name that host is the "
                    f"node {named[0]}"
                )
            if before := self._gone_with(host):
                text = f"by its address the node is the host {host}, but that host was the node {before}"
                return f"{text}; that node is gone or has no role"
        if other := self._other_by_name(name):
            return f"the node was the host {host} before, and by its name the node is the host {other}"
        return ""

    def _gone_with(self, host: str) -> str:
        """A lost Node that had this host, or empty."""
        gone = (one for one, had in self._remembered.items() if had == host and one not in self._present)
        return next(iter(sorted(gone)), "")

    def _other_by_name(self, name: str) -> str:
        """The compute host with a name of this Node, whose own host has none of these names; or empty."""
        node = self._present.get(name)
        if node is None or node.stated or self.hosts[name] in (node.name, node.hostname):
            return ""
        names = (one for one in (node.name, node.hostname) if one not in self._stated)
        return next((one for one in names if one in self.computes), "")


def _by_address(present: Mapping[str, NodeNames], view: CloudView) -> dict[str, str]:
    """By name of a Node, the host with its address, if exactly one Node and one host have it.

    The address comes from Nova, or from the host's network agents if Nova has no hypervisor.
    """
    addresses_of: dict[str, set[str]] = defaultdict(set)
    for hypervisor in view.hypervisors:
        addresses_of[hypervisor.host].add(hypervisor.address)
    listed = set(addresses_of)
    for agent in view.agents:
        if agent.host not in listed and agent.address:
            addresses_of[agent.host].add(agent.address)
    having: dict[str, set[str]] = defaultdict(set)
    for host, addresses in addresses_of.items():
        for one in map(address, addresses):
            if one:
                having[one].add(host)
    of_nodes = Counter(one for node in present.values() for one in node.addresses)
    found: dict[str, set[str]] = {}
    for name, node in present.items():
        hosts = [having[one] for one in node.addresses if of_nodes[one] == 1 and one in having]
        if hosts and all(len(one) == 1 for one in hosts):
            found[name] = set().union(*hosts)
    alone = Counter(host for hosts in found.values() for host in hosts)
    return {
        name: next(iter(hosts))
        for name, hosts in found.items()
        if len(hosts) == 1 and alone[next(iter(hosts))] == 1
    }
