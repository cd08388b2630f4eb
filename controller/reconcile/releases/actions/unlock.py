"""Unlocks a release whose newest revision a dead writer has left pending: it is marked failed.

Which one that is decides `domain/releases/release_state.py` (Locked).
"""

from __future__ import annotations

from controller.ports.helm import ReleaseRecords
from controller.reconcile.releases.action_request import ActionRequest


def unlock(records: ReleaseRecords, request: ActionRequest) -> None:
    """One conditional write: over before it could be cancelled. Raises HelmFailed and KubeError."""
    records.mark_failed(request.release, request.namespace, request.version, "the writer was interrupted")
