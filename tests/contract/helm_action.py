"""One Helm action in a process of its own, for tests that kill it: HELM KUBECONFIG NAMESPACE."""

from __future__ import annotations

import sys
from pathlib import Path

from containers.helm import helm_client
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.ports.helm import HelmRequest
from controller.settings import read_settings


def main() -> None:
    helm, kubeconfig, namespace = sys.argv[1:4]
    path = Path(kubeconfig)
    settings = read_settings({"HELM_BINARY": helm})
    client = helm_client(settings, PykubeClient(connect(path)), path)
    values = {
        "hook": {"events": "post-install,post-upgrade", "outcome": "job-hangs"},
        "secret": {"password": "sw0rdfish-planted"},
    }
    chart = Path(__file__).parent / "charts" / "small"
    client.install(HelmRequest("web", namespace, str(chart), values, timeout=300))


if __name__ == "__main__":
    main()
