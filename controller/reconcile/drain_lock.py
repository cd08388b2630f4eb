"""Holds back the drain of a node that must not go now: a pod of ours on it with a disruption budget.

`kubectl drain` skips pods of DaemonSets whatever their budgets say, so the pod is one of its own, owned by
the Node: drains ask to evict it and are refused, as those of Cluster API and kured are. It goes with the
Node, and it is removed as soon as the node may be drained.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controller.domain.names import DRAIN_LOCK_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.errors import Conflict
from controller.ports import NODE, PDB, POD, Kube, KubeObject

WHY_ANNOTATION = "osctl.dev/locked-because"


def _released(node: str) -> str:
    """Nothing keeps its lock."""
    return ""


class DrainLocks:
    """The locks in one namespace. `image` is what the pods run: it must have `sleep`."""

    def __init__(self, kube: Kube, namespace: str, image: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._image = image

    def ensure(
        self,
        wanted: Mapping[str, str],
        unless: Callable[[str], str] = _released,
        order: Callable[[Iterable[str]], Iterable[str]] = sorted,
    ) -> dict[str, str]:
        """Exactly these nodes are locked, each with its reason; gives those that are, with their reasons.

        A lock that is there and not wanted is released, `unless` there is a reason for it to stay; that is
        asked for in this `order`. Raises KubeError.
        """
        pods = self._by_node(POD)
        budgets = self._by_node(PDB)
        for node, reason in wanted.items():
            # The budget first: a pod without one can be evicted.
            if node not in budgets:
                self._create(self._budget(node))
            if node in pods and pods[node]["metadata"].get("deletionTimestamp"):
                continue
            if node in pods and _finished(pods[node]):
                self._kube.delete(POD, pods[node]["metadata"]["name"], self._namespace)
            elif node not in pods:
                self._lock(node, reason)
        locked = dict(wanted)
        for node in order((pods.keys() | budgets.keys()) - wanted.keys()):
            why = unless(node)
            if why:
                locked[node] = why
                continue
            for resource, found in ((PDB, budgets.get(node)), (POD, pods.get(node))):
                if found is not None and not found["metadata"].get("deletionTimestamp"):
                    self._kube.delete(resource, found["metadata"]["name"], self._namespace)
        return locked

    def _by_node(self, resource: Any) -> dict[str, KubeObject]:
        found = self._kube.list(resource, self._namespace, labels=DRAIN_LOCK_LABEL)
        return {_node_of(one): one for one in found}

    def _lock(self, node: str, reason: str) -> None:
        live = self._kube.get(NODE, node)
        if live is None:
            return
        self._create(self._pod(node, str(live["metadata"]["uid"]), reason))

    def _create(self, obj: KubeObject) -> None:
        try:
            self._kube.create(obj)
        except Conflict:
            return

    def _meta(self, node: str) -> KubeObject:
        return {
            "name": f"osctl-drain-lock-{_short(node)}",
            "namespace": self._namespace,
            "labels": {DRAIN_LOCK_LABEL: _short(node), MANAGED_BY: MANAGED_BY_US},
            "annotations": {"osctl.dev/node": node},
        }

    def _budget(self, node: str) -> KubeObject:
        # A number, not a share: for that the API server would look for a scale of the pod's owner.
        spec = {"minAvailable": 1, "selector": {"matchLabels": {DRAIN_LOCK_LABEL: _short(node)}}}
        return {"apiVersion": PDB.api_version, "kind": PDB.kind, "metadata": self._meta(node), "spec": spec}

    def _pod(self, node: str, uid: str, reason: str) -> KubeObject:
        meta = self._meta(node)
        meta["annotations"][WHY_ANNOTATION] = reason[:1000]
        meta["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
        ]
        container = {
            "name": "lock",
            "image": self._image,
            "command": ["sleep", "infinity"],
            "resources": {
                "requests": {"cpu": "1m", "memory": "4Mi"},
                "limits": {"memory": "16Mi"},
            },
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65534,
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        }
        spec = {
            # Put there, not scheduled: the node may be cordoned already.
            "nodeName": node,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _node_of(obj: Mapping[str, Any]) -> str:
    return str((obj["metadata"].get("annotations") or {}).get("osctl.dev/node") or "")


def _finished(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _short(node: str) -> str:
    """A name that a label may hold (63 characters), told apart by a digest where the node's is longer."""
    if len(node) <= 45 and "." not in node:
        return node
    return f"{node[:36].replace('.', '-').strip('-')}-{hashlib.sha256(node.encode()).hexdigest()[:8]}"
