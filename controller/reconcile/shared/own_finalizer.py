"""The finalizer of a container on an object: the object stays until the work for it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import field_manager, finalizer
from controller.ports.kubernetes import Kube, Resource
from controller.reconcile.shared.preconditioned_writes import apply_to_seen


@dataclass(frozen=True)
class OwnFinalizer:
    """The finalizer of one container on objects of one kind. Writes raise ObjectReplaced, KubeError."""

    resource: Resource
    container: str

    @property
    def name(self) -> str:
        return finalizer(self.container)

    def is_on(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object stays when it is deleted."""
        return self.name in (obj["metadata"].get("finalizers") or ())

    def ensure(self, kube: Kube, obj: Mapping[str, Any]) -> None:
        """Puts it on the object, if it is not there."""
        if not self.is_on(obj):
            self._apply(kube, obj, [self.name])

    def remove(self, kube: Kube, obj: Mapping[str, Any]) -> None:
        """Takes it off: a deleted object goes."""
        self._apply(kube, obj, [])

    def _apply(self, kube: Kube, obj: Mapping[str, Any], desired: list[str]) -> None:
        manager = field_manager(self.container)
        apply_to_seen(kube, self.resource, obj, manager=manager, finalizers=desired)
