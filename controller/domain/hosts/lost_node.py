"""When a Node counts as lost, and what then happens to its host. Pure.

A Node that is not ready for the hold-down is lost: its compute service is disabled. Its servers are evacuated
only when its machine is certainly off: a fencing confirmation is valid, and its compute service is silent.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.domain.api.reasons import Reason
from controller.domain.hosts.cordon_and_return import left_as_is
from controller.domain.hosts.host_facts import ComputeNode, HostFacts, NextStep, Step
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.shared.cloud_facts import ComputeService, is_ours
from controller.domain.shared.plurals import count


def decide_lost_node(
    facts: HostFacts,
    node: ComputeNode,
    service: ComputeService,
    *,
    policy: NodePolicy,
    breaker_open: str,
    now: float,
) -> NextStep:
    """The next step of a host whose Node is not ready."""
    # Our own evacuation may be for an earlier absence: then it waits for fencing, like a new one.
    if facts.maintenance and (not facts.automatic or node.fenced):
        return NextStep(Step.NOTHING, Reason.IN_MAINTENANCE, f"in maintenance by {facts.maintenance}")
    if not node.since:
        return NextStep(
            Step.WAIT, Reason.NODE_NOT_READY, "the node is not ready; the controller does not know since when"
        )
    remaining = node.since + policy.hold_down - now
    if remaining > 0:
        text = (
            f"not ready; the controller disables the compute service if this lasts {policy.hold_down:.0f} s"
        )
        return NextStep(Step.WAIT, Reason.NODE_NOT_READY, text, after=remaining)
    if breaker_open:
        return NextStep(Step.BLOCKED, Reason.TOO_MANY_UNHEALTHY, breaker_open)
    if service.enabled:
        text = f"not ready for more than {policy.hold_down:.0f} s"
        return NextStep(Step.DISABLE, Reason.NODE_NOT_READY, text, mark=facts.mark("node not ready"))
    if not is_ours(service.reason):
        return left_as_is(service)
    if not policy.evacuate:
        text = "not ready; the compute service is disabled, and the servers stay (evacuation: Never)"
        return NextStep(Step.NOTHING, Reason.NODE_NOT_READY, text)
    if service.up:
        text = (
            "the node is not ready, but the compute service reports: the servers run, and the "
            "controller does not move them"
        )
        return NextStep(Step.BLOCKED, Reason.COMPUTE_STILL_REPORTS, text)
    if not node.fenced:
        text = (
            "servers are evacuated once the fencing service, or a person with osctl node fenced "
            f"{node.name}, confirms that the node is off"
        )
        return NextStep(Step.BLOCKED, Reason.FENCING_AWAITED, text)
    return _evacuation(facts, node)


def _evacuation(facts: HostFacts, node: ComputeNode) -> NextStep:
    """For a host whose machine is certainly off."""
    if facts.servers is None:
        return NextStep(
            Step.WAIT, Reason.CLOUD_UNKNOWN, "the controller does not know which servers are on the node"
        )
    if facts.servers == 0:
        return NextStep(Step.NOTHING, Reason.NODE_NOT_READY, "not ready; no server is on it")
    if facts.known_uid not in ("", node.uid):
        # The machine of this Node is off. Its compute service never reported, so the servers are older.
        return servers_remaining(facts, "the servers belong to the machine that had this name before")
    return NextStep(
        Step.EVACUATE,
        Reason.EVACUATING,
        f"fenced; {count(facts.servers, 'server is', 'servers are')} evacuated",
    )


def servers_remaining(facts: HostFacts, why: str) -> NextStep:
    """Servers remain on a host without its Node: only people know whether its machine is off."""
    servers = count(facts.servers or 0, "server")
    text = (
        f"{why}, and OpenStack has {servers} on it: evacuate them if the machine is off (osctl node "
        f"maintain {facts.name} --mode evacuate --fenced), or bring the node back"
    )
    return NextStep(Step.BLOCKED, Reason.SERVERS_LEFT, text)


def still_runs(node: NodeFacts | None, beside: Sequence[NodeFacts]) -> str:
    """The Node of the machine that is ready, in words; empty for none. `beside`: others of the same host."""
    if node is not None and node.is_ready:
        return "the node is ready, so its servers run; migrate them instead"
    ready = next((one.name for one in beside if one.is_ready), "")
    if not ready:
        return ""
    return f"the machine is now the node {ready}, which is ready, so the servers run; migrate them instead"


def is_certainly_off(nodes: Sequence[NodeFacts], service: ComputeService | None) -> bool:
    """Whether a confirmation on one of the Nodes of the machine is valid."""
    return any(
        node.is_fenced and not node.runs(service, [one for one in nodes if one is not node]) for node in nodes
    )
