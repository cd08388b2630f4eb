"""Physical networks that no node, or not every node that serves them, has a bridge for. Pure.

An agent of ml2/ovs serves only networks in its `bridge_mappings`; those for addresses and routers run on the
control nodes, so one set of nodes has to have all of them (neutron, `check_segment_for_agent` of the
driver openvswitch). With ml2/ovn routers are put on gateways whose `ovn-bridge-mappings` have the network.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.api.spec_rules import features as rules
from controller.domain.values.chart_values import Path, Values, is_map, lookup
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem

_PATH = "spec.features.networking.externalNetworks"
_OVS = ("conf", "plugins", "openvswitch_agent", "ovs", "bridge_mappings")
_OVN = ("conf", "ovn_bridge_mappings")
_CARDS = ("conf", "plugins", "sriov_agent", "sriov_nic", "physical_device_mappings")
_BRIDGES = ("conf", "auto_bridge_add")
_NEAR = 0.6


def unbridged_networks(
    networks: Sequence[Mapping[str, Any]], neutron: Values, ovn: Values | None
) -> Iterator[Problem]:
    """Warnings of the region's physical networks. `ovn`: the values of that release, None with ml2/ovs.

    Servers reach a network of cards (SR-IOV) without a bridge, so such a network gives no problem."""
    labelled = list(_of_agents(neutron, "ovs-agent", _OVS) if ovn is None else _of_ovn(ovn))
    sets = [mapped for _, mapped in labelled]
    cards = set().union(*(one for _, one in _of_agents(neutron, "sriov-agent", _CARDS))).difference(*sets)
    names = [name for one in networks if (name := one["name"]) not in cards]
    nowhere = [name for name in names if not any(name in mapped for mapped in sets)]
    release, option = ("neutron", _OVS) if ovn is None else ("ovn", _OVN)
    key = ".".join(("spec.services.networking", release, "values", *option))
    yield from _lost_on_nodes(names, labelled, key)
    bridges = _labelled(neutron, "ovs-agent", _BRIDGES) if ovn is None else _labelled_ovn(ovn, _BRIDGES)
    yield from _without_uplink([one for one in networks if one["name"] in sets[0]], list(bridges), key)
    yield from _strange(networks, set().union(*sets), neutron)
    if nowhere:
        yield rules.NETWORK_ON_NO_NODE.at(_PATH, nowhere=", ".join(nowhere), key=key)
    elif names and ovn is None and not any(set(names) <= mapped for mapped in sets):
        yield rules.NETWORK_ON_NO_CONTROL_NODE.at(_PATH, names=", ".join(names))


def _lost_on_nodes(
    names: Sequence[str], labelled: Sequence[tuple[str, set[str]]], key: str
) -> Iterator[Problem]:
    """Networks of all nodes that nodes with a mapping of their own do not have."""
    (_, everywhere), *own = labelled
    for nodes, mapped in own:
        lost = [name for name in names if name in everywhere and name not in mapped]
        if lost:
            yield rules.NETWORK_NOT_ON_NODES.at(_PATH, nodes=nodes, lost=", ".join(lost), key=key)


def _without_uplink(
    everywhere: Sequence[Mapping[str, Any]], labelled: Sequence[tuple[str, Any]], key: str
) -> Iterator[Problem]:
    """Networks that all nodes have, but whose bridge has an interface on some nodes only."""
    (_, default), *own = labelled
    for one in everywhere:
        bridge = one["bridge"]
        nodes = [label for label, bridges in own if is_map(bridges) and bridges.get(bridge)]
        if nodes and not (is_map(default) and default.get(bridge)):
            yield rules.NETWORK_WITHOUT_UPLINK.at(
                _PATH, nodes=", ".join(nodes), bridge=bridge, name=one["name"], key=key
            )


def _strange(networks: Sequence[Mapping[str, Any]], mapped: set[str], neutron: Values) -> Iterator[Problem]:
    """Names in mappings that are almost those of a network."""
    plugin = ("conf", "plugins", "ml2_conf")
    flat = lookup(neutron, (*plugin, "ml2_type_flat", "flat_networks"))
    vlan = lookup(neutron, (*plugin, "ml2_type_vlan", "network_vlan_ranges"))
    names = {str(one["name"]) for one in networks} | _listed(flat) | _listed(vlan)
    for name in sorted(mapped - names) if networks else ():
        if difflib.get_close_matches(name, names - mapped, n=1, cutoff=_NEAR):
            yield rules.NETWORK_MAPPED_UNKNOWN.at(
                _PATH, name=name, suggestion=suggestion(name, names - mapped)
            )


def _of_agents(neutron: Values, agent: str, option: Path) -> Iterator[tuple[str, set[str]]]:
    """The networks that each set of nodes has in the option: those of all nodes, and of each label."""
    return ((nodes, _mapped(value)) for nodes, value in _labelled(neutron, agent, option))


def _of_ovn(ovn: Values) -> Iterator[tuple[str, set[str]]]:
    return ((nodes, _mapped(value)) for nodes, value in _labelled_ovn(ovn, _OVN))


def _labelled(neutron: Values, agent: str, option: Path) -> Iterator[tuple[str, Any]]:
    """The value for all nodes, whose label is empty, and that of the nodes of each label."""
    default = lookup(neutron, option)
    yield "", default
    for one in lookup(neutron, ("conf", "overrides", f"neutron_{agent}", "labels")) or ():
        label = one.get("label") or {}
        nodes = f"{label.get('key')}::{','.join(map(str, label.get('values') or ()))}"
        yield nodes, lookup(one, option, default)


def _labelled_ovn(ovn: Values, option: Path) -> Iterator[tuple[str, Any]]:
    default = lookup(ovn, option)
    yield "", default
    labels = lookup(ovn, ("overrides", "ovn_controller", "labels"))
    for nodes, one in labels.items() if isinstance(labels, Mapping) else ():
        yield str(nodes), lookup(one, ("values", *option), default)


def _listed(option: Any) -> set[str]:
    """The networks of `blue:100:199,green`, which may be a list as well."""
    parts = option if isinstance(option, list) else str(option or "").split(",")
    return {str(part).partition(":")[0].strip() for part in parts} - {""}


def _mapped(mappings: Any) -> set[str]:
    """The networks of `blue:br-blue,green:br-green`, which may be a list as well."""
    pairs = mappings if isinstance(mappings, list) else str(mappings or "").split(",")
    return {str(pair).partition(":")[0].strip() for pair in pairs if ":" in str(pair)}
