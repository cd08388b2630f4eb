"""A cluster that was there before us, used through a kubeconfig: nothing is built, started or stopped."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.build import find_binaries
from sandbox.errors import SandboxError
from sandbox.helm import ensure_helm
from sandbox.kubectl import PATIENCE, create_namespace, run_kubectl, write_service_account_kubeconfig


@dataclass(frozen=True)
class ExistingCluster:
    """Offers what `Sandbox` offers for use; its servers cannot be stopped and have no audit log here."""

    kubeconfig: Path
    kubectl_command: Path

    @classmethod
    def open(cls, kubeconfig: str = "") -> ExistingCluster:
        """The cluster of this kubeconfig, or of $KUBECONFIG. Raises SandboxError when it does not answer."""
        named = kubeconfig or os.environ.get("KUBECONFIG", "")
        if not named or not Path(named).is_file():
            raise SandboxError(f'no kubeconfig "{named}": give --existing-cluster=FILE or set KUBECONFIG')
        found = shutil.which("kubectl")
        built = find_binaries()
        if found is None and built is None:
            raise SandboxError("an existing cluster needs kubectl on PATH")
        command = Path(found) if found is not None else built.kubectl if built is not None else Path()
        cluster = cls(Path(named).resolve(), command)
        cluster.kubectl("version", "--output=json")
        return cluster

    @property
    def audit_log(self) -> Path:
        """Not to be had: raises SandboxError."""
        raise SandboxError("an existing cluster's audit log is not readable here")

    @property
    def helm(self) -> Path:
        """The helm command of our pin."""
        return ensure_helm()

    def kubectl(self, *arguments: str, input: str | None = None, timeout: float = PATIENCE) -> str:
        """The output of kubectl. Raises SandboxError with its error text."""
        return run_kubectl(self.kubectl_command, self.kubeconfig, arguments, input, timeout)

    def create_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """A namespace in which pods can be made at once."""
        create_namespace(self.kubectl, name, labels)

    def delete_namespace(self, name: str) -> None:
        """Begins its deletion, and does not wait for its end."""
        self.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        """A kubeconfig in `directory` that is this ServiceAccount: a real token in a `tokenFile`."""
        view = json.loads(self.kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
        return write_service_account_kubeconfig(
            self.kubectl, view["clusters"][0]["cluster"], namespace, name, directory
        )
