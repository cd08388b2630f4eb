"""Work on a cluster through kubectl, the same for a sandbox and for an existing cluster."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from sandbox.errors import SandboxError
from sandbox.patience import Patience, patient

TOKEN_SECONDS = 24 * 3600
# As long as anything may take on a machine that does much else.
PATIENCE = 600.0
# What is said where no answer came in time, of a machine that stood still: asked again, it is answered.
_UNANSWERED = ("TLS handshake timeout", "etcdserver: request timed out", "etcdserver: leader changed")
_ASK_AGAIN_AFTER = 1.0


class Kubectl(Protocol):
    """A kubectl bound to one cluster."""

    def __call__(self, *arguments: str, input: str | None = None, timeout: float = PATIENCE) -> str:
        """Its output; raises SandboxError with its error text."""
        ...


def run_kubectl(
    command: Path, kubeconfig: Path, arguments: Sequence[str], input: str | None, timeout: float
) -> str:
    """The output of kubectl. Raises SandboxError with what it printed on stderr, or at the timeout.

    What the API server was too slow for is asked again; but what creates may have done so.
    """
    patience = Patience(timeout)
    while True:
        try:
            return _run_once(command, kubeconfig, arguments, input, timeout)
        except SandboxError as error:
            unanswered = any(text in str(error) for text in _UNANSWERED) and "create" not in arguments
            if not unanswered or patience.is_over():
                raise
            time.sleep(_ASK_AGAIN_AFTER)


def _run_once(
    command: Path, kubeconfig: Path, arguments: Sequence[str], input: str | None, timeout: float
) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    try:
        answer = subprocess.run(
            [command, "--kubeconfig", str(kubeconfig), *arguments],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=patient(timeout),
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"kubectl {arguments[0]} did not end within {timeout:.0f} s") from error
    except OSError as error:
        raise SandboxError(f"cannot run {command}: {error.strerror}") from error
    if answer.returncode != 0:
        raise SandboxError(f"kubectl {' '.join(arguments)}: {answer.stderr.strip()}")
    return answer.stdout


def create_namespace(kubectl: Kubectl, name: str, labels: Mapping[str, str]) -> None:
    """Creates a namespace and waits for its default ServiceAccount, without which no pod is admitted."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}
    kubectl("create", "-f", "-", input=json.dumps(namespace))
    kubectl(
        "wait",
        "--for=create",
        "serviceaccount/default",
        "--namespace",
        name,
        f"--timeout={patient(120):.0f}s",
    )


def write_kubeconfig(path: Path, cluster: Mapping[str, Any], user: Mapping[str, Any], name: str) -> None:
    """A kubeconfig (JSON is YAML) of one cluster and one user, readable by its owner only; one step."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(path)


def write_service_account_kubeconfig(
    kubectl: Kubectl, cluster: Mapping[str, Any], namespace: str, name: str, directory: Path
) -> Path:
    """A kubeconfig that is this ServiceAccount; its token, valid a day, lies in a `tokenFile` beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    token = kubectl("create", "token", name, "--namespace", namespace, f"--duration={TOKEN_SECONDS}s")
    token_file = directory.resolve() / f"{namespace}-{name}.token"
    draft = token_file.with_name(f".{token_file.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(token.strip())
    draft.replace(token_file)
    path = directory / f"{namespace}-{name}.kubeconfig"
    write_kubeconfig(path, cluster, {"tokenFile": str(token_file)}, f"{namespace}-{name}")
    return path
