"""The parts in which a service is upgraded to another version of OpenStack, as its folder names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class UpgradePart:
    """One step of a service's upgrade to another version of OpenStack.

    `part` is empty for the first or only one. `charts` are those that it upgrades: of a chart that an earlier
    part upgrades, only the images of `tags`. `place` is its place among the steps of all services. With
    `by_node` its pods are replaced node by node.
    """

    part: str
    phase: str
    place: int
    charts: tuple[str, ...]
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_node: bool = False


def parse_upgrade_parts(body: Mapping[str, Any], order: int) -> tuple[UpgradePart, ...]:
    """The parts from a service.yaml that matches its schema; without any, all charts at once.

    `order` is the place of a part that names none.
    """
    phase = "Infrastructure" if body["group"] == "infra" else "ControlPlane"
    written = body.get("upgrade") or [{"phase": phase, "charts": list(body["charts"])}]
    return tuple(
        UpgradePart(
            part=one.get("part", ""),
            phase=one["phase"],
            place=one.get("place", order),
            charts=tuple(one["charts"]),
            tags={chart: tuple(tags) for chart, tags in one.get("tags", {}).items()},
            by_node=one.get("byNode", False),
        )
        for one in written
    )
