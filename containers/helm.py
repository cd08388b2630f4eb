"""Which of the two Helm adapters a container acts with: the library, or the program that a setting names."""

from __future__ import annotations

import os
from pathlib import Path

from controller.adapters.helm.cli import CliClient, program_version
from controller.ports.helm import HelmClient
from controller.ports.kubernetes import Kube
from controller.settings import SettingInvalid, Settings

LEAST_VERSION = "v4."


def helm_client(settings: Settings, kube: Kube, kubeconfig: Path | None) -> HelmClient:
    """Helm on the cluster of `kubeconfig` (None: KUBECONFIG, or the pod's service account).

    Raises SettingInvalid when HELM_BINARY names no Helm 4.
    """
    burst = int(2 * settings.qps)
    if settings.helm_binary is None:
        # Loads a hundred megabytes of library, which the program does not need.
        from controller.adapters.helm.sdk import SdkClient

        return SdkClient(
            kube,
            kubeconfig,
            qps=settings.qps,
            burst=burst,
            max_history=settings.history,
            service_account=settings.charts_service_account,
        )
    _require_helm_4(settings.helm_binary)
    return CliClient(
        settings.helm_binary,
        kubeconfig,
        qps=settings.qps,
        burst=burst,
        max_history=settings.history,
        service_account=settings.charts_service_account,
    )


def _require_helm_4(binary: Path) -> None:
    if not (binary.is_file() and os.access(binary, os.X_OK)):
        raise SettingInvalid(f'HELM_BINARY: "{binary}" is not a program that can be run')
    version = program_version(binary)
    if not version.startswith(LEAST_VERSION):
        raise SettingInvalid(f'HELM_BINARY: "{binary}" is not Helm 4: its version is {version or "unknown"}')
