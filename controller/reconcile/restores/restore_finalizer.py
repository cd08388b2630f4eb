"""The finalizer of a RegionRestore: the object stays until its restore is over or undone."""

from __future__ import annotations

from controller.ports.kubernetes import RESTORE
from controller.reconcile.shared.own_finalizer import OwnFinalizer

RESTORE_FINALIZER = OwnFinalizer(RESTORE, "core")
