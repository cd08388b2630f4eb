"""Which host of OpenStack each Node is. Pure.

Nova and Neutron take the name of the machine, often with its domain, and clouds name Nodes by address or by
id. A host is found by what a person says on the Node, by a name, or by an address that one Node and one host
have alone. What these say must agree: where they do not, the host is left alone until a person has said
whose it is. It is kept in `status.nodes`, since a Node that is gone tells nothing. Its host is not given to
another by an address alone: its machine may only be cut off, and the address that of a new one.
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
    """What a Node says that its machine is called; empty for none."""
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(HOSTNAME_LABEL) or "")


def addresses_of(node: Mapping[str, Any] | None) -> frozenset[str]:
    """The addresses of a Node in the cluster (InternalIP), as `address` writes them."""
    listed = ((node or {}).get("status") or {}).get("addresses") or ()
    found = (address(one.get("address")) for one in listed if one.get("type") == "InternalIP")
    return frozenset(one for one in found if one)


def address(text: object) -> str:
    """An IP address in its one form; empty for what is none, or is the same on many machines."""
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
    """What there is to find the host of one Node by. `stated`: the host that a person wrote on it."""

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
    """`hosts`: by name of the Node; of one that OpenStack does not know, what it may become known by.

    `doubts`: by name of a Node, why it is not certain which host it is; it has none in `hosts` then, and
    those that may be meant are its `candidates`. `strangers`: compute hosts that are of no Node, in order.
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
    """Which host each of these Nodes is, and each that is gone of which a host is `remembered`.

    No two Nodes have a host of which only one of them is certain to be: two may share one only by their
    names, as the old and the new Node of a machine that was renamed.
    """
    present = {one.name: one for one in nodes}
    found = _Search(present, remembered, view)
    unclear = {name: why for name in present if (why := found.doubt(name))}
    unsure = {host: name for name in unclear for host in found.candidates(name)}
    # On whom a person is to say so: never on a Node that is gone.
    asked = {name: name for name in present}
    for name, host in found.hosts.items():
        # Whoever else may be meant, and a Node that is gone: it is in the same doubt.
        if host in unsure and name not in unclear:
            unclear[name] = f"which node the host {host} is, is not certain"
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
    return f"say which it is: kubectl annotate node {name} {note}=HOST"


def without_host(name: str, strangers: Iterable[str], namespace: str) -> str:
    """What to add to that a Node has no host, where OpenStack has hosts without a Node; else empty."""
    listed = list(strangers)
    if not listed:
        return ""
    shown = ", ".join(listed[:SHOWN]) + (f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else "")
    return (
        f"OpenStack has hosts of no node ({shown}): if one of them is this node, {_remedy(name, namespace)}"
    )


class _Search:
    """The hosts of all Nodes at once: only together they show what is unique."""

    def __init__(
        self, present: Mapping[str, NodeNames], remembered: Mapping[str, str], view: CloudView
    ) -> None:
        self._present = present
        self._remembered = remembered
        self.computes = view.compute_hosts
        self._agents = view.agent_hosts
        self._stated = Counter(one.stated for one in present.values() if one.stated)
        # What a person says of a Node or a host ends what addresses say of it.
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
        # One that OpenStack does not know: never the host that a person gave to another.
        return next(iter(free), "")

    def candidates(self, name: str) -> tuple[str, ...]:
        """The hosts that may be meant by a Node."""
        node = self._present.get(name)
        found = [self.hosts.get(name, ""), self._addressed.get(name, "")]
        found += [node.stated] if node is not None else []
        found += [self._other_by_name(name)]
        return tuple(dict.fromkeys(one for one in found if one))

    def doubt(self, name: str) -> str:
        """Why the host of a Node that is there is not certain; empty where it is."""
        node, host = self._present[name], self.hosts[name]
        if node.stated:
            if self._stated[node.stated] > 1:
                others = sorted(
                    one.name for one in self._present.values() if one.stated == host and one is not node
                )
                return f"its annotation says that it is the host {host}, and so does that of {others[0]}"
            return ""
        if not host:
            return "annotations say of other nodes that they are the hosts of its names"
        if host not in self.computes and host not in self._agents:
            return ""
        owner = self._owner.get(host, "")
        if name in self._by_name and owner not in ("", name) and self._by_name.get(owner) != host:
            return (
                f"by its name it is the host {host}, which has the address of the node {owner} in OpenStack"
            )
        other = self._addressed.get(name, "")
        if name in self._by_name and other not in ("", host):
            return f"by its name it is the host {host}, and by its address the host {other}"
        if name not in self._by_name:
            named = sorted(one for one, found in self._by_name.items() if found == host and one != name)
            if named:
                return f"by its address it is the host {host}, which is the node {named[0]} by name"
            if before := self._gone_with(host):
                text = f"by its address it is the host {host}, which the node {before} had"
                return f"{text}, and that is gone or without a role"
        if other := self._other_by_name(name):
            return f"it was the host {host} before, and by its name it is the host {other}"
        return ""

    def _gone_with(self, host: str) -> str:
        """A Node that is gone and had this host; empty for none."""
        gone = (one for one, had in self._remembered.items() if had == host and one not in self._present)
        return next(iter(sorted(gone)), "")

    def _other_by_name(self, name: str) -> str:
        """The compute host that has a name of this Node, whose host has none of them; empty for none."""
        node = self._present.get(name)
        if node is None or node.stated or self.hosts[name] in (node.name, node.hostname):
            return ""
        names = (one for one in (node.name, node.hostname) if one not in self._stated)
        return next((one for one in names if one in self.computes), "")


def _by_address(present: Mapping[str, NodeNames], view: CloudView) -> dict[str, str]:
    """By name of a Node the host that has its address, where that is so of one Node and of one host alone.

    An address counts as Nova says it, and where Nova has no hypervisor, as the host's network agents do.
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
