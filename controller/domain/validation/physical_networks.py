"""Physical networks that no node, or not every node that serves them, has a bridge for. Pure.

An agent of ml2/ovs serves only networks in its `bridge_mappings`; those for addresses and routers run on the
control nodes, so one set of nodes has to have all of them (neutron, `check_segment_for_agent` of the
driver openvswitch). With ml2/ovn routers are put on gateways whose `ovn-bridge-mappings` have the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.api.spec_rules import features as rules
from controller.domain.values.chart_values import Path, Values, lookup
from controller.errors import Problem

_PATH = "spec.features.networking.externalNetworks"
_OVS = ("conf", "plugins", "openvswitch_agent", "ovs", "bridge_mappings")
_OVN = ("conf", "ovn_bridge_mappings")
_CARDS = ("conf", "plugins", "sriov_agent", "sriov_nic", "physical_device_mappings")
_SEE = "(docs/networks.md)"


def unbridged_networks(
    networks: Sequence[Mapping[str, Any]], neutron: Values, ovn: Values | None
) -> Iterator[Problem]:
    """Warnings of the region's physical networks. `ovn`: the values of that release, None with ml2/ovs.

    Servers reach a network of cards (SR-IOV) without a bridge, so such a network gives no problem."""
    sets = list(_of_agents(neutron, "ovs-agent", _OVS) if ovn is None else _of_ovn(ovn))
    cards = set().union(*_of_agents(neutron, "sriov-agent", _CARDS)).difference(*sets)
    names = [name for one in networks if (name := one["name"]) not in cards]
    nowhere = [name for name in names if not any(name in mapped for mapped in sets)]
    if nowhere:
        key = ".".join(_OVS if ovn is None else _OVN)
        yield rules.NETWORK_ON_NO_NODE.at(_PATH, nowhere=", ".join(nowhere), key=key)
    elif names and ovn is None and not any(set(names) <= mapped for mapped in sets):
        yield rules.NETWORK_ON_NO_CONTROL_NODE.at(_PATH, names=", ".join(names))


def _of_agents(neutron: Values, agent: str, option: Path) -> Iterator[set[str]]:
    """The networks that each set of nodes has in the option: those of all nodes, and of each label."""
    default = lookup(neutron, option)
    yield _mapped(default)
    for label in lookup(neutron, ("conf", "overrides", f"neutron_{agent}", "labels")) or ():
        yield _mapped(lookup(label, option, default))


def _of_ovn(ovn: Values) -> Iterator[set[str]]:
    default = lookup(ovn, _OVN)
    yield _mapped(default)
    labels = lookup(ovn, ("overrides", "ovn_controller", "labels"))
    for label in labels.values() if isinstance(labels, Mapping) else ():
        yield _mapped(lookup(label, ("values", *_OVN), default))


def _mapped(mappings: Any) -> set[str]:
    """The networks of `blue:br-blue,green:br-green`, which may be a list as well."""
    pairs = mappings if isinstance(mappings, list) else str(mappings or "").split(",")
    return {str(pair).partition(":")[0].strip() for pair in pairs if ":" in str(pair)}
