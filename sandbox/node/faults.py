"""What may happen to a real node: its links are cut, its power is switched off.

A cut link has no carrier, as a pulled cable. A node that is started again has its links again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.node.hosts import SIDES, RealNode
from sandbox.node.network import find_network, run_in
from sandbox.node.plan import NodeLayout
from sandbox.paths import Layout


def cut(layout: Layout, node: RealNode, sides: Sequence[str] = SIDES) -> None:
    """Nothing passes the links of the node to these networks until `mend`. Raises SandboxError."""
    _set_links(layout, node, sides, "down")


def mend(layout: Layout, node: RealNode, sides: Sequence[str] = SIDES) -> None:
    """The links of the node to these networks work. Raises SandboxError."""
    _set_links(layout, node, sides, "up")


def _set_links(layout: Layout, node: RealNode, sides: Sequence[str], state: str) -> None:
    network = find_network(layout)
    if network is None:
        raise SandboxError(f"the sandbox in {layout.directory} has no network of nodes that runs")
    for side in sides:
        run_in(network, "ip", "link", "set", node.port(side), state)


def power_off(layout: Layout, node: RealNode) -> None:
    """Ends the node and all that runs in it at once; its disk stays. Returns when nothing of it runs.

    `Sandbox.start_component` with its name among the components switches it on again. Raises SandboxError.
    """
    # The first process before its parent: it is the node.
    for place in (NodeLayout(layout.node_of(node.component)).identity, layout.pid_file(node.component)):
        identity = processes.read_pid_file(place)
        if identity is not None:
            processes.kill_process(identity)
