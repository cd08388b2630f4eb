"""What to do next for one compute host, from what Kubernetes and OpenStack say of it. Pure.

One decision at a time, from facts alone, so that it may be taken again after any interruption. What is not
known (None) is never taken for nothing: it makes us wait. Only what carries our mark is undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.cloud_facts import MARK, Agent, ComputeService, is_ours
from controller.domain.durations import parse_duration
from controller.domain.names import AUTOMATIC_LABEL
from controller.domain.reasons import Reason

# A new compute should have registered, and been mapped to its cell, within so many seconds.
REGISTER_WITHIN = 600.0
MAP_AFTER = 60.0
# So many losses of readiness within the window make a node flap; then it must be calm for a while.
LOSSES, WINDOW, CALM = 3, 600.0, 300.0


class Step(StrEnum):
    """What is to be done with a host now."""

    NOTHING = "Nothing"
    WAIT = "Wait"
    BLOCKED = "Blocked"
    DISABLE = "Disable"
    ENABLE = "Enable"
    UNFORCE = "Unforce"
    EVACUATE = "Evacuate"
    REMOVE = "Remove"
    FORGET = "Forget"
    MAP_CELL = "MapCell"


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """`spec.features.nodes`. `hold_down` in seconds; `brake` the share of computes, 0 to 1.

    `fencing`: URL of a fencing service. `shared_disks`: all hosts reach the disks of all servers.
    """

    hold_down: float = 120.0
    evacuate: bool = False
    brake: float = 0.2
    fencing: str = ""
    shared_disks: bool = False


def parse_policy(spec: Mapping[str, Any]) -> NodePolicy:
    """The policy of a region's spec, with its defaults."""
    features = spec.get("features") or {}
    given = features.get("nodes") or {}
    images = (features.get("compute") or {}).get("images") or {}
    return NodePolicy(
        hold_down=float(parse_duration(str(given.get("holdDown") or "2m"))),
        evacuate=given.get("evacuation") == "Auto",
        brake=int(given.get("brakePercent") or 20) / 100,
        fencing=str((given.get("fencing") or {}).get("url") or ""),
        shared_disks=images.get("backend") == "ceph",
    )


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """The Kubernetes side of a host. Times in seconds since the epoch, 0.0 for never.

    `since`: when its readiness last changed. `fenced`: when it was confirmed to be powered off, whether
    by the fencing service or by a person. `losses`: when it lost its readiness, as far as remembered.
    """

    name: str
    uid: str
    ready: bool
    since: float
    created: float = 0.0
    cordoned: bool = False
    fenced: float = 0.0
    losses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All that a decision needs. `node` is None when the Node is gone or is no compute node any more.

    `agents` and `servers` are None where that is not known. `known_uid`: of the Node that the present
    compute service belonged to. `unready_pods`: those of the region on this node. `maintenance`: the
    NodeMaintenance at work on it. `agents_expected`: other computes have network agents. `automatic`: the
    maintenance is our own answer to a node that was lost. `host`: as
    OpenStack calls it.
    """

    name: str
    node: ComputeNode | None
    service: ComputeService | None
    mapped: bool = True
    agents: tuple[Agent, ...] | None = ()
    agents_expected: bool = False
    automatic: bool = False
    servers: int | None = None
    unready_pods: tuple[str, ...] = ()
    maintenance: str = ""
    known_uid: str = ""
    leftovers: bool = False
    host: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """`mark` is what to leave in disabled_reason, with Step.DISABLE. `after`: look again then, seconds."""

    step: Step
    reason: Reason
    message: str = ""
    mark: str = ""
    after: float | None = None


def is_automatic(maintenance: Mapping[str, Any]) -> bool:
    """Whether the controller made this NodeMaintenance by itself."""
    return AUTOMATIC_LABEL in (maintenance["metadata"].get("labels") or {})


def decide_host(facts: HostFacts, policy: NodePolicy, braked: str, now: float) -> Decision:
    """The next step. `braked` says why automatic action is stopped, empty while it is not."""
    if facts.node is None:
        return _without_node(facts, braked)
    if facts.service is None:
        return _unregistered(facts.node, now)
    if not facts.node.ready:
        return _not_ready(facts, facts.node, policy=policy, braked=braked, now=now)
    replaced = facts.known_uid not in ("", facts.node.uid)
    if replaced and not facts.service.up:
        return _replaced(facts, facts.node, policy, now)
    return _ready(facts, facts.node, facts.service, now)


def _without_node(facts: HostFacts, braked: str) -> Decision:
    service = facts.service
    if service is None:
        if facts.leftovers:
            return Decision(Step.REMOVE, Reason.NODE_REMOVED, "its agents are removed")
        return Decision(Step.FORGET, Reason.NODE_REMOVED, "nothing of it is left in OpenStack")
    if braked:
        return Decision(Step.BLOCKED, Reason.AUTOMATION_BRAKED, braked)
    if service.enabled:
        text = "the node was removed, or lost its role"
        return Decision(Step.DISABLE, Reason.NODE_REMOVED, text, mark=MARK + "node removed")
    if facts.servers is None:
        return Decision(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known whether servers are left on it")
    if facts.servers:
        return _servers_left(facts.servers, "the node was removed")
    if service.up:
        text = "its compute service still reports; it is removed once that has ended"
        return Decision(Step.WAIT, Reason.COMPUTE_STILL_REPORTS, text)
    return Decision(Step.REMOVE, Reason.NODE_REMOVED, "nothing runs on it any more")


def _servers_left(servers: int, why: str) -> Decision:
    text = (
        f"{why}, and OpenStack has {servers} servers on it: evacuate them (osctl node maintain NODE --mode "
        "Evacuate) or bring the node back"
    )
    return Decision(Step.BLOCKED, Reason.SERVERS_LEFT, text)


def _unregistered(node: ComputeNode, now: float) -> Decision:
    left = node.created + REGISTER_WITHIN - now
    if left > 0:
        text = "its compute service has not registered yet"
        return Decision(Step.WAIT, Reason.COMPUTE_AWAITED, text, after=left)
    text = f"no compute service registered within {REGISTER_WITHIN:.0f} s; see nova-compute on the node"
    return Decision(Step.BLOCKED, Reason.COMPUTE_MISSING, text)


def _replaced(facts: HostFacts, node: ComputeNode, policy: NodePolicy, now: float) -> Decision:
    """A new machine under an old name: Nova refuses its compute while the old one's service is there."""
    left = node.created + policy.hold_down - now
    if left > 0:
        text = "the node was replaced; its compute may come back by itself"
        return Decision(Step.WAIT, Reason.NODE_REPLACED, text, after=left)
    if facts.servers is None:
        return Decision(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known whether servers are left on it")
    if facts.servers:
        return _servers_left(facts.servers, "the node was replaced by another of the same name")
    return Decision(Step.REMOVE, Reason.NODE_REPLACED, "the old compute service makes room for the new one")


def _not_ready(
    facts: HostFacts, node: ComputeNode, *, policy: NodePolicy, braked: str, now: float
) -> Decision:
    service = facts.service
    if service is None:
        return _unregistered(node, now)
    if facts.maintenance:
        return Decision(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    left = node.since + policy.hold_down - now
    if left > 0:
        text = f"not ready; its compute service is disabled if that lasts {policy.hold_down:.0f} s"
        return Decision(Step.WAIT, Reason.NODE_NOT_READY, text, after=left)
    if braked:
        return Decision(Step.BLOCKED, Reason.AUTOMATION_BRAKED, braked)
    if service.enabled:
        text = f"not ready for {policy.hold_down:.0f} s and more"
        return Decision(Step.DISABLE, Reason.NODE_NOT_READY, text, mark=MARK + "node not ready")
    if not is_ours(service.reason):
        return _left_alone(service)
    if not policy.evacuate:
        text = "not ready; its compute service is disabled, its servers stay (evacuation: Never)"
        return Decision(Step.NOTHING, Reason.NODE_NOT_READY, text)
    if service.up:
        text = "the node is not ready, but its compute service reports: its servers run, nothing is moved"
        return Decision(Step.BLOCKED, Reason.COMPUTE_STILL_REPORTS, text)
    if node.fenced < node.since:
        text = (
            "servers are evacuated once it is certain that the node is off: by the fencing service, or "
            f"after looking, with osctl node fenced {node.name}"
        )
        return Decision(Step.BLOCKED, Reason.FENCING_AWAITED, text)
    if facts.servers is None:
        return Decision(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known which servers are on it")
    if facts.servers == 0:
        return Decision(Step.NOTHING, Reason.NODE_NOT_READY, "not ready; no server is on it")
    return Decision(Step.EVACUATE, Reason.EVACUATING, f"fenced; {facts.servers} servers are evacuated")


def _left_alone(service: ComputeService) -> Decision:
    text = f'its compute service was disabled by someone else ("{service.reason}"): left as it is'
    return Decision(Step.NOTHING, Reason.DISABLED_BY_OTHERS, text)


def _ready(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> Decision:
    if facts.maintenance:
        return Decision(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    if node.cordoned:
        if service.enabled:
            text = "the node is cordoned: its compute service takes no new servers"
            return Decision(Step.DISABLE, Reason.NODE_CORDONED, text, mark=MARK + "node cordoned")
        return Decision(Step.NOTHING, Reason.NODE_CORDONED, "cordoned; its compute service is disabled")
    if service.enabled and not service.forced_down:
        if not facts.mapped and service.up:
            return _unmapped(node, now)
        return Decision(Step.NOTHING, Reason.NODE_IN_SERVICE, "")
    if not service.enabled and not is_ours(service.reason):
        return _left_alone(service)
    if service.enabled:
        text = "its compute service was forced down by someone else: left as it is"
        return Decision(Step.NOTHING, Reason.DISABLED_BY_OTHERS, text)
    return _return(facts, node, service, now)


def _unmapped(node: ComputeNode, now: float) -> Decision:
    left = node.created + MAP_AFTER - now
    if left > 0:
        text = "its compute has registered, and is not mapped to a cell yet"
        return Decision(Step.WAIT, Reason.CELL_MAPPING_AWAITED, text, after=left)
    return Decision(Step.MAP_CELL, Reason.CELL_MAPPING_AWAITED, "its compute is not mapped to a cell")


def _return(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> Decision:
    """The way back into service, of a host that we disabled."""
    left = calm_left(node, now)
    if left > 0:
        text = f"the node flapped ({LOSSES} times and more in {WINDOW / 60:.0f} minutes): it must stay ready"
        return Decision(Step.WAIT, Reason.NODE_FLAPPING, text, after=left)
    if facts.unready_pods:
        names = ", ".join(facts.unready_pods[:3])
        return Decision(Step.WAIT, Reason.PODS_NOT_READY, f"waits for its pods: {names}")
    if service.forced_down:
        text = "its compute is no longer held down, once it has cleaned up what was evacuated"
        return Decision(Step.UNFORCE, Reason.CLEANUP_AWAITED, text)
    if not service.up:
        return Decision(Step.WAIT, Reason.COMPUTE_DOWN, "waits for its compute service to report")
    if facts.agents is None:
        return Decision(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known whether its network agents live")
    dead = [agent.kind for agent in facts.agents if not agent.alive]
    if dead or (facts.agents_expected and not facts.agents):
        text = f"waits for its network agents{': ' + ', '.join(sorted(dead)) if dead else ''}"
        return Decision(Step.WAIT, Reason.AGENTS_DOWN, text)
    if not facts.mapped:
        return _unmapped(node, now)
    return Decision(Step.ENABLE, Reason.NODE_IN_SERVICE, "node, pods, compute service and agents are up")


def calm_left(node: ComputeNode, now: float) -> float:
    """Seconds for which a node that flapped must still stay ready, 0.0 or less when it need not."""
    recent = [at for at in node.losses if now - at <= WINDOW]
    return node.since + CALM - now if len(recent) >= LOSSES else 0.0


def is_bad(facts: HostFacts) -> bool:
    """Whether the host is away without anybody's plan: what the brake counts.

    Evacuating it by ourselves makes nothing good: who is evacuated still counts, or hosts that die one by
    one would all be.
    """
    if facts.maintenance and not facts.automatic:
        return False
    if facts.node is None:
        return facts.service is not None
    if not facts.node.ready:
        return True
    service = facts.service
    return service is not None and not service.up and (service.enabled or is_ours(service.reason))


def brake(hosts: Iterable[HostFacts], policy: NodePolicy) -> str:
    """Why automatic action stops, empty while it may go on.

    One host may always be bad, or a small cloud could never be helped.
    """
    known = list(hosts)
    bad = sorted(one.name for one in known if is_bad(one))
    allowed = max(1, int(len(known) * policy.brake))
    if len(bad) <= allowed:
        return ""
    shown = ", ".join(bad[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
    return (
        f"{len(bad)} of {len(known)} computes are bad at once ({shown}), more than the {policy.brake:.0%} "
        "that may be: look for a common cause; automatic action goes on when fewer are"
    )
