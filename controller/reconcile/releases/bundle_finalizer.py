"""The finalizer of a HelmBundle: the object stays until all its releases are uninstalled."""

from __future__ import annotations

from controller.ports.kubernetes import HELMBUNDLE
from controller.reconcile.shared.preconditioned_writes import OwnFinalizer

BUNDLE_FINALIZER = OwnFinalizer(HELMBUNDLE, "helmbundle")
