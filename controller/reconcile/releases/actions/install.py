"""Installs a release that is not there."""

from __future__ import annotations

from controller.ports.helm import Cancellation, HelmRequest
from controller.reconcile.releases.action_request import ActionRequest, Done
from controller.reconcile.releases.actions.preparation import call_prepared
from controller.reconcile.releases.parts import ReleasePorts


def install(
    ports: ReleasePorts, request: ActionRequest, helm_request: HelmRequest, cancellation: Cancellation
) -> Done:
    """Gives in words which volumes it keeps. Raises as `call_prepared`."""
    return call_prepared(ports.helm.install, ports, request, helm_request, cancellation=cancellation)
