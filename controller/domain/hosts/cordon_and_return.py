"""A host whose Node is ready: disabled while the Node is cordoned, and the way back into service. Pure."""

from __future__ import annotations

from controller.domain.api.reasons import Reason
from controller.domain.hosts.host_facts import ComputeNode, HostFacts, NextStep, Step
from controller.domain.shared.cloud_facts import (
    ComputeService,
    is_ours,
    reason_before,
)

# Seconds until a registered compute service must be mapped to its cell.
MAP_AFTER = 60.0
# The region's own Job maps within minutes; after that a host needs an operator.
MAP_WITHIN = 900.0
# This many losses of readiness within the window make a node flap; then it must be calm for a while.
LOSSES, WINDOW, CALM = 3, 600.0, 300.0


def left_as_is(service: ComputeService) -> NextStep:
    """Nothing, because another person or program disabled its compute service."""
    text = f'another party disabled the compute service ("{service.reason}") and is not changed'
    return NextStep(Step.NOTHING, Reason.DISABLED_BY_OTHERS, text)


def decide_ready_host(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """The next step of a host whose Node is ready. Only changes with our mark are reverted."""
    if facts.maintenance:
        return NextStep(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    forced_by_us = facts.is_forced_down_by_us
    if node.cordoned:
        return _cordoned(facts, node, service, now)
    if service.forced_down and not forced_by_us:
        text = "another party forced the compute service down, so the controller does not change it"
        return NextStep(Step.NOTHING, Reason.DISABLED_BY_OTHERS, text)
    if service.enabled and not forced_by_us:
        return _serving(facts, node, service, now)
    before = reason_before(service.reason)
    if before is not None and not forced_by_us:
        text = "the compute service is disabled again, with the earlier reason"
        return NextStep(Step.DISABLE, Reason.DISABLED_BY_OTHERS, text, mark=before)
    if not forced_by_us and not is_ours(service.reason):
        return left_as_is(service)
    return _return(facts, node, service, now)


def _cordoned(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """It accepts no servers; but a compute service that we forced down may clean up and report."""
    if service.enabled:
        text = "the node is cordoned: the compute service accepts no new servers"
        return NextStep(Step.DISABLE, Reason.NODE_CORDONED, text, mark=facts.mark("node cordoned"))
    back = _return(facts, node, service, now) if facts.is_forced_down_by_us else None
    if back is not None and back.step == Step.UNFORCE:
        return back
    text = "cordoned; the compute service is disabled"
    if back is not None:
        return NextStep(
            back.step if back.step == Step.WAIT else Step.NOTHING, back.reason, f"{text}; {back.message}"
        )
    return NextStep(Step.NOTHING, Reason.NODE_CORDONED, text)


def _serving(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """A host in service: nothing is done to it, but faults are reported."""
    if not service.up:
        text = "the node is ready, but its compute service does not report; check nova-compute on the node"
        return NextStep(Step.BLOCKED, Reason.COMPUTE_DOWN, text)
    if not facts.mapped:
        return _unmapped(facts, node, now)
    dead = sorted({agent.kind for agent in facts.agents or () if not agent.alive})
    if dead:
        text = f"the network agents do not report: {', '.join(dead)}; check their pods on the node"
        return NextStep(Step.BLOCKED, Reason.AGENTS_DOWN, text)
    return NextStep(Step.NOTHING, Reason.NODE_IN_SERVICE, "")


def _unmapped(facts: HostFacts, node: ComputeNode, now: float) -> NextStep:
    remaining = max(node.created, facts.unmapped_since) + MAP_AFTER - now
    if remaining > 0:
        text = "the compute service has registered, but is not mapped to a cell yet"
        return NextStep(Step.WAIT, Reason.CELL_MAPPING_AWAITED, text, after=remaining)
    late = 0.0 < facts.unmapped_since < now - MAP_WITHIN
    reason = Reason.CELL_NOT_MAPPED if late else Reason.CELL_MAPPING_AWAITED
    return NextStep(Step.MAP_CELL, reason, "the compute service is not mapped to a cell")


def _return(facts: HostFacts, node: ComputeNode, service: ComputeService, now: float) -> NextStep:
    """The way back into service, of a host that we disabled."""
    remaining = calm_remaining(node, now)
    if remaining > 0:
        text = (
            f"the node lost readiness {LOSSES} times or more in {WINDOW / 60:.0f} minutes, so it must "
            "stay ready for longer"
        )
        return NextStep(Step.WAIT, Reason.NODE_FLAPPING, text, after=remaining)
    if facts.unready_pods:
        names = ", ".join(facts.unready_pods[:3])
        return NextStep(Step.WAIT, Reason.PODS_NOT_READY, f"waits for its pods: {names}")
    if service.forced_down:
        text = (
            "the controller removes forced_down when the compute service has cleaned up the evacuated servers"
        )
        return NextStep(Step.UNFORCE, Reason.CLEANUP_AWAITED, text)
    if not service.up:
        return NextStep(Step.WAIT, Reason.COMPUTE_DOWN, "waits for its compute service to report")
    if facts.agents is None:
        return NextStep(
            Step.WAIT, Reason.CLOUD_UNKNOWN, "the controller does not know whether the network agents report"
        )
    dead = [agent.kind for agent in facts.agents if not agent.alive]
    if dead or (facts.agents_expected and not facts.agents):
        text = f"waits for its network agents{': ' + ', '.join(sorted(dead)) if dead else ''}"
        return NextStep(Step.WAIT, Reason.AGENTS_DOWN, text)
    if not facts.mapped:
        return _unmapped(facts, node, now)
    return NextStep(Step.ENABLE, Reason.NODE_IN_SERVICE, "node, pods, compute service and agents are up")


def calm_remaining(node: ComputeNode, now: float) -> float:
    """Seconds for which a node that flapped must still stay ready, 0.0 or less if none.

    A time far in the future was recorded before a clock was set back, and does not count.
    """
    recent = [at for at in node.losses if -CALM <= now - at <= WINDOW]
    remaining = node.since + CALM - now
    return remaining if len(recent) >= LOSSES and remaining <= 2 * CALM else 0.0
