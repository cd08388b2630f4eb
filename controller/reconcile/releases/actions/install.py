"""Installs a release that is not there."""

from __future__ import annotations

from controller.ports.helm import Cancellation, HelmRequest
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.preparation import delete_hooks_of_before, keep_volumes
from controller.reconcile.releases.ports import ReleasePorts


def install(
    ports: ReleasePorts, request: ActionRequest, helm_request: HelmRequest, cancellation: Cancellation
) -> str:
    """Gives in words which volumes it keeps. Raises HelmFailed, also as HelmCancelled, and KubeError."""
    rendered = ports.helm.render(helm_request)
    kept = keep_volumes(ports, request, rendered, helm_request)
    # A release whose records are lost may have left runs of its hooks.
    delete_hooks_of_before(ports, request, rendered, cancellation)
    ports.helm.install(helm_request, cancellation)
    return kept
