"""Pods that no node takes: its label is there, and a taint or a cordon keeps them away. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.shared.plurals import count
from controller.domain.validation.cluster.asked_resources import keeps_apart, label_of
from controller.domain.validation.cluster.cluster_capacity import NODES, NodeCapacity, selected
from controller.domain.validation.cluster.taints import Taint
from controller.errors import Problem

Object = Mapping[str, Any]

_MOST_NAMED = 3
_TEST = "test"
_EVERYWHERE = "spec.features.pods.tolerations"


@dataclass(frozen=True)
class PlacedPods:
    """The pods of one object, `by` Kind/name: on nodes with the label, on `each` of them, or on so many that
    are `apart`."""

    by: str
    label: str
    each: bool
    apart: int
    tolerations: tuple[Mapping[str, Any], ...]

    def kept_from(self, node: NodeCapacity) -> tuple[Taint, ...]:
        """The taints of the node that they do not tolerate."""
        return tuple(
            taint
            for taint in node.taints
            if not taint.tolerated_by(self.tolerations) and not (self.each and taint.passes)
        )


def placed_pods(objects: Iterable[Object]) -> tuple[PlacedPods, ...]:
    """The pods of all objects and Jobs, except for tests, which no release waits for."""
    return tuple(one for obj in objects for one in _of_object(obj))


def placement_problems(
    placed: Sequence[PlacedPods], nodes: Sequence[NodeCapacity], everywhere: Sequence[Mapping[str, Any]] = ()
) -> list[Problem]:
    """What keeps pods from nodes that have their label. `everywhere`: the tolerations that the region gives
    to all pods; who does not have them has a chart without a place for it."""
    found: dict[tuple[str, str, tuple[Taint, ...]], list[PlacedPods]] = {}
    for one in placed:
        for text, taints in _keeping_away(one, nodes):
            found.setdefault((one.label, text, taints), []).append(one)
    return [
        Problem(NODES, f"{text}: {_named(pods)}", _remedy(taints, everywhere))
        for (_, text, taints), pods in found.items()
    ]


def cordoned_problems(placed: Sequence[PlacedPods], nodes: Sequence[NodeCapacity]) -> Iterator[Problem]:
    """Labels all of whose nodes are cordoned or not ready."""
    for label in dict.fromkeys(one.label for one in placed if not one.each):
        there = [node for node in nodes if selected(node, label)]
        if there and not any(node.available for node in there):
            names = _listed([node.name for node in there])
            what = f"the label {label}" if label else "room for the region"
            text = f"nodes with {what} are cordoned or not ready: {names}"
            yield Problem(NODES, text, "kubectl uncordon NODE, or see why it is not ready")


def _of_object(obj: Object) -> Iterator[PlacedPods]:
    kind, spec = str(obj.get("kind")), obj.get("spec") or {}
    notes = (obj.get("metadata") or {}).get("annotations") or {}
    if kind == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    if kind not in ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"):
        return
    if spec.get("replicas") == 0 or str(notes.get("helm.sh/hook") or "").startswith(_TEST):
        return
    pod = (spec.get("template") or {}).get("spec") or {}
    replicas = spec.get("replicas")
    apart = replicas if isinstance(replicas, int) and keeps_apart(pod) else 1
    name = str((obj.get("metadata") or {}).get("name"))
    tolerations = tuple(one for one in pod.get("tolerations") or () if isinstance(one, Mapping))
    yield PlacedPods(f"{kind}/{name}", label_of(pod), kind == "DaemonSet", apart, tolerations)


def _keeping_away(one: PlacedPods, nodes: Sequence[NodeCapacity]) -> Iterator[tuple[str, tuple[Taint, ...]]]:
    """In words, and which taints; nothing for pods that are put where they have to be."""
    there = [node for node in nodes if selected(node, one.label) and (one.each or node.available)]
    kept = {node.name: taints for node in there if (taints := one.kept_from(node))}
    if not kept:
        return
    taints = tuple(sorted({taint for found in kept.values() for taint in found}))
    listed = ", ".join(map(str, taints))
    label = f"the label {one.label}" if one.label else "room"
    free = len(there) - len(kept)
    if one.each:
        have = "has" if len(kept) == 1 else "have"
        yield f"{_listed(list(kept))} {have} {label}, and a taint that keeps pods away ({listed})", taints
    elif not free:
        yield f"each with {label} has a taint that keeps pods away ({listed})", taints
    elif free < one.apart:
        text = f"{free} of {count(len(there), 'node')} with {label} {'is' if free == 1 else 'are'} without a"
        yield f"{text} taint ({listed}), and {one.apart} are needed for the pods of each", taints


def _named(pods: Sequence[PlacedPods]) -> str:
    return _listed([one.by for one in pods])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _remedy(taints: Sequence[Taint], everywhere: Sequence[Mapping[str, Any]]) -> str:
    lasting = [taint for taint in taints if not taint.passes] or list(taints)
    removed = " ".join(f"{taint.key}:{taint.effect}-" for taint in lasting)
    without = f"kubectl taint node NODE {removed}"
    if all(taint.tolerated_by(everywhere) for taint in lasting):
        return (
            f"the charts of these pods do not support tolerations: keep a node without the taint, {without}"
        )
    wanted = ", ".join(f"{{key: {taint.key}, operator: Exists, effect: {taint.effect}}}" for taint in lasting)
    return f"set {_EVERYWHERE}: [{wanted}], or take the taint away: {without}"
