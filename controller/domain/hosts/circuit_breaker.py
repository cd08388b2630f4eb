"""The circuit breaker: while too many compute hosts are unhealthy, nothing is done automatically. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain.hosts.host_facts import HostFacts
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.shared.cloud_facts import is_ours


def is_unhealthy(facts: HostFacts) -> bool:
    """Whether the host is out of service without a plan, which the circuit breaker counts.

    A host that is evacuated automatically still counts; otherwise hosts that fail one by one would all be
    evacuated. A host without a Node does not count once it is silent and certainly empty: such machines were
    removed, and there may be many.
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
    """Why automatic action stops, empty while it may continue."""
    # A second Node of the same host is not a separate machine.
    known = [one for one in hosts if one.was_compute and not one.taken_over]
    unhealthy = sorted(one.name for one in known if is_unhealthy(one))
    if len(unhealthy) <= policy.max_unhealthy.allowed(len(known)):
        return ""
    shown = ", ".join(unhealthy[:5]) + (f" and {len(unhealthy) - 5} more" if len(unhealthy) > 5 else "")
    return (
        f"{len(unhealthy)} of {len(known)} compute hosts are unhealthy ({shown}), more than "
        f"features.nodes.maxUnhealthy ({policy.max_unhealthy}) allows: nothing is done automatically "
        "until fewer are unhealthy; look for a common cause"
    )
