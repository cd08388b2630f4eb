"""Directories of the sandbox, by the XDG base directory rules."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError

PRODUCT = "openstack-controller"
SOURCE = Path(__file__).resolve().parent
NAME_PATTERN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")


def cache_root() -> Path:
    """What can be made again: binaries and the Go wheel.

    Raises SandboxError where the home directory cannot be written and the place beside it is not ours.
    """
    base = os.environ.get("XDG_CACHE_HOME") or ""
    if base.startswith("/"):
        return Path(base) / PRODUCT
    home = Path.home() / ".cache" / PRODUCT
    return home if is_writable(home) else _temporary_root()


def is_writable(path: Path) -> bool:
    """Whether this process may make or change it."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.access(path, os.W_OK | os.X_OK)


def _temporary_root() -> Path:
    """In the temporary directory, where others write too: made by us, and readable by us alone."""
    root = Path(tempfile.gettempdir()) / f"{PRODUCT}-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SandboxError(
            f"{root} is not this user's own directory, and the home directory cannot be written: "
            "set XDG_CACHE_HOME to a directory of your own"
        )
    return root


def state_root() -> Path:
    """Where sandboxes live that are given no directory of their own."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    root = Path(base) / PRODUCT if base.startswith("/") else cache_root()
    return root / "sandboxes"


def sandbox_directory(name: str, directory: Path | None = None) -> Path:
    """The absolute directory of the sandbox `name`. Raises SandboxError on a name that is no DNS label."""
    if not NAME_PATTERN.fullmatch(name):
        raise SandboxError(
            f'"{name}" cannot name a sandbox: use up to 63 lower-case letters, digits, "-" and "."'
        )
    return (directory if directory is not None else state_root() / name).expanduser().resolve()


@dataclass(frozen=True)
class Layout:
    """The files of one sandbox, all under `directory`."""

    directory: Path

    @property
    def lock(self) -> Path:
        """Beside the directory, for `down` removes the directory while it holds the lock."""
        return self.directory.with_name(f".{self.directory.name}.lock")

    @property
    def state(self) -> Path:
        return self.directory / "sandbox.json"

    @property
    def complete(self) -> Path:
        """There once the nodes and storage classes have been made."""
        return self.directory / "complete"

    @property
    def pki(self) -> Path:
        return self.directory / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def stages(self) -> Path:
        return self.directory / "stages"

    @property
    def etcd(self) -> Path:
        return self.directory / "etcd"

    @property
    def audit_log(self) -> Path:
        return self.directory / "audit" / "audit.log"

    @property
    def node(self) -> Path:
        """The files of the first real node."""
        return self.node_of("node")

    def node_of(self, component: str) -> Path:
        """The files of the real node that has that name among the components."""
        return self.directory / component

    @property
    def network(self) -> Path:
        """The files of the network between real nodes."""
        return self.directory / "network"

    @property
    def shared(self) -> Path:
        """The directory that all real nodes have, as storage that they share."""
        return self.directory / "shared"

    @property
    def egress_configuration(self) -> Path:
        """How the API server reaches the real nodes."""
        return self.directory / "egress.yaml"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    def log(self, component: str) -> Path:
        """The output of a component, all its starts one after the other."""
        return self.logs / f"{component}.log"

    def pid_file(self, component: str) -> Path:
        return self.directory / "pids" / f"{component}.json"

    def client_kubeconfig(self, client: str) -> Path:
        """The kubeconfig of a component; `kubeconfig` is the one for people."""
        return self.kubeconfig if client == "admin" else self.pki / f"{client}.kubeconfig"
