"""The real nodes that a sandbox may have: their names, addresses and roles. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.certificates import REAL_NODES
from sandbox.profiles import COMPUTE_LABELS, CONTROL_LABELS

GATEWAY = "10.200.0.1"
"""In the management network: the API server, as the nodes reach it."""

MOST_NODES = len(REAL_NODES)

SIDES = ("management", "tunnel")
"""The networks between the nodes. Each is a switch, and each node has a link to it."""


@dataclass(frozen=True)
class RealNode:
    """One node: the first has every role, the others only run guests. `index` counts from 1."""

    index: int

    @property
    def name(self) -> str:
        """Its name in Kubernetes."""
        return REAL_NODES[self.index - 1]

    @property
    def component(self) -> str:
        """Its name among the processes of the sandbox."""
        return "node" if self.index == 1 else f"node{self.index}"

    @property
    def address(self) -> str:
        """In the management network: that of its kubelet."""
        return f"10.200.0.{self.index + 1}"

    @property
    def tunnel_address(self) -> str:
        """In the tunnel network, which carries packets between guests."""
        return f"10.201.0.{self.index + 1}"

    @property
    def pod_range(self) -> str:
        """The addresses of its pods."""
        return f"10.244.{16 * self.index}.0/20"

    @property
    def labels(self) -> tuple[str, ...]:
        roles = CONTROL_LABELS + COMPUTE_LABELS if self.index == 1 else COMPUTE_LABELS
        return tuple(dict.fromkeys(roles))

    def links(self) -> dict[str, str]:
        """Its address with the length of its network, by the name of the link in the node."""
        return {"eth0": f"{self.address}/24", "eth1": f"{self.tunnel_address}/24"}

    def port(self, side: str) -> str:
        """The name of the other end of its link, at the switch of that side."""
        return f"{side[:6]}{self.index}"


def real_nodes(count: int) -> tuple[RealNode, ...]:
    """The nodes of a sandbox that has `count` of them."""
    return tuple(RealNode(index) for index in range(1, count + 1))
