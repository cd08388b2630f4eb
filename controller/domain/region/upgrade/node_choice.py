"""Which nodes of an upgrade are next: a bounded number at once, and none after too many failures. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from controller.domain.api.conditions import is_true
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import NodeProgress
from controller.domain.shared.plurals import count
from controller.domain.shared.times import seconds_of

MOST_NAMED = 100
# A pod that takes longer than this to end or to become Ready counts as failed.
MOST_SECONDS = 900.0
# What a container that does not start says.
_BROKEN = (
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "CreateContainerConfigError",
    "InvalidImageName",
)


@dataclass(frozen=True)
class OutdatedPod:
    """A pod that is to be replaced."""

    name: str
    uid: str


@dataclass(frozen=True)
class NodePods:
    """The pods of the step on one node. `outdated` are those of an earlier template that are not ending,
    `moving`: a pod ends or is not Ready yet; `broken` says why a new pod does not start."""

    node: str
    outdated: tuple[OutdatedPod, ...] = ()
    moving: bool = False
    broken: str = ""

    @classmethod
    def of(cls, node: str, pods: Iterable[tuple[Mapping[str, Any], bool]], now: float) -> Self:
        """From the pods of a node, each with whether it is outdated, at `now` (seconds since the epoch)."""
        outdated, moving, broken = [], False, ""
        for pod, old in pods:
            meta = pod["metadata"]
            if meta.get("deletionTimestamp"):
                moving = True
                if now - seconds_of(meta["deletionTimestamp"]) > MOST_SECONDS:
                    broken = broken or f"pod {meta['name']} does not end"
            elif old:
                outdated.append(OutdatedPod(str(meta["name"]), str(meta.get("uid") or "")))
            elif not is_true((pod.get("status") or {}).get("conditions") or [], "Ready"):
                moving = True
                broken = broken or _cause(pod)
                if now - seconds_of(meta.get("creationTimestamp")) > MOST_SECONDS:
                    broken = broken or f"pod {meta['name']} is not Ready"
        return cls(node, tuple(outdated), moving, broken)

    @property
    def done(self) -> bool:
        """Whether all its pods are of the new template, and Ready."""
        return not self.outdated and not self.moving


@dataclass(frozen=True)
class NodeChoice:
    """The nodes whose pods are replaced now, and how far the step is. `held`: all that has begun is done, and
    the pause keeps the others."""

    next: tuple[str, ...]
    progress: NodeProgress
    failing: str = ""
    waiting: str = ""
    held: bool = False


def choose_nodes(nodes: Iterable[NodePods], policy: UpgradePolicy, missing: int = 0) -> NodeChoice:
    """The next nodes by name, as many as the batch leaves room for.

    `missing`: nodes without a pod that they should have, because its successor is not made yet.
    """
    by_name: Sequence[NodePods] = sorted(nodes, key=lambda one: one.node)
    done = [one for one in by_name if one.done]
    broken = [one for one in by_name if one.broken]
    names = tuple(one.node for one in broken)
    total = len(by_name) + missing
    progress = NodeProgress(len(done), total, names[:MOST_NAMED])
    if len(broken) > policy.max_failed:
        first = broken[0]
        text = f"{count(len(broken), 'node does', 'nodes do')} not come back: {first.node}: {first.broken}"
        return NodeChoice((), progress, failing=text)
    moving = [one for one in by_name if one.moving and not one.broken]
    room = policy.batch.allowed(total) - len(moving) - missing
    waiting = [one for one in by_name if one.outdated and not one.moving and not one.broken]
    chosen = tuple(one.node for one in waiting[: max(0, room)]) if not policy.paused else ()
    left = total - len(done) - len(broken)
    text = f"{len(done)} of {count(total, 'node')} done" if left else ""
    text += "; spec.upgrade.paused is set: no other node begins" if text and policy.paused else ""
    held = policy.paused and bool(waiting) and not moving and not missing
    return NodeChoice(chosen, progress, waiting=text, held=held)


def _cause(pod: Mapping[str, Any]) -> str:
    status = pod.get("status") or {}
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _BROKEN:
            text = f"{pod['metadata']['name']}: {waiting['reason']}: {waiting.get('message') or ''}"
            return text.rstrip(": ")
    return ""
