"""What to do next for one compute host, from what Kubernetes and OpenStack report of it. Pure.

One decision at a time, from facts alone, so that it may be repeated after any interruption. What is not known
(None) never counts as zero or empty: the step is to wait. Only what carries our mark is undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import AUTOMATIC_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.shared.cloud_facts import (
    MARK,
    REMOVED,
    Agent,
    ComputeService,
    forced_by_us,
    forced_reason,
    is_ours,
    reason_before,
)

# A new compute should have registered, and been mapped to its cell, within so many seconds.
REGISTER_WITHIN = 600.0
MAP_AFTER = 60.0
# The region's own Job maps within minutes: a host that is not by then needs somebody to look.
MAP_WITHIN = 900.0
# So many losses of readiness within the window make a node flap; then it must be calm for a while.
LOSSES, WINDOW, CALM = 3, 600.0, 300.0
# So many passes in a row must find nothing of a host before that is believed.
MISSING_OBSERVATIONS = 3


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


# Nothing is changed by these.
PASSIVE = (Step.NOTHING, Step.WAIT, Step.BLOCKED, Step.FORGET)


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """The Kubernetes side of a host. Times in seconds since the epoch, 0.0 for never or not known.

    `since`: when it came to be ready, or not ready. `fenced`: whether it is not ready, and a confirmation
    that it is off holds. `losses`: when it lost its readiness, as far as remembered.
    """

    name: str
    uid: str
    ready: bool
    since: float
    created: float = 0.0
    cordoned: bool = False
    fenced: bool = False
    losses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All that a decision needs. `node` is None when the Node is gone or is no compute node any more.

    `was_compute`: the Node is, or was, one for computes. `missing_since`, `missing_observations`: when its
    service was first missed, and in how many passes since; `unmapped_since`: when its service was first
    seen without a cell. `agents` and `servers` are None where that is not known. `known_uid`: of the Node
    that the present compute service belonged to. `unready_pods`: those of the region on this node.
    `maintenance`: the NodeMaintenance at work on it. `agents_expected`: other computes have network agents.
    `automatic`: the maintenance is our own answer to a node that was lost. `host`: as OpenStack calls it.
    `taken_over`: the Node that has the host now, where this one is gone or only stands beside it.
    `forced_down_by_us`: the id of the compute service of this host that we forced down. `node_known_for`:
    seconds for which we observe its Node. `reports`: its compute was lately seen to report, if forced down too.
    """

    name: str
    node: ComputeNode | None
    service: ComputeService | None
    was_compute: bool = True
    missing_since: float = 0.0
    missing_observations: int = 0
    unmapped_since: float = 0.0
    mapped: bool = True
    agents: tuple[Agent, ...] | None = ()
    agents_expected: bool = False
    automatic: bool = False
    servers: int | None = None
    unready_pods: tuple[str, ...] = ()
    maintenance: str = ""
    known_uid: str = ""
    host: str = ""
    taken_over: str = ""
    forced_down_by_us: str = ""
    node_known_for: float = 0.0
    reports: bool = False

    @property
    def is_settled(self) -> bool:
        return self.service is not None and (self.service.up or self.reports)

    @property
    def is_forced_down_by_us(self) -> bool:
        """Whether the compute service is forced down by us, whatever its reason has become since."""
        service = self.service
        if service is None or not service.forced_down:
            return False
        return forced_by_us(service.reason) or service.id == self.forced_down_by_us

    def mark(self, why: str) -> str:
        """What to leave in disabled_reason of a service that is enabled."""
        return forced_reason(None) if self.is_forced_down_by_us else MARK + why


@dataclass(frozen=True, slots=True)
class NextStep:
    """`mark` is what to leave in disabled_reason, with Step.DISABLE. `after`: look again then, seconds."""

    step: Step
    reason: Reason
    message: str = ""
    mark: str = ""
    after: float | None = None


def is_plan(maintenance: Mapping[str, Any]) -> bool:
    """Whether a NodeMaintenance only plans. One that has begun does not become a plan again."""
    return bool(maintenance["spec"].get("dryRun")) and not has_begun(maintenance)


def has_begun(maintenance: Mapping[str, Any]) -> bool:
    """Whether a NodeMaintenance looks after its host, or did: one that is still queued does not yet."""
    return bool((maintenance.get("status") or {}).get("startedAt"))


def is_put_back(maintenance: Mapping[str, Any]) -> bool:
    """Whether a NodeMaintenance only waits for moves to confirm: its host is managed as usual again."""
    said = find((maintenance.get("status") or {}).get("conditions") or (), "Ready").get("reason")
    return bool(maintenance["metadata"].get("deletionTimestamp")) and said == Reason.MOVES_UNCONFIRMED


def is_automatic(maintenance: Mapping[str, Any]) -> bool:
    """Whether the controller made this NodeMaintenance by itself."""
    return AUTOMATIC_LABEL in (maintenance["metadata"].get("labels") or {})


def decide_host(facts: HostFacts, policy: NodePolicy, breaker_open: str, now: float) -> NextStep:
    """The next step. `breaker_open`: why automatic action is stopped, empty while it is not.

    In a region that is paused, what would be done is reported and not done.
    """
    decision = _decide(facts, policy, breaker_open, now)
    if not policy.paused or decision.step in PASSIVE:
        return decision
    text = f"spec.mode is Paused: nothing is done ({decision.step}: {decision.message})"
    return NextStep(Step.BLOCKED, Reason.PAUSED, text)


def _decide(facts: HostFacts, policy: NodePolicy, breaker_open: str, now: float) -> NextStep:
    if facts.taken_over:
        text = f"its host belongs to the node {facts.taken_over} now"
        step = Step.FORGET if facts.node is None else Step.NOTHING
        return NextStep(step, Reason.NODE_REPLACED, text)
    if facts.node is None:
        return _without_node(facts, breaker_open)
    if facts.service is None:
        return _unregistered(facts, facts.node, now)
    if not facts.node.ready:
        return _not_ready(facts, facts.node, policy=policy, breaker_open=breaker_open, now=now)
    replaced = facts.known_uid not in ("", facts.node.uid)
    if replaced and not facts.is_settled:
        return _replaced(facts, policy=policy, breaker_open=breaker_open)
    return _ready(facts, facts.node, facts.service, now)


def _without_node(facts: HostFacts, breaker_open: str) -> NextStep:
    service = facts.service
    if service is None:
        return _without_service(facts, breaker_open)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    if service.enabled:
        text = "the node was removed, or lost its role"
        return NextStep(Step.DISABLE, Reason.NODE_REMOVED, text, mark=REMOVED)
    if facts.servers is None:
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known whether servers remain on it")
    if facts.servers:
        return _servers_remaining(facts, "the node was removed")
    if service.up:
        text = "its compute service still reports; it is removed once that has ended"
        return NextStep(Step.WAIT, Reason.COMPUTE_STILL_REPORTS, text)
    return NextStep(Step.REMOVE, Reason.NODE_REMOVED, "nothing runs on it any more")


def _without_service(facts: HostFacts, breaker_open: str) -> NextStep:
    """A list that is valid and too short looks like a service that is gone: others have to agree."""
    if facts.missing_observations < MISSING_OBSERVATIONS:
        text = (
            f"OpenStack lists no compute service of it; that is believed after {MISSING_OBSERVATIONS} passes"
        )
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, text)
    if facts.mapped and facts.was_compute:
        text = "Nova lists its hypervisor, and no compute service of it: nothing is done"
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, text)
    if facts.agents is None:
        text = "it is not known whether network agents of it remain"
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, text)
    alive = sorted(one.kind for one in facts.agents if one.alive)
    if alive:
        text = f"its network agents still report: {', '.join(alive)}; they are removed once they have ended"
        return NextStep(Step.WAIT, Reason.COMPUTE_STILL_REPORTS, text)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    return NextStep(Step.REMOVE, Reason.NODE_REMOVED, "what remains of it in OpenStack is removed")


def _servers_remaining(facts: HostFacts, why: str) -> NextStep:
    text = (
        f"{why}, and OpenStack has {facts.servers} servers on it: evacuate them, when the machine is off "
        f"(osctl node maintain {facts.name} --mode evacuate --fenced), or bring the node back"
    )
    return NextStep(Step.BLOCKED, Reason.SERVERS_LEFT, text)


def _unregistered(facts: HostFacts, node: ComputeNode, now: float) -> NextStep:
    left = max(node.created, facts.missing_since) + REGISTER_WITHIN - now
    if left > 0:
        text = "its compute service has not registered yet"
        return NextStep(Step.WAIT, Reason.COMPUTE_AWAITED, text, after=left)
    text = f"no compute service registered within {REGISTER_WITHIN:.0f} s; see nova-compute on the node"
    return NextStep(Step.BLOCKED, Reason.COMPUTE_MISSING, text)


def _replaced(facts: HostFacts, *, policy: NodePolicy, breaker_open: str) -> NextStep:
    """A new machine under an old name: Nova refuses its compute while the old one's service is there."""
    if facts.maintenance and not facts.automatic:
        return NextStep(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    left = policy.hold_down - facts.node_known_for
    if left > 0:
        text = "the node was replaced; its compute may come back by itself"
        return NextStep(Step.WAIT, Reason.NODE_REPLACED, text, after=left)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    if facts.servers is None:
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known whether servers remain on it")
    if facts.servers:
        return _servers_remaining(facts, "the node was replaced by another of the same name")
    return NextStep(Step.REMOVE, Reason.NODE_REPLACED, "the old compute service makes room for the new one")


def _not_ready(
    facts: HostFacts, node: ComputeNode, *, policy: NodePolicy, breaker_open: str, now: float
) -> NextStep:
    service = facts.service
    if service is None:
        return _unregistered(facts, node, now)
    # Our own evacuation may be of an absence before this one: then it waits for fencing, as a new one would.
    if facts.maintenance and (not facts.automatic or node.fenced):
        return NextStep(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    if not node.since:
        return NextStep(Step.WAIT, Reason.NODE_NOT_READY, "it is not known since when it is not ready")
    left = node.since + policy.hold_down - now
    if left > 0:
        text = f"not ready; its compute service is disabled if that lasts {policy.hold_down:.0f} s"
        return NextStep(Step.WAIT, Reason.NODE_NOT_READY, text, after=left)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    if service.enabled:
        text = f"not ready for {policy.hold_down:.0f} s and more"
        return NextStep(Step.DISABLE, Reason.NODE_NOT_READY, text, mark=facts.mark("node not ready"))
    if not is_ours(service.reason):
        return _left_as_is(service)
    if not policy.evacuate:
        text = "not ready; its compute service is disabled, its servers stay (evacuation: Never)"
        return NextStep(Step.NOTHING, Reason.NODE_NOT_READY, text)
    if service.up:
        text = "the node is not ready, but its compute service reports: its servers run, nothing is moved"
        return NextStep(Step.BLOCKED, Reason.COMPUTE_STILL_REPORTS, text)
    if not node.fenced:
        text = (
            "servers are evacuated once it is certain that the node is off: by the fencing service, or "
            f"by a person who has checked it, with osctl node fenced {node.name}"
        )
        return NextStep(Step.BLOCKED, Reason.FENCING_AWAITED, text)
    if facts.servers is None:
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known which servers are on it")
    if facts.servers == 0:
        return NextStep(Step.NOTHING, Reason.NODE_NOT_READY, "not ready; no server is on it")
    return NextStep(Step.EVACUATE, Reason.EVACUATING, f"fenced; {facts.servers} servers are evacuated")


def _left_as_is(service: ComputeService) -> NextStep:
    text = f'its compute service was disabled by someone else ("{service.reason}") and is not changed'
    return NextStep(Step.NOTHING, Reason.DISABLED_BY_OTHERS, text)


def _ready(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    if facts.maintenance:
        return NextStep(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    held = facts.is_forced_down_by_us
    if node.cordoned:
        return _cordoned(facts, node, service, now)
    if service.forced_down and not held:
        text = "its compute service was forced down by someone else and is not changed"
        return NextStep(Step.NOTHING, Reason.DISABLED_BY_OTHERS, text)
    if service.enabled and not held:
        return _serving(facts, node, service, now)
    before = reason_before(service.reason)
    if before is not None and not held:
        text = "its compute service is disabled again for what somebody had disabled it"
        return NextStep(Step.DISABLE, Reason.DISABLED_BY_OTHERS, text, mark=before)
    if not held and not is_ours(service.reason):
        return _left_as_is(service)
    return _return(facts, node, service, now)


def _cordoned(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """It takes no servers; but a compute that we forced down may clean up and report."""
    if service.enabled:
        text = "the node is cordoned: its compute service takes no new servers"
        return NextStep(Step.DISABLE, Reason.NODE_CORDONED, text, mark=facts.mark("node cordoned"))
    back = _return(facts, node, service, now) if facts.is_forced_down_by_us else None
    if back is not None and back.step == Step.UNFORCE:
        return back
    text = "cordoned; its compute service is disabled"
    if back is not None:
        return NextStep(
            back.step if back.step == Step.WAIT else Step.NOTHING, back.reason, f"{text}; {back.message}"
        )
    return NextStep(Step.NOTHING, Reason.NODE_CORDONED, text)


def _serving(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """A host in service: nothing is done to it, but faults are reported."""
    if not service.up:
        text = "the node is ready, and its compute service does not report; see nova-compute on the node"
        return NextStep(Step.BLOCKED, Reason.COMPUTE_DOWN, text)
    if not facts.mapped:
        return _unmapped(facts, node, now)
    dead = sorted({agent.kind for agent in facts.agents or () if not agent.alive})
    if dead:
        text = f"its network agents do not report: {', '.join(dead)}; see their pods on the node"
        return NextStep(Step.BLOCKED, Reason.AGENTS_DOWN, text)
    return NextStep(Step.NOTHING, Reason.NODE_IN_SERVICE, "")


def _unmapped(facts: HostFacts, node: ComputeNode, now: float) -> NextStep:
    left = max(node.created, facts.unmapped_since) + MAP_AFTER - now
    if left > 0:
        text = "its compute has registered, and is not mapped to a cell yet"
        return NextStep(Step.WAIT, Reason.CELL_MAPPING_AWAITED, text, after=left)
    late = 0.0 < facts.unmapped_since < now - MAP_WITHIN
    reason = Reason.CELL_NOT_MAPPED if late else Reason.CELL_MAPPING_AWAITED
    return NextStep(Step.MAP_CELL, reason, "its compute is not mapped to a cell")


def _return(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """The way back into service, of a host that we disabled."""
    left = calm_remaining(node, now)
    if left > 0:
        text = f"the node flapped ({LOSSES} times and more in {WINDOW / 60:.0f} minutes): it must stay ready"
        return NextStep(Step.WAIT, Reason.NODE_FLAPPING, text, after=left)
    if facts.unready_pods:
        names = ", ".join(facts.unready_pods[:3])
        return NextStep(Step.WAIT, Reason.PODS_NOT_READY, f"waits for its pods: {names}")
    if service.forced_down:
        text = "forced_down is removed once its compute service has cleaned up what was evacuated"
        return NextStep(Step.UNFORCE, Reason.CLEANUP_AWAITED, text)
    if not service.up:
        return NextStep(Step.WAIT, Reason.COMPUTE_DOWN, "waits for its compute service to report")
    if facts.agents is None:
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, "it is not known whether its network agents live")
    dead = [agent.kind for agent in facts.agents if not agent.alive]
    if dead or (facts.agents_expected and not facts.agents):
        text = f"waits for its network agents{': ' + ', '.join(sorted(dead)) if dead else ''}"
        return NextStep(Step.WAIT, Reason.AGENTS_DOWN, text)
    if not facts.mapped:
        return _unmapped(facts, node, now)
    return NextStep(Step.ENABLE, Reason.NODE_IN_SERVICE, "node, pods, compute service and agents are up")


def calm_remaining(node: ComputeNode, now: float) -> float:
    """Seconds for which a node that flapped must still stay ready, 0.0 or less when it need not."""
    recent = [at for at in node.losses if now - at <= WINDOW]
    return node.since + CALM - now if len(recent) >= LOSSES else 0.0
