"""Replaces the pods of a step node by node: a bounded number of nodes at once, and none after failures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.api.names import RELEASE_NAME
from controller.domain.region.upgrade.next_step import StepFacts
from controller.domain.region.upgrade.node_choice import NodePods, choose_nodes
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.ports.kubernetes import DAEMONSET, NODE, POD, Kube, KubeObject
from controller.reconcile.shared.action_log import log_action

# A DaemonSet's controller counts templates in this annotation, and marks each pod with the number that it is
# made from (kubernetes: pkg/controller/daemon/daemon_controller.go).
_GENERATION = "deprecated.daemonset.template.generation"
_POD_GENERATION = "pod-template-generation"


def replace_pods(
    kube: Kube, osdpl: KubeObject, releases: Sequence[str], policy: UpgradePolicy, now: float
) -> StepFacts:
    """Deletes outdated pods of the releases' DaemonSets on the next nodes, and says how far that is.

    Each pod is deleted by its uid, so that its successor is never the one. Raises KubeError.
    """
    namespace = str(osdpl["metadata"]["namespace"])
    pods, missing = _pods(kube, namespace, releases)
    groups = _groups(kube, policy.by_label) if policy.by_label else {}
    nodes = {node: NodePods.of(node, own, now, groups.get(node, "")) for node, own in pods.items()}
    choice = choose_nodes(nodes.values(), policy, missing)
    for name in choice.next:
        for pod in nodes[name].outdated:
            kube.delete(POD, pod.name, namespace, uid=pod.uid)
            text = f"pod {pod.name} of node {name}: deleted, so that its replacement runs the new version"
            log_action("delete", f"{namespace}/{pod.name}", text)
    return StepFacts(failing=choice.failing, waiting=choice.waiting, nodes=choice.progress, held=choice.held)


def _groups(kube: Kube, label: str) -> dict[str, str]:
    """The value of the label of each node that has it."""
    return {
        str(node["metadata"]["name"]): str((node["metadata"].get("labels") or {}).get(label) or "")
        for node in kube.list_metadata(NODE)
    }


def _pods(
    kube: Kube, namespace: str, releases: Sequence[str]
) -> tuple[Mapping[str, list[tuple[KubeObject, bool]]], int]:
    """The pods by node, each with whether it is outdated.

    Also how many pods of one DaemonSet at most are not made yet.
    """
    sets = {
        str(obj["metadata"]["uid"]): obj
        for obj in kube.list(DAEMONSET, namespace)
        if (obj["metadata"].get("annotations") or {}).get(RELEASE_NAME) in releases
    }
    found: dict[str, list[tuple[KubeObject, bool]]] = defaultdict(list)
    there: Counter[str] = Counter()
    for pod, owner in _owned(kube.list(POD, namespace) if sets else [], sets):
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        if node:
            found[node].append((pod, _is_outdated(pod, owner)))
            there[str(owner["metadata"]["uid"])] += 1
    lacking = [_desired(one) - there[uid] for uid, one in sets.items()]
    return found, max([0, *lacking])


def _owned(
    pods: Sequence[KubeObject], sets: Mapping[str, KubeObject]
) -> Iterator[tuple[KubeObject, KubeObject]]:
    for pod in pods:
        for owner in pod["metadata"].get("ownerReferences") or ():
            if owner.get("controller") and owner.get("uid") in sets:
                yield pod, sets[owner["uid"]]


def _desired(daemon_set: Mapping[str, Any]) -> int:
    return int((daemon_set.get("status") or {}).get("desiredNumberScheduled") or 0)


def _is_outdated(pod: Mapping[str, Any], daemon_set: Mapping[str, Any]) -> bool:
    wanted = (daemon_set["metadata"].get("annotations") or {}).get(_GENERATION)
    has = (pod["metadata"].get("labels") or {}).get(_POD_GENERATION)
    return wanted is not None and has is not None and str(wanted) != str(has)
