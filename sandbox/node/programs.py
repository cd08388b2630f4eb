"""The programs of a real node, each group a pinned Go module, built once and cached by hash."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.build import LINKER_FLAGS
from sandbox.debian import unpack_packages
from sandbox.errors import SandboxError
from sandbox.go_modules import LOCK_SECONDS, GoModule, Report, ensure_module
from sandbox.locks import locked
from sandbox.paths import SOURCE, cache_root

MODULES = SOURCE / "node" / "programs"
_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
_PLUGINS = "github.com/containernetworking/plugins/plugins"
SECCOMP_PACKAGE = "libseccomp-dev"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class NodePrograms:
    """Directories. `containers` holds containerd, its shim, ctr and the plugins of the pod network."""

    containers: Path
    runc: Path
    kubernetes: Path
    coredns: Path


CONTAINERS = GoModule(
    "containerd",
    MODULES / "containerd",
    (
        f"{_CONTAINERD}/containerd",
        f"{_CONTAINERD}/containerd-shim-runc-v2",
        f"{_CONTAINERD}/ctr",
        f"{_PLUGINS}/ipam/host-local",
        f"{_PLUGINS}/main/loopback",
        f"{_PLUGINS}/main/ptp",
        f"{_PLUGINS}/meta/portmap",
    ),
)
KUBERNETES = GoModule("kubelet", MODULES / "kubelet", ("osctl.dev/sandbox/kubelet",), LINKER_FLAGS)
COREDNS = GoModule("coredns", MODULES / "coredns", ("osctl.dev/sandbox/coredns",))


def _runc(libraries: Path) -> GoModule:
    """runc is C in part; without libseccomp it refuses every pod that names a seccomp profile."""
    return GoModule(
        "runc",
        MODULES / "runc",
        ("github.com/opencontainers/runc",),
        "-s -w -linkmode external -extldflags -static",
        tags="seccomp netgo osusergo",
        environment={
            "CGO_ENABLED": "1",
            # What pkg-config would say is said here, of libraries that lie in the cache.
            "PKG_CONFIG": shutil.which("true") or "/bin/true",
            "CGO_CFLAGS": f"-I{libraries}/usr/include",
            "CGO_LDFLAGS": f"-L{libraries}/usr/lib/{platform.machine()}-linux-gnu -lseccomp",
        },
    )


def ensure_node_programs(report: Report, tell: Tell) -> NodePrograms:
    """The programs, built first where the cache lacks them (minutes, once). Raises SandboxError."""
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        raise SandboxError("runc is C in part, and there is no C compiler: install gcc and libc6-dev")
    libraries = _ensure_seccomp(tell)
    return NodePrograms(
        containers=ensure_module(CONTAINERS, report) / "bin",
        runc=ensure_module(_runc(libraries), report) / "bin",
        kubernetes=ensure_module(KUBERNETES, report) / "bin",
        coredns=ensure_module(COREDNS, report) / "bin",
    )


def _ensure_seccomp(tell: Tell) -> Path:
    """A directory with libseccomp to link against; empty where the machine has installed it."""
    target = cache_root() / "packages" / SECCOMP_PACKAGE
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(f".{target.name}.lock"), timeout=LOCK_SECONDS):
        if not target.exists():
            tell(f"fetching {SECCOMP_PACKAGE} with apt (once; nothing is installed)")
            draft = target.with_name(f".{target.name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            unpack_packages((SECCOMP_PACKAGE,), lambda name: name == SECCOMP_PACKAGE, draft)
            draft.rename(target)
    return target
