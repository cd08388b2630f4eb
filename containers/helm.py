"""Helm as a container acts with it."""

from __future__ import annotations

from pathlib import Path

from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.process_bounds import HelmLimits
from controller.adapters.helm.program import ProgramMissing, find_program, require_worker
from controller.ports.helm import HelmClient
from controller.ports.kubernetes import Kube
from controller.settings import SettingInvalid, Settings


def helm_client(settings: Settings, kube: Kube, kubeconfig: Path | None) -> HelmClient:
    """Helm on the cluster of `kubeconfig` (None: KUBECONFIG, or the pod's service account).

    Raises SettingInvalid if our Helm program is missing.
    """
    try:
        program = find_program(settings.helm_binary)
        require_worker(program)
    except ProgramMissing as error:
        raise SettingInvalid(str(error)) from None
    limits = HelmLimits(
        qps=settings.qps,
        burst=int(2 * settings.qps),
        memory=settings.helm_memory,
        together=settings.helm_memory_together,
        history=settings.history,
    )
    return HelmProgram(
        kube, program, kubeconfig, limits=limits, service_account=settings.charts_service_account
    )
