"""Upgrades a release to what its spec asks for."""

from __future__ import annotations

from controller.ports.helm import Cancellation, HelmRequest
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.preparation import (
    before_helm,
    make_way,
    owners_told,
    what_helm_sends,
)
from controller.reconcile.releases.ports import ReleasePorts


def upgrade(
    ports: ReleasePorts, request: ActionRequest, helm_request: HelmRequest, cancellation: Cancellation
) -> str:
    """Gives in words which volumes it keeps. Raises ObjectsTaken, FieldsFixed, HelmFailed, also as
    HelmCancelled, and KubeError."""
    before = before_helm(ports, request)
    rendered = what_helm_sends(ports, helm_request, before)
    kept = make_way(ports, request, rendered, before, cancellation)
    with owners_told(ports, request, helm_request):
        ports.helm.upgrade(helm_request, cancellation)
    return kept
