"""What must be there before real nodes start: a machine that can have them, programs, and their files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.go_modules import Report
from sandbox.images.recipes import BASE, NODE
from sandbox.images.stages import ensure_stage
from sandbox.node import plan
from sandbox.node.cgroups import missing_controllers, remove_cgroup
from sandbox.node.hosts import GATEWAY, RealNode, real_nodes
from sandbox.node.init import InitPlan
from sandbox.node.programs import NodePrograms, ensure_node_programs
from sandbox.paths import Layout

TOOLS = ("unshare", "nsenter", "mount", "umount", "pivot_root", "ip", "hostname", "apt-get", "dpkg-deb")
NAMESPACES = ("--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL")
_LINKS = "ip link add one type veth peer name other && ip link add switch type bridge"
MOST_PATH = 100
"""Bytes of the path of a Unix socket, which the kernel limits to 107."""

Tell = Callable[[str], None]


def check_machine(layout: Layout) -> None:
    """Raises SandboxError, naming everything at once that keeps this machine from running a real node."""
    problems = list(_problems(layout))
    if problems:
        raise SandboxError(
            "a real node cannot run here:\n" + "\n".join(f"  - {problem}" for problem in problems)
        )


def _problems(layout: Layout) -> list[str]:
    if not sys.platform.startswith("linux"):
        return ["it needs Linux"]
    if os.geteuid() != 0:
        return ["it needs root: namespaces, mounts and control groups are made"]
    problems = [
        f"there is no command {tool}" for tool in TOOLS if shutil.which(tool, path=_command_path()) is None
    ]
    lacking = missing_controllers()
    if lacking:
        problems.append(f"/sys/fs/cgroup has no controller {', '.join(lacking)} for groups of our own")
    if not problems:
        answer = subprocess.run(
            ["unshare", *NAMESPACES, "sh", "-c", _LINKS],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "PATH": _command_path()},
        )
        if answer.returncode != 0:
            problems.append(
                f"no namespace with links and a bridge of its own can be made: {answer.stderr.strip()}"
            )
    if "overlay" not in Path("/proc/filesystems").read_text():
        problems.append("the kernel has no overlay file system")
    socket = str(plan.NetworkLayout(layout.network).egress)
    if len(socket) > MOST_PATH:
        problems.append(f"the path {socket} is too long for a socket: give a shorter --dir")
    return problems


def _command_path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"


def prepare_nodes(layout: Layout, count: int, ranges: tuple[str, str], report: Report, tell: Tell) -> None:
    """Builds what is not built, and writes all files that the nodes start from.

    `ranges`: the addresses of pods and of Services. Raises SandboxError.
    """
    programs = ensure_node_programs(report, tell)
    for stage in (BASE, NODE):
        ensure_stage(stage, tell)
    network = plan.NetworkLayout(layout.network)
    for place in (network.directory, layout.shared):
        place.mkdir(parents=True, exist_ok=True)
    layout.egress_configuration.write_text(plan.egress_configuration(network.egress))
    nodes = real_nodes(count)
    for node in nodes:
        _prepare_node(layout, node, nodes, ranges, programs)


def _prepare_node(
    layout: Layout,
    node: RealNode,
    nodes: Sequence[RealNode],
    ranges: tuple[str, str],
    programs: NodePrograms,
) -> None:
    files = plan.NodeLayout(layout.node_of(node.component))
    places = (files.root, files.changes, files.work, files.kubelet, files.containerd, files.volumes)
    for place in (*places, _logs(layout, node)):
        place.mkdir(parents=True, exist_ok=True)
    cgroup = plan.cgroup_name(layout.directory, node)
    for name, content in plan.configuration_files(cgroup, node, nodes, ranges).items():
        path = files.configuration / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != content:
            # A kube-proxy that runs ends when its file is written, also where it says the same.
            path.write_text(content)
    files.plan.write_text(json.dumps(asdict(_init_plan(layout, node, nodes, programs))))


def _logs(layout: Layout, node: RealNode) -> Path:
    """The directory of its logs. Those of the first node are beside those of the control plane."""
    return layout.logs if node == plan.FIRST else layout.logs / node.component


def _init_plan(layout: Layout, node: RealNode, nodes: Sequence[RealNode], programs: NodePrograms) -> InitPlan:
    files = plan.NodeLayout(layout.node_of(node.component))
    inside = str(plan.INSIDE)
    # Directories: runc looks at the one that it is in, and would not see a file that is mounted there.
    binds = {
        f"{inside}/configuration": files.configuration,
        f"{inside}/pki": layout.pki,
        f"{inside}/logs": _logs(layout, node),
        f"{inside}/containers": programs.containers,
        f"{inside}/runc": programs.runc,
        f"{inside}/kubelet": programs.kubernetes,
        f"{inside}/coredns": programs.coredns,
        "/var/lib/kubelet": files.kubelet,
        "/var/lib/containerd": files.containerd,
        plan.VOLUMES: files.volumes,
        plan.SHARED: layout.shared,
        "/etc/resolv.conf": files.configuration / "resolv.conf",
        "/etc/hosts": files.configuration / "hosts",
    }
    return InitPlan(
        hostname=node.name,
        lower=[str(NODE.tree), str(BASE.tree)],
        changes=str(files.changes),
        work=str(files.work),
        root=str(files.root),
        binds={target: str(source) for target, source in binds.items()},
        own_sysctls=plan.SYSCTLS,
        links=node.links(),
        routes={"default": GATEWAY, **{one.pod_range: one.address for one in nodes if one != node}},
        path=f"{inside}/containers:{inside}/runc",
        commands=plan.commands(node),
        before_restart=plan.before_restart(),
    )


def end_node(layout: Layout, node: RealNode) -> None:
    """Ends what may be left of a node whose own process was ended, and removes its control groups."""
    identity = processes.read_pid_file(plan.NodeLayout(layout.node_of(node.component)).identity)
    if identity is not None:
        processes.kill_process(identity)
    remove_cgroup(plan.cgroup_name(layout.directory, node))
