"""`python -m sandbox.node.network SANDBOX-DIRECTORY`: the network between the real nodes, and its only exit.

The process is in a network namespace of its own, with one switch for management and one for tunnels. A node
is plugged into both. The management network has the gateway to the API server, and the API server's way to
kubelets and pods. Everything of the network ends with the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.node import plan
from sandbox.node.gateway import (
    NetworkNamespace,
    leave_network,
    listening,
    serve_api,
    serve_egress,
    serve_health,
)
from sandbox.node.hosts import GATEWAY, SIDES, RealNode, real_nodes
from sandbox.paths import Layout
from sandbox.state import State, read_state

NETWORK_SECONDS = 60.0
_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"


def run_in(identity: processes.ProcessIdentity, *command: str) -> None:
    """Runs a command in the network namespace of that process. Raises SandboxError."""
    _run("nsenter", f"--target={identity.pid}", "--net", "--", *command)


def find_network(layout: Layout) -> processes.ProcessIdentity | None:
    """The process that has the network of the sandbox, None where it does not run."""
    identity = processes.read_pid_file(plan.NetworkLayout(layout.network).identity)
    return identity if identity is not None and processes.is_running(identity) else None


def wait_network(layout: Layout) -> processes.ProcessIdentity:
    """The same, which may be starting just now. Raises SandboxError."""
    deadline = time.monotonic() + NETWORK_SECONDS
    while time.monotonic() < deadline:
        found = find_network(layout)
        if found is not None:
            return found
        time.sleep(0.05)
    raise SandboxError("the network of the nodes does not start; see the log of network")


def plug_in(layout: Layout, node: RealNode, init: int) -> processes.ProcessIdentity:
    """Gives the node, whose first process is `init`, a link to each switch; tells whose network it is.

    Raises SandboxError.
    """
    network = wait_network(layout)
    for side, link in zip(SIDES, node.links(), strict=True):
        port = node.port(side)
        # The kernel takes away the link of an earlier life a moment after its node.
        with contextlib.suppress(SandboxError):
            run_in(network, "ip", "link", "delete", port)
        run_in(
            network,
            *("ip", "link", "add", "name", port, "type", "veth"),
            *("peer", "name", link, "netns", str(init)),
        )
        run_in(network, "ip", "link", "set", port, "master", side, "up")
    return network


def _run(*command: str) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": _PATH})
    if answer.returncode != 0:
        raise SandboxError(f"{' '.join(command)}: {answer.stderr.strip()}")


def make_switches(nodes: int) -> None:
    """The switches in the namespace of this process, and its routes to the pods of all nodes."""
    _run("ip", "link", "set", "lo", "up")
    for side in SIDES:
        _run("ip", "link", "add", "name", side, "type", "bridge")
        _run("ip", "link", "set", side, "up")
    _run("ip", "address", "add", f"{GATEWAY}/24", "dev", "management")
    for node in real_nodes(nodes):
        _run("ip", "route", "add", node.pod_range, "via", node.address)


async def _serve(layout: Layout, state: State, machine: NetworkNamespace) -> None:
    network = plan.NetworkLayout(layout.network)
    await serve_api(listening(GATEWAY, plan.API_PORT), state.ports.apiserver, machine)
    await serve_egress(network.egress)
    await serve_health(listening("127.0.0.1", state.ports.network, machine))
    identity = processes.observe_process(os.getpid())
    assert identity is not None  # noqa: S101  (it is this process)
    processes.write_pid_file(network.identity, identity)
    await asyncio.Event().wait()


def main() -> None:
    """Has the network of the sandbox in the directory that the first argument names."""
    layout = Layout(Path(sys.argv[1]))
    state = read_state(layout.state)
    if state is None or not state.real:
        sys.exit(f"no sandbox with a real node in {layout.directory}")
    try:
        machine = NetworkNamespace(os.getpid())
        leave_network()
        make_switches(state.nodes)
        asyncio.run(_serve(layout, state, machine))
    except (SandboxError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
