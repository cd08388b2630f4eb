"""Which nodes of an upgrade are next: a bounded number at once, and none after too many failures. Pure.

With `byLabel` nodes form groups by the value of a label, and the groups go one after the other.
"""

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
    `moving`: a pod ends or is not Ready yet; `broken` says why a new pod does not start. `group`: the value
    of the label by which nodes go, empty without one. `down`: an outdated pod is not Ready either."""

    node: str
    outdated: tuple[OutdatedPod, ...] = ()
    moving: bool = False
    broken: str = ""
    group: str = ""
    down: bool = False

    @classmethod
    def of(
        cls, node: str, pods: Iterable[tuple[Mapping[str, Any], bool]], now: float, group: str = ""
    ) -> Self:
        """From the pods of a node, each with whether it is outdated, at `now` (seconds since the epoch)."""
        outdated, moving, broken, down = [], False, "", False
        for pod, old in pods:
            meta = pod["metadata"]
            ready = is_true((pod.get("status") or {}).get("conditions") or [], "Ready")
            if meta.get("deletionTimestamp"):
                moving = True
                if now - seconds_of(meta["deletionTimestamp"]) > MOST_SECONDS:
                    broken = broken or f"pod {meta['name']} does not end"
            elif old:
                outdated.append(OutdatedPod(str(meta["name"]), str(meta.get("uid") or "")))
                down = down or not ready
            elif not ready:
                moving = True
                broken = broken or _cause(pod)
                if now - seconds_of(meta.get("creationTimestamp")) > MOST_SECONDS:
                    broken = broken or f"pod {meta['name']} is not Ready"
        return cls(node, tuple(outdated), moving, broken, group, down)

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
    """The next nodes of the present group by name, as many as the batch leaves room for.

    `missing`: nodes without a pod that they should have, because its successor is not made yet.
    """
    by_name: Sequence[NodePods] = sorted(nodes, key=_place)
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
    group = next((one.group for one in by_name if not one.done and not one.broken), "")
    # A node that is down costs nothing more, and takes the place of one that serves.
    fits = [one.node for one in waiting if one.down] or [
        one.node for one in waiting if one.group == group and _may_begin(group, by_name, missing)
    ]
    chosen = tuple(fits[: max(0, room)]) if not policy.paused else ()
    left = total - len(done) - len(broken)
    text = f"{len(done)} of {count(total, 'node')} done" if left else ""
    text += f"; now those with {policy.by_label}={group}" if text and policy.by_label and group else ""
    text += "; spec.upgrade.paused is set: no other node begins" if text and policy.paused else ""
    held = policy.paused and bool(waiting) and not moving and not missing
    return NodeChoice(chosen, progress, waiting=text, held=held)


def _place(one: NodePods) -> tuple[bool, str, str]:
    """Nodes without the label are the last group."""
    return not one.group, one.group, one.node


def _may_begin(group: str, nodes: Sequence[NodePods], missing: int) -> bool:
    """A pod that is not made yet may belong to the group before, which is not done then."""
    several = len({one.group for one in nodes}) > 1
    return not (several and missing) or any(one.group == group and not one.outdated for one in nodes)


def _cause(pod: Mapping[str, Any]) -> str:
    status = pod.get("status") or {}
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _BROKEN:
            text = f"{pod['metadata']['name']}: {waiting['reason']}: {waiting.get('message') or ''}"
            return text.rstrip(": ")
    return ""
