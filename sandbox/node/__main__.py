"""`python -m sandbox.node SANDBOX-DIRECTORY`: one real node, for as long as this process lives.

It starts the first process of the node's namespaces, which the kernel ends with it, and everything in them
with that; it is the gateway between the networks, and makes persistent volumes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from sandbox import processes
from sandbox.api import ApiConnection
from sandbox.errors import ComponentFailed, SandboxError
from sandbox.node import plan
from sandbox.node.cgroups import make_cgroup
from sandbox.node.gateway import NetworkNamespace, serve_api, serve_egress, serve_health
from sandbox.node.prepare import NAMESPACES, end_node
from sandbox.node.volumes import provision
from sandbox.paths import SOURCE, Layout
from sandbox.state import State, read_state

INIT_SECONDS = 30.0
VOLUME_SECONDS = 1.0


def start_init(layout: Layout) -> tuple[subprocess.Popen[bytes], int]:
    """The process that made the namespaces, and the pid of the first one in them. Raises SandboxError."""
    environment = {key: value for key, value in os.environ.items() if key != processes.OWNER_VARIABLE}
    starter = subprocess.Popen(
        [
            "unshare",
            *NAMESPACES,
            sys.executable,
            "-P",
            str(SOURCE / "node" / "init.py"),
            str(plan_file(layout)),
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
                processes.write_pid_file(plan.NodeLayout(layout.node).identity, identity)
                return starter, identity.pid
        time.sleep(0.02)
    raise SandboxError(f"unshare {' '.join(NAMESPACES)} does not start a process here")


def plan_file(layout: Layout) -> Path:
    """The arguments of the first process."""
    return layout.node / "plan.json"


async def _watch(starter: subprocess.Popen[bytes]) -> None:
    while starter.poll() is None:
        await asyncio.sleep(0.5)
    raise SandboxError(f"the node's first process ended with {starter.returncode}")


async def _provision(layout: Layout, state: State) -> None:
    def work() -> None:
        with ApiConnection(state.ports.apiserver, layout.pki, client="node") as api:
            while True:
                provision(api, plan.NodeLayout(layout.node).volumes)
                time.sleep(VOLUME_SECONDS)

    while True:
        try:
            await asyncio.to_thread(work)
        except (ComponentFailed, OSError) as error:
            print(f"volumes: {error}", flush=True)
            await asyncio.sleep(VOLUME_SECONDS)


async def _serve(layout: Layout, state: State, starter: subprocess.Popen[bytes], init: int) -> None:
    namespace = NetworkNamespace(init)
    checks = [
        (plan.KUBELET_HEALTH_PORT, "/healthz"),
        (plan.PROXY_HEALTH_PORT, "/livez"),
        (plan.DNS_HEALTH_PORT, "/health"),
    ]
    await serve_api(namespace, plan.API_PORT, state.ports.apiserver)
    await serve_egress(namespace, plan.NodeLayout(layout.node).egress)
    await serve_health(state.ports.node, namespace, checks)
    await asyncio.gather(_watch(starter), _provision(layout, state))


def main() -> None:
    """Runs the node of the sandbox in the directory that the first argument names."""
    layout = Layout(Path(sys.argv[1]))
    state = read_state(layout.state)
    if state is None or not state.real:
        sys.exit(f"no sandbox with a real node in {layout.directory}")
    try:
        end_node(layout)  # of an earlier life, where it was not ended with its parent
        make_cgroup(plan.cgroup_name(layout.directory))
        starter, init = start_init(layout)
        asyncio.run(_serve(layout, state, starter, init))
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        # Not by an orderly end: the thread that makes volumes would be waited for.
        os._exit(1)


if __name__ == "__main__":
    main()
