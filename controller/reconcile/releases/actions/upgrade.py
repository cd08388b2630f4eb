"""Upgrades a release to what its spec asks for."""

from __future__ import annotations

from controller.ports.helm import Cancellation, HelmRequest
from controller.reconcile.releases.action_request import ActionRequest, Done
from controller.reconcile.releases.actions.preparation import call_prepared
from controller.reconcile.releases.actions.take_over import take_over
from controller.reconcile.releases.parts import ReleasePorts


def upgrade(
    ports: ReleasePorts, request: ActionRequest, helm_request: HelmRequest, cancellation: Cancellation
) -> Done:
    """Gives in words which volumes it keeps, and whether that was all. Raises as `call_prepared`.

    A release of others that runs as desired is only taken over.
    """
    taken = take_over(ports, request, helm_request)
    if taken is not None:
        return taken
    return call_prepared(ports.helm.upgrade, ports, request, helm_request, cancellation=cancellation)
