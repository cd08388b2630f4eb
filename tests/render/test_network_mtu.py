"""The size of packets of a network is the one that its field says; tunnels keep that of their networks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.render.region import core_spec, render


def sizes(**networking: Any) -> tuple[int, int, str]:
    """What is written of all networks, of tunnels, and of each network."""
    release = render(core_spec(features={"networking": networking})).release("neutron")
    assert release is not None
    conf = release.spec.values["conf"]
    ml2 = conf["plugins"]["ml2_conf"]["ml2"]
    return conf["neutron"]["DEFAULT"]["global_physnet_mtu"], ml2["path_mtu"], ml2["physical_network_mtus"]


def mtu_of(network: str, **networking: Any) -> int:
    """As Neutron takes it for a flat or VLAN network: the least of both."""
    every, _, each = sizes(**networking)
    own = dict(pair.split(":") for pair in each.split(",") if pair)
    return min(every, int(own.get(network, every)))


EDGE = {"name": "edge", "bridge": "br-edge", "interface": "bond1", "mtu": 9000}
PLAIN = {"name": "plain", "bridge": "br-plain", "interface": "bond2"}


def test_a_network_above_the_size_of_the_others_has_its_own_and_the_others_theirs() -> None:
    networks = [EDGE, PLAIN]
    assert sizes(externalNetworks=networks) == (9000, 1500, "edge:9000,plain:1500")
    assert mtu_of("edge", externalNetworks=networks) == 9000
    assert mtu_of("plain", externalNetworks=networks) == 1500


@pytest.mark.slow
def test_a_network_below_the_size_of_the_others_has_its_own() -> None:
    networks = [{**EDGE, "mtu": 1400}, PLAIN]
    assert sizes(externalNetworks=networks, physicalNetworkMTU=1500) == (1500, 1500, "edge:1400")
    assert mtu_of("edge", externalNetworks=networks) == 1400
