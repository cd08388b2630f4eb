"""The region of a cluster-scoped object, and names that separate the objects of regions.

Pure. Several installations may share a cluster, each serving one namespace and at most one
OpenStackDeployment in it. ComputeMaintenances and notes on Nodes have no namespace, so they name their
region, and no installation reverts changes of another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import GROUP, field_manager

# The part of a finalizer after its prefix may have 63 characters (kubernetes: ValidateFinalizerName).
_LIMIT = 63
_DIGEST = 8


@dataclass(frozen=True, slots=True, order=True)
class RegionName:
    """An OpenStackDeployment by its namespace and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> str:
        """`NAMESPACE.NAME` in at most 63 characters: a longer one ends with a digest of the whole.

        A namespace has no dot, so no two regions have the same text. A shortened text is longer than any
        complete one.
        """
        text = f"{self.namespace}.{self.name}"
        if len(text) < _LIMIT:
            return text
        digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
        kept = text[: _LIMIT - _DIGEST - 1]
        return f"{kept[:-1]}x-{digest}" if kept.endswith(".") else f"{kept}-{digest}"

    def finalizer(self, container: str) -> str:
        """Finalizer of one container on objects that other regions may also have:
        `node.osctl.dev/NAMESPACE.NAME`.
        """
        return f"{container}.{GROUP}/{self.key}"

    def manager(self, container: str) -> str:
        """Field manager of one container on such objects, within the limit of 128 characters."""
        return f"{field_manager(container)}-{self.key}"

    def written(self) -> dict[str, str]:
        """As `spec.region`."""
        return {"namespace": self.namespace, "name": self.name}


def region_of(obj: Mapping[str, Any]) -> RegionName:
    """The region that a ComputeMaintenance names, without a name if it names none."""
    given = (obj.get("spec") or {}).get("region") or {}
    return RegionName(str(given.get("namespace") or ""), str(given.get("name") or ""))


def is_served_in(namespace: str, obj: Mapping[str, Any]) -> bool:
    """Whether the installation of this namespace serves a ComputeMaintenance."""
    return region_of(obj).namespace == namespace


def node_note(namespace: str, name: str) -> str:
    """An annotation of a Node from the installation of this namespace: `osctl.dev/cordoned-by` becomes
    `openstack.osctl.dev/cordoned-by`. The notes survive a new OpenStackDeployment, because they describe
    the machine, and actions of this installation on it.
    """
    return f"{namespace}.{name}"


def node_notes(namespace: str, obj: Mapping[str, Any]) -> dict[str, str]:
    """The notes of this installation on a Node, by the annotations' common names."""
    prefix = f"{namespace}."
    given = obj["metadata"].get("annotations") or {}
    return {
        key.removeprefix(prefix): str(value)
        for key, value in given.items()
        if key.startswith(f"{prefix}{GROUP}/")
    }


def noted_by_others(namespace: str, name: str, obj: Mapping[str, Any]) -> bool:
    """Whether another installation has this note on a Node."""
    given = obj["metadata"].get("annotations") or {}
    return any(key.endswith(f".{name}") and key != node_note(namespace, name) for key in given)
