"""How a region's nodes are to be treated: `spec.features.nodes`, parsed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.shared.durations import parse_duration
from controller.domain.shared.max_unhealthy import MaxUnhealthy, parse_max_unhealthy

DEFAULT_LIMIT = MaxUnhealthy(percentage=20)


@dataclass(frozen=True, slots=True)
class SecretKey:
    """One key of a Secret in the region's namespace."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """`spec.features.nodes`. `hold_down` in seconds; `max_unhealthy`: the limit of the circuit breaker.

    `fencing`: URL of a fencing service, with what it asks for as a bearer's token and with the authority
    that it is known by. `paused`: the region's mode is Paused, and nothing is done by itself.
    """

    hold_down: float = 120.0
    evacuate: bool = False
    max_unhealthy: MaxUnhealthy = DEFAULT_LIMIT
    fencing: str = ""
    fencing_token: SecretKey | None = None
    fencing_authority: SecretKey | None = None
    paused: bool = False


def _secret_key(given: Mapping[str, Any] | None) -> SecretKey | None:
    return SecretKey(str(given["name"]), str(given["key"])) if given else None


def parse_node_policy(spec: Mapping[str, Any] | None, *, paused: bool = False) -> NodePolicy:
    """The policy of a region's spec, with its defaults. Raises ValueError on values out of bounds."""
    features = (spec or {}).get("features") or {}
    given = features.get("nodes") or {}
    fencing = given.get("fencing") or {}
    limit = given.get("maxUnhealthy")
    return NodePolicy(
        hold_down=float(parse_duration(str(given.get("holdDown") or "2m"))),
        evacuate=given.get("evacuation") == "Auto",
        max_unhealthy=DEFAULT_LIMIT if limit is None else parse_max_unhealthy(limit),
        fencing=str(fencing.get("url") or ""),
        fencing_token=_secret_key(fencing.get("tokenFrom")),
        fencing_authority=_secret_key(fencing.get("authorityFrom")),
        paused=paused,
    )
