"""The finalizer of an OpenStackDeployment: the object stays until its bundles are gone."""

from __future__ import annotations

from controller.ports.kubernetes import OSDPL
from controller.reconcile.shared.own_finalizer import OwnFinalizer

REGION_FINALIZER = OwnFinalizer(OSDPL, "core")
