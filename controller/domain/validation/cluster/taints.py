"""Taints of nodes, and whether pods are put on a node in spite of them. Pure.

As the scheduler decides it (k8s.io/component-helpers/scheduling/corev1, TolerationsTolerateTaint).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Effects that keep a pod away; PreferNoSchedule does not.
_BINDING = ("NoSchedule", "NoExecute")
# Of taints that Kubernetes sets and takes away itself, as of nodes that are cordoned or not ready. DaemonSets
# tolerate them (k8s.io/kubernetes/pkg/controller/daemon/util, AddOrUpdateDaemonPodTolerations).
_OF_KUBERNETES = "node.kubernetes.io/"


@dataclass(frozen=True, order=True)
class Taint:
    """A taint with an effect that keeps pods away."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"

    @property
    def passes(self) -> bool:
        """Whether Kubernetes takes it away by itself."""
        return self.key.startswith(_OF_KUBERNETES)

    def tolerated_by(self, tolerations: Iterable[Mapping[str, Any]]) -> bool:
        """Whether pods with these tolerations are put on the node."""
        return any(_covers(one, self) for one in tolerations)


def taints_of(node: Mapping[str, Any]) -> tuple[Taint, ...]:
    """The taints of a Node that keep pods away."""
    found = (node.get("spec") or {}).get("taints") or ()
    return tuple(
        Taint(str(one.get("key") or ""), str(one.get("value") or ""), str(one["effect"]))
        for one in found
        if one.get("effect") in _BINDING
    )


def _covers(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if toleration.get("key") and toleration["key"] != taint.key:
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key") and not exists:
        return False
    return exists or str(toleration.get("value") or "") == taint.value
