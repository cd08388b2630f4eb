"""Corrects objects of a release that others have changed: they are then as in its manifest again."""

from __future__ import annotations

from controller.errors import DriftRefused
from controller.ports.helm import Cancellation
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.drift.watch import DriftWatch


def correct(drift: DriftWatch, request: ActionRequest, cancellation: Cancellation) -> str:
    """Gives in words which. Raises DriftRefused where some could not be corrected, HelmFailed, also as
    HelmCancelled, and KubeError."""
    correction = drift.correct(request.key, request.version, cancellation)
    if correction.remaining:
        raise DriftRefused("; ".join(str(one) for one in correction.remaining))
    return str(correction)
