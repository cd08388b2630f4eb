"""The policy for a region's nodes: the parsed `spec.features.nodes`. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.api.region_spec import NodesFeature, RegionSpec, SecretKey
from controller.domain.shared.durations import parse_duration
from controller.domain.shared.max_unhealthy import MaxUnhealthy, parse_max_unhealthy

_HOLD_DOWN = float(parse_duration(NodesFeature.hold_down))
_LIMIT = parse_max_unhealthy(NodesFeature.max_unhealthy)


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """`spec.features.nodes`. `hold_down` in seconds; `max_unhealthy`: the limit of the circuit breaker.

    `fencing`: URL of a fencing service, with its bearer token and its authority. `paused`: the region's mode
    is Paused, or `restore` holds it, and nothing is done automatically.
    """

    hold_down: float = _HOLD_DOWN
    evacuate: bool = False
    max_unhealthy: MaxUnhealthy = _LIMIT
    fencing: str = ""
    fencing_token: SecretKey | None = None
    fencing_authority: SecretKey | None = None
    paused: bool = False
    restore: str = ""


def node_policy(spec: RegionSpec, restore: str = "") -> NodePolicy:
    """The policy of a region's spec, which a restore of that name holds. Raises ValueError on values out of
    bounds."""
    given = spec.features.nodes
    return NodePolicy(
        hold_down=float(parse_duration(given.hold_down)),
        evacuate=given.evacuation == "Auto",
        max_unhealthy=parse_max_unhealthy(given.max_unhealthy),
        fencing=given.fencing.url,
        fencing_token=given.fencing.token,
        fencing_authority=given.fencing.authority,
        paused=spec.paused or bool(restore),
        restore=restore,
    )
