"""Nodes of the region: which roles they have and how they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.conditions import Condition, find, shorten, timestamp
from controller.domain.reasons import Reason
from controller.domain.times import seconds_of

CONDITION = "NodesReady"
# The labels by which OpenStack-Helm's charts choose nodes, each with this value.
ROLES = (
    "openstack-control-plane",
    "openstack-compute-node",
    "openvswitch",
    "l3-agent",
    "openstack-network-node",
)
ROLE_VALUE = "enabled"
MESSAGE_LIMIT = 1000
SHOWN = 5


class NodeState(StrEnum):
    """The one word for a node in `status.nodes`."""

    READY = "Ready"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node with a role. `since` (seconds since the epoch) is when its readiness last changed."""

    name: str
    roles: tuple[str, ...]
    state: NodeState
    since: float
    message: str = ""


def parse_node(obj: Mapping[str, Any]) -> NodeFacts | None:
    """The facts of a node; None for one without a role of ours."""
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    roles = tuple(role for role in ROLES if labels.get(role) == ROLE_VALUE)
    if not roles:
        return None
    ready = find((obj.get("status") or {}).get("conditions") or [], "Ready")
    cordoned = bool((obj.get("spec") or {}).get("unschedulable"))
    going = bool(meta.get("deletionTimestamp"))
    if ready.get("status") == "True":
        state = NodeState.CORDONED if cordoned else NodeState.READY
        message = "takes no new pods (kubectl cordon)" if cordoned else ""
    else:
        state = NodeState.NOT_READY
        message = _why(ready) + ("; it is cordoned, too" if cordoned else "")
    if going:
        message = "; ".join(part for part in (message, "it is being removed") if part)
    since = seconds_of(ready.get("lastTransitionTime"))
    return NodeFacts(str(meta["name"]), roles, state, since, shorten(message, MESSAGE_LIMIT))


def _why(ready: Mapping[str, Any]) -> str:
    words = ": ".join(str(ready[key]) for key in ("reason", "message") if ready.get(key))
    return words or "its kubelet has not reported yet"


def node_entries(nodes: Iterable[NodeFacts], before: Mapping[str, Any], now: float) -> dict[str, Any]:
    """`status.nodes`. `before` is what it says now: `since` moves only when a state changes."""
    result = {}
    for node in sorted(nodes, key=lambda one: one.name):
        old = before.get(node.name) or {}
        began = node.since if node.state == NodeState.NOT_READY and node.since else now
        entry = {
            "roles": list(node.roles),
            "state": str(node.state),
            "since": (old.get("since") if old.get("state") == node.state else None) or timestamp(began),
            "message": node.message,
        }
        result[node.name] = {name: value for name, value in entry.items() if value != ""}
    return result


def nodes_condition(nodes: Iterable[NodeFacts], generation: int) -> Condition:
    """`NodesReady`: False while a node with a role is not ready, or there is none at all.

    A cordoned node is a person's own doing, and what runs on it goes on: it is told, not complained of.
    """
    known = sorted(nodes, key=lambda one: one.name)
    lost = [node for node in known if node.state == NodeState.NOT_READY]
    cordoned = [node for node in known if node.state == NodeState.CORDONED]
    if not known:
        text = f"no node carries a role; label nodes, as in kubectl label node NAME {ROLES[0]}={ROLE_VALUE}"
        return Condition(CONDITION, "False", Reason.NODES_MISSING, text, generation)
    if lost:
        shown = "; ".join(f"{node.name}: {node.message}" for node in lost[:SHOWN])
        more = f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
        text = f"{len(lost)} of {len(known)} nodes are not ready: {shown}{more}"
        return Condition(CONDITION, "False", Reason.NODES_NOT_READY, shorten(text, 4000), generation)
    text = f"{len(known)} nodes are ready"
    if cordoned:
        names = ", ".join(node.name for node in cordoned[:SHOWN])
        more = f" and {len(cordoned) - SHOWN} more" if len(cordoned) > SHOWN else ""
        text += f", of which {len(cordoned)} cordoned: {names}{more}"
    return Condition(CONDITION, "True", Reason.NODES_READY, text, generation)
