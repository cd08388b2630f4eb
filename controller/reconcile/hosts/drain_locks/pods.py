"""Holds back the drain of a node that must not go now: a pod of ours on it with a disruption budget.

`kubectl drain` skips pods of DaemonSets whatever their budgets say, so the pod is one of its own, owned by
the Node: drains ask to evict it and are refused, as those of Cluster API and kured are. It goes with the
Node, and it is removed as soon as the node may be drained.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from controller.domain.api.names import DRAIN_LOCK_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.domain.shared import backoff
from controller.domain.shared.times import seconds_of
from controller.errors import ApiUnavailable, Conflict, KubeError, ObjectMissing
from controller.ports.kubernetes import NODE, PDB, POD, Kube, KubeObject, Resource
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import patch_seen

NODE_ANNOTATION = "osctl.dev/node"
WHY_ANNOTATION = "osctl.dev/locked-because"
# On the budget, which outlives the pods: how many of them have failed.
FAILED_ANNOTATION = "osctl.dev/failed-pods"
# Seconds: a pod that does not run by then is reported as one that holds nothing.
STARTS_WITHIN = 30.0
# Between Pods that fail on one node.
REPLACEMENT_PAUSES = backoff.Pauses(5.0, 300.0)
REFUSED = "Kubernetes refuses the drain lock"


@dataclass(frozen=True)
class LockedNodes:
    """By name of the Node: why its drain is held back (`reasons`), or why that fails (`failing`)."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    failing: Mapping[str, str] = field(default_factory=dict)


def _let_go(node: str) -> str:
    """Nothing keeps its lock."""
    return ""


class DrainLocks:
    """The locks in one namespace. `image` is what the pods run: it must have `sleep`.

    `pull_secrets`: names of the Secrets of this namespace that it is pulled with.
    """

    def __init__(self, kube: Kube, namespace: str, image: str, pull_secrets: tuple[str, ...] = ()) -> None:
        self._kube = kube
        self._namespace = namespace
        self._image = image
        self._pull_secrets = [{"name": name} for name in pull_secrets]
        # By name of the Node, why its lock could not be released.
        self._stuck: dict[str, str] = {}

    def ensure(
        self,
        desired: Mapping[str, str],
        now: float,
        unless: Callable[[str], str] = _let_go,
        order: Callable[[Iterable[str]], Iterable[str]] = sorted,
    ) -> LockedNodes:
        """Exactly these nodes are locked, each with its reason; gives those that are, with their reasons.

        A lock that is there and not desired is released, `unless` there is a reason for it to stay; that is
        asked for in this `order`. One that the API server refuses to make or to release holds up no other.
        `now` in seconds since the epoch. Raises KubeError.
        """
        names = {_name(node): node for node in desired}
        pods, budgets = self._by_node(POD, names), self._by_node(PDB, names)
        locked, refused = dict(desired), {}
        for node, reason in desired.items():
            bring_about = partial(self._bring_about, node, reason, pods, budgets, now)
            refused[node] = _refusal(REFUSED, node, bring_about)
        for node in order((pods.keys() | budgets.keys()) - desired.keys()):
            why = unless(node)
            if not why:
                why = self._stuck[node] = self._released(node, budgets.get(node), pods.get(node))
            else:
                refused[node] = _refusal(REFUSED, node, partial(self._mend, node, pods, budgets))
                why = "; ".join(filter(None, (why, self._stuck.get(node))))
            if why:
                locked[node] = why
        self._stuck = {
            node: self._stuck[node] for node in self._stuck.keys() & (locked.keys() - desired.keys())
        }
        unlocked = {node: _why_not_locked(node, pods.get(node), budgets.get(node)) for node in locked}
        effective = {node: why for node, why in locked.items() if not unlocked[node]}
        failing = {
            node: why
            for node, why in unlocked.items()
            if why and node not in self._stuck and node in pods and now - _made(pods[node]) > STARTS_WITHIN
        }
        refused = {node: why for node, why in refused.items() if why and node not in effective}
        return LockedNodes(effective, {**failing, **refused})

    def _released(self, node: str, budget: KubeObject | None, pod: KubeObject | None) -> str:
        """Deletes a lock that was found; why it cannot be. The budget first: alone, the pod holds nothing
        back."""

        def delete() -> None:
            for resource, found in ((PDB, budget), (POD, pod)):
                if found is not None and not found["metadata"].get("deletionTimestamp"):
                    meta = found["metadata"]
                    self._kube.delete(resource, meta["name"], self._namespace, uid=meta["uid"])
            log_action("release-drain-lock", node, f"node {node}: drain lock released")

        return _refusal("the drain lock could not be released", node, delete)

    def _bring_about(
        self,
        node: str,
        reason: str,
        pods: dict[str, KubeObject],
        budgets: dict[str, KubeObject],
        now: float,
    ) -> None:
        """The next step to a lock. The budget first: a pod without one can be evicted."""
        budget = self._found(PDB, node, budgets)
        self._ensure_budget(node, budget)
        pod = self._labelled(node, pods)
        if pod is None:
            self._lock(node, reason)
        elif (_finished(pod) or self._lacks_secrets(pod)) and not (
            _is_another(node, pod) or pod["metadata"].get("deletionTimestamp")
        ):
            self._replace(node, pod, budget, now)

    def _lacks_secrets(self, pod: KubeObject) -> bool:
        """Whether it may wait in vain for its image: it cannot be given what has been named since."""
        there = pod["spec"].get("imagePullSecrets") or []
        pending = (pod.get("status") or {}).get("phase") == "Pending"
        return pending and any(secret not in there for secret in self._pull_secrets)

    def _mend(self, node: str, pods: dict[str, KubeObject], budgets: dict[str, KubeObject]) -> None:
        """What there is of a lock that stays is corrected; nothing is made again."""
        budget = self._found(PDB, node, budgets)
        if budget is not None:
            self._ensure_budget(node, budget)
        self._labelled(node, pods)

    def _found(self, resource: Resource, node: str, listed: dict[str, KubeObject]) -> KubeObject | None:
        """The object, also if a list does not have it because it lost its label: its name would block a new
        one."""
        live = listed.get(node) or self._kube.get(resource, _name(node), self._namespace)
        if live is not None:
            listed[node] = live
        return live

    def _labelled(self, node: str, pods: dict[str, KubeObject]) -> KubeObject | None:
        """The pod of a lock, as it was found; without its label, its budget does not hold it."""
        pod = self._found(POD, node, pods)
        if pod is None or _is_another(node, pod) or _is_marked(node, pod):
            return pod
        meta, version = self._meta(node), pod["metadata"]["resourceVersion"]
        marks = {key: meta[key] for key in ("labels", "annotations")}
        patch = {"metadata": {**marks, "resourceVersion": version}}
        self._kube.merge_patch(POD, _name(node), self._namespace, patch)
        log_action("correct-drain-lock", node, f"node {node}: the label of its drain lock's pod is restored")
        return pod

    def _ensure_budget(self, node: str, live: KubeObject | None) -> None:
        budget = self._budget(node)
        if live is None:
            self._kube.create(budget)
            name = budget["metadata"]["name"]
            log_action(
                "drain-lock", node, f"node {node}: PodDisruptionBudget {name} of its drain lock created"
            )
            return
        changed = any(live["spec"].get(key) != budget["spec"].get(key) for key in _BOUND)
        if changed or not _is_marked(node, live):
            meta = dict(live["metadata"])
            for key in ("labels", "annotations"):
                meta[key] = {**(meta.get(key) or {}), **budget["metadata"][key]}
            self._kube.replace({**live, "metadata": meta, "spec": budget["spec"]})
            log_action("correct-drain-lock", node, f"node {node}: the budget of its drain lock is corrected")

    def _replace(self, node: str, pod: KubeObject, budget: KubeObject | None, now: float) -> None:
        """Makes room for another pod, the later the more of them have failed."""
        notes = (budget or {}).get("metadata", {}).get("annotations") or {}
        failed = 1 + int(notes[FAILED_ANNOTATION] if str(notes.get(FAILED_ANNOTATION)).isdigit() else 0)
        pause = REPLACEMENT_PAUSES.after(failed, backoff.steady_jitter(node))
        if now - _made(pod) < pause:
            return
        if budget is not None:
            patch_seen(
                self._kube, PDB, budget, {"metadata": {"annotations": {FAILED_ANNOTATION: str(failed)}}}
            )
        self._kube.delete(POD, pod["metadata"]["name"], self._namespace, uid=pod["metadata"]["uid"])
        log_action(
            "correct-drain-lock", node, f"node {node}: the pod of its drain lock cannot run and is deleted"
        )

    def _by_node(self, resource: Resource, names: Mapping[str, str]) -> dict[str, KubeObject]:
        """What is listed; `names`: of the locks that are desired, whose Node is known whatever they say."""
        found = self._kube.list(resource, self._namespace, labels=DRAIN_LOCK_LABEL)
        return {names.get(one["metadata"]["name"]) or _node_of(one): one for one in found}

    def _lock(self, node: str, reason: str) -> None:
        live = self._kube.get(NODE, node)
        if live is None:
            return
        self._kube.create(self._pod(node, str(live["metadata"]["uid"]), reason))
        log_action("drain-lock", node, f"node {node}: drain lock created ({reason})")

    def _meta(self, node: str) -> KubeObject:
        return {
            "name": _name(node),
            "namespace": self._namespace,
            "labels": {DRAIN_LOCK_LABEL: _short(node), MANAGED_BY: MANAGED_BY_US},
            "annotations": {NODE_ANNOTATION: node},
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
            "imagePullSecrets": self._pull_secrets,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _refusal(what: str, node: str, write: Callable[[], object]) -> str:
    """Why the API server refuses what is written for the lock of one node; empty where it does not.

    A quota or an admission refuses one lock: the others are none the worse for it. Raises ApiUnavailable.
    """
    try:
        write()
    except ApiUnavailable:
        raise
    except (Conflict, ObjectMissing):
        # Changed since it was listed: the next pass sees it as it is.
        return ""
    except KubeError as error:
        log_action("drain-lock", node, f"node {node}: {what}", error=error)
        return f"{what}: {error}"
    return ""


def _node_of(obj: Mapping[str, Any]) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(NODE_ANNOTATION) or "")


def _is_marked(node: str, obj: Mapping[str, Any]) -> bool:
    """Whether it has what it is found by, and a pod what its budget chooses it by."""
    label = (obj["metadata"].get("labels") or {}).get(DRAIN_LOCK_LABEL)
    return label == _short(node) and _node_of(obj) == node


def _is_another(node: str, pod: Mapping[str, Any]) -> bool:
    """Whether a pod only has the name of this node's lock: ours never move."""
    return bool((pod.get("spec") or {}).get("nodeName") != node)


# Of a budget, what decides over evictions.
_BOUND = ("minAvailable", "maxUnavailable", "selector", "unhealthyPodEvictionPolicy")


def _why_not_locked(node: str, pod: Mapping[str, Any] | None, budget: Mapping[str, Any] | None) -> str:
    """Why a lock's pod holds nothing back; empty while it does.

    Evictions ask no budget of pods that are pending, have ended or are going (kubernetes:
    pkg/registry/core/pod/storage/eviction.go, canIgnorePDB).
    """
    if pod is None:
        return "the pod of its lock is being created"
    if _is_another(node, pod):
        return f'another pod has the name of its lock, "{pod["metadata"]["name"]}"'
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return "the pod of its lock is being deleted; another one replaces it"
    if budget is None:
        return "the drain lock has no disruption budget"
    if not _is_marked(node, pod):
        return "the pod of its lock had lost its label, which is restored"
    if status.get("phase") == "Running":
        return ""
    waiting = [(one.get("state") or {}).get("waiting") or {} for one in status.get("containerStatuses") or ()]
    states = [status, *waiting]
    words = next(
        (": ".join(filter(None, map(one.get, ("reason", "message")))) for one in states if one.get("reason")),
        "",
    )
    return f"the pod of its lock is {status.get('phase') or 'Pending'}" + (f" ({words})" if words else "")


def _made(pod: Mapping[str, Any]) -> float:
    return seconds_of(pod["metadata"].get("creationTimestamp"))


def _finished(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _name(node: str) -> str:
    return f"osctl-drain-lock-{_short(node)}"


def _short(node: str) -> str:
    """A name that a label may hold (63 characters), with a digest where the node's name is longer."""
    if len(node) <= 45 and "." not in node:
        return node
    return f"{node[:36].replace('.', '-').strip('-')}-{hashlib.sha256(node.encode()).hexdigest()[:8]}"
