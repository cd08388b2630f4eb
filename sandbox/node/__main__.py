"""`python -m sandbox.node SANDBOX-DIRECTORY NUMBER`: one real node, for as long as this process lives.

It starts the first process of the node's namespaces, which the kernel ends with it, and everything in them
with that; it plugs the node into the network, answers whether it works, and makes its persistent volumes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox import processes
from sandbox.api import ApiConnection
from sandbox.errors import ComponentFailed, SandboxError
from sandbox.node import plan
from sandbox.node.cgroups import make_cgroup
from sandbox.node.gateway import NetworkNamespace, listening, serve_health
from sandbox.node.hosts import RealNode
from sandbox.node.network import plug_in
from sandbox.node.prepare import NAMESPACES, end_node
from sandbox.node.volumes import provision
from sandbox.paths import SOURCE, Layout
from sandbox.state import State, read_state

INIT_SECONDS = 30.0
VOLUME_SECONDS = 1.0


@dataclass(frozen=True)
class Init:
    """The process that made the namespaces, and the pid of the first one in them."""

    starter: subprocess.Popen[bytes]
    pid: int


def start_init(files: plan.NodeLayout) -> Init:
    """Makes the namespaces of the node, and starts its first process in them. Raises SandboxError."""
    environment = {key: value for key, value in os.environ.items() if key != processes.OWNER_VARIABLE}
    starter = subprocess.Popen(
        [
            "unshare",
            *NAMESPACES,
            sys.executable,
            "-P",
            str(SOURCE / "node" / "init.py"),
            str(files.plan),
        ],
        stdin=subprocess.DEVNULL,
        env={**environment, "PYTHONPATH": str(SOURCE.parent)},
        preexec_fn=processes.die_with_caller(),  # noqa: PLW1509
    )
    deadline = time.monotonic() + INIT_SECONDS
    children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children")
    while starter.poll() is None and time.monotonic() < deadline:
        found = children.read_text().split()
        if found:
            identity = processes.observe_process(int(found[0]))
            if identity is not None:
                processes.write_pid_file(files.identity, identity)
                return Init(starter, identity.pid)
        time.sleep(0.02)
    raise SandboxError(f"unshare {' '.join(NAMESPACES)} does not start a process here")


async def _watch(starter: subprocess.Popen[bytes], network: processes.ProcessIdentity) -> None:
    while starter.poll() is None:
        if not processes.is_running(network):
            raise SandboxError("the network of the nodes ended, and the links of this node with it")
        await asyncio.sleep(0.5)
    raise SandboxError(f"the node's first process ended with {starter.returncode}")


async def _provision(layout: Layout, state: State, node: RealNode) -> None:
    def work() -> None:
        with ApiConnection(state.ports.apiserver, layout.pki, client="node") as api:
            while True:
                provision(api, plan.NodeLayout(layout.node_of(node.component)).volumes, node.name)
                time.sleep(VOLUME_SECONDS)

    while True:
        try:
            await asyncio.to_thread(work)
        except (ComponentFailed, OSError) as error:
            print(f"volumes: {error}", flush=True)
            await asyncio.sleep(VOLUME_SECONDS)


async def _serve(layout: Layout, state: State, node: RealNode, init: Init) -> None:
    namespace = NetworkNamespace(init.pid)
    checks = [
        (plan.KUBELET_HEALTH_PORT, "/healthz"),
        (plan.PROXY_HEALTH_PORT, "/livez"),
        (plan.DNS_HEALTH_PORT, "/health"),
    ]
    port: int = getattr(state.ports, node.component)
    await serve_health(listening("127.0.0.1", port), namespace, checks)
    network = await asyncio.to_thread(plug_in, layout, node, init.pid)
    await asyncio.gather(_watch(init.starter, network), _provision(layout, state, node))


def main() -> None:
    """Runs a node of the sandbox in the directory that the first argument names; the second counts from 1."""
    layout, node = Layout(Path(sys.argv[1])), RealNode(int(sys.argv[2]))
    state = read_state(layout.state)
    if state is None or state.nodes < node.index:
        sys.exit(f"no sandbox with a real node {node.index} in {layout.directory}")
    try:
        end_node(layout, node)  # of an earlier life, where it was not ended with its parent
        make_cgroup(plan.cgroup_name(layout.directory, node))
        init = start_init(plan.NodeLayout(layout.node_of(node.component)))
        asyncio.run(_serve(layout, state, node, init))
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        # Not by an orderly end: the thread that makes volumes would be waited for.
        os._exit(1)


if __name__ == "__main__":
    main()
