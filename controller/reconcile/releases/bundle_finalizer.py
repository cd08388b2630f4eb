"""The finalizer of a HelmBundle: the object stays until all its releases are uninstalled.

It also goes where the namespace ends and our rights have gone first: then nothing can be uninstalled.
"""

from __future__ import annotations

from controller.ports.kubernetes import HELMBUNDLE, Kube
from controller.reconcile.shared.managed_region import is_ending
from controller.reconcile.shared.own_finalizer import OwnFinalizer

BUNDLE_FINALIZER = OwnFinalizer(HELMBUNDLE, "helmbundle")


def may_go(*, deleting: bool, remaining: bool) -> bool:
    """Whether a bundle can go: it is deleted, and none of its releases remains."""
    return deleting and not remaining


def may_go_without_rights(kube: Kube, namespace: str, *, deleting: bool) -> bool:
    """Whether a bundle that the controller may not uninstall can go: its namespace ends. Raises KubeError."""
    return deleting and is_ending(kube, namespace)
