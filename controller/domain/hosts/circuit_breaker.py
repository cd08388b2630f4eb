"""The brake: when too many compute hosts are bad at once, nothing is done by itself. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain.hosts.next_step import HostFacts
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.shared.cloud_facts import is_ours


def is_bad(facts: HostFacts) -> bool:
    """Whether the host is away without anybody's plan: what the brake counts.

    Evacuating it by ourselves makes nothing good: who is evacuated still counts, or hosts that die one by
    one would all be. A host without a Node does not count once it is silent and certainly empty: that is a
    machine given up, and many of them may be.
    """
    if facts.maintenance and not facts.automatic:
        return False
    if facts.node is None:
        return facts.service is not None and (facts.service.up or facts.servers != 0)
    if not facts.node.ready:
        return True
    service = facts.service
    return service is not None and not service.up and (service.enabled or is_ours(service.reason))


def circuit_breaker_trips(hosts: Iterable[HostFacts], policy: NodePolicy) -> str:
    """Why automatic action stops, empty while it may go on.

    One host may always be bad, or a small cloud could never be helped.
    """
    # A Node beside the one that has the host is no machine of its own.
    known = [one for one in hosts if one.was_compute and not one.taken_over]
    bad = sorted(one.name for one in known if is_bad(one))
    allowed = max(1, int(len(known) * policy.circuit_breaker))
    if len(bad) <= allowed:
        return ""
    shown = ", ".join(bad[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
    return (
        f"{len(bad)} of {len(known)} computes are bad at once ({shown}), more than the "
        f"{policy.circuit_breaker:.0%} that may be: "
        "look for a common cause; automatic action goes on when fewer are"
    )
