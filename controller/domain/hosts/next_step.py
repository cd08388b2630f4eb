"""The next step for one compute host, from facts of Kubernetes and OpenStack.

Pure. Each decision uses facts only, so it may be repeated after any interruption. An unknown fact (None)
never counts as zero or empty: then the step is to wait. Only changes with our mark are reverted.
"""

from __future__ import annotations

from controller.domain.api.reasons import Reason
from controller.domain.hosts.cordon_and_return import MAP_AFTER, decide_ready_host
from controller.domain.hosts.host_facts import PASSIVE, ComputeNode, HostFacts, NextStep, Step
from controller.domain.hosts.lost_node import decide_lost_node, servers_remaining
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.shared.cloud_facts import REMOVED

# Seconds in which a new compute service should register.
REGISTER_WITHIN = 600.0
# Passes in a row that must find nothing of a host before the controller acts on that.
MISSING_OBSERVATIONS = 3


def decide_host(facts: HostFacts, policy: NodePolicy, breaker_open: str, now: float) -> NextStep:
    """The next step.

    `breaker_open`: why automatic action is stopped, or empty. In a paused region, the step is only reported.
    """
    decision = _decide(facts, policy, breaker_open, now)
    if not policy.paused or decision.step in PASSIVE:
        return decision
    cause = f"restore {policy.restore} runs" if policy.restore else "spec.mode is Paused"
    text = f"{cause}: nothing is done ({decision.step}: {decision.message})"
    return NextStep(Step.BLOCKED, Reason.RESTORING if policy.restore else Reason.PAUSED, text)


def _decide(facts: HostFacts, policy: NodePolicy, breaker_open: str, now: float) -> NextStep:
    if facts.doubt:
        return NextStep(Step.BLOCKED, Reason.HOST_AMBIGUOUS, facts.doubt)
    if facts.taken_over:
        text = f"the host of this node now belongs to the node {facts.taken_over}"
        step = Step.FORGET if facts.node is None else Step.NOTHING
        return NextStep(step, Reason.NODE_REPLACED, text)
    if facts.node is None:
        return _without_node(facts, breaker_open)
    if facts.service is None:
        return _unregistered(facts, facts.node, now)
    if not facts.node.ready:
        return decide_lost_node(
            facts, facts.node, facts.service, policy=policy, breaker_open=breaker_open, now=now
        )
    replaced = facts.known_uid not in ("", facts.node.uid)
    if replaced and not facts.is_settled:
        return _replaced(facts, policy=policy, breaker_open=breaker_open)
    return decide_ready_host(facts, facts.node, facts.service, now)


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
        return NextStep(
            Step.WAIT, Reason.CLOUD_UNKNOWN, "the controller does not know whether servers remain on the node"
        )
    if facts.servers:
        return servers_remaining(facts, "the node was removed")
    if service.up:
        text = "the compute service still reports; the controller removes it once it is silent"
        return NextStep(Step.WAIT, Reason.COMPUTE_STILL_REPORTS, text)
    return NextStep(Step.REMOVE, Reason.NODE_REMOVED, "nothing runs on it")


def _without_service(facts: HostFacts, breaker_open: str) -> NextStep:
    """A valid but incomplete list looks like a lost service, so several passes must agree."""
    if facts.missing_observations < MISSING_OBSERVATIONS:
        text = (
            "OpenStack lists no compute service of this host; the controller acts after "
            f"{MISSING_OBSERVATIONS} observations"
        )
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, text)
    if facts.mapped and facts.was_compute:
        text = "Nova lists its hypervisor but not its compute service: nothing is done"
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, text)
    if facts.agents is None:
        text = "the controller does not know whether network agents remain"
        return NextStep(Step.WAIT, Reason.CLOUD_UNKNOWN, text)
    alive = sorted(one.kind for one in facts.agents if one.alive)
    if alive:
        text = (
            f"the network agents still report: {', '.join(alive)}; the controller removes them once they stop"
        )
        return NextStep(Step.WAIT, Reason.COMPUTE_STILL_REPORTS, text)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    return NextStep(
        Step.REMOVE, Reason.NODE_REMOVED, "the controller removes the remaining objects in OpenStack"
    )


def _unregistered(facts: HostFacts, node: ComputeNode, now: float) -> NextStep:
    remaining = max(node.created, facts.missing_since) + REGISTER_WITHIN - now
    if remaining > 0:
        if facts.unmapped_stranger and node.ready and remaining < REGISTER_WITHIN - MAP_AFTER:
            # A host without a name of its Node is known by its address once it is mapped.
            text = "a compute service without a node has registered, and is not mapped to a cell"
            return NextStep(Step.MAP_CELL, Reason.CELL_MAPPING_AWAITED, text)
        text = "the compute service has not registered yet"
        return NextStep(Step.WAIT, Reason.COMPUTE_AWAITED, text, after=remaining)
    text = f"no compute service registered within {REGISTER_WITHIN:.0f} s; check nova-compute on the node"
    text = f"{text}; {facts.strangers}" if facts.strangers else text
    return NextStep(Step.BLOCKED, Reason.COMPUTE_MISSING, text)


def _replaced(facts: HostFacts, *, policy: NodePolicy, breaker_open: str) -> NextStep:
    """A new machine with an old name: Nova refuses its compute service while the old one exists."""
    if facts.maintenance and not facts.automatic:
        return NextStep(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    remaining = policy.hold_down - facts.node_known_for
    if remaining > 0:
        text = "the node was replaced; the compute service may come back by itself"
        return NextStep(Step.WAIT, Reason.NODE_REPLACED, text, after=remaining)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    if facts.servers is None:
        return NextStep(
            Step.WAIT, Reason.CLOUD_UNKNOWN, "the controller does not know whether servers remain on the node"
        )
    if facts.servers:
        return servers_remaining(facts, "the node was replaced by another one with the same name")
    return NextStep(
        Step.REMOVE,
        Reason.NODE_REPLACED,
        "the controller removes the old compute service, because a new one replaces it",
    )
