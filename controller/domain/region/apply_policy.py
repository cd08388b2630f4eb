"""How a spec is to be applied: what is obeyed also while the rest of the spec has mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from controller.domain.releases.bundle import BundleMode, VolumePolicy

_MODES: dict[str, BundleMode] = {word: word for word in get_args(BundleMode)}
_VOLUMES: dict[str, VolumePolicy] = {word: word for word in get_args(VolumePolicy)}


@dataclass(frozen=True)
class ApplyPolicy:
    """`spec.mode`, `spec.approvedPlan` (empty: none) and `spec.volumes` of a region."""

    mode: BundleMode = "Apply"
    approved_plan: str = ""
    volumes: VolumePolicy = "Retain"

    @property
    def paused(self) -> bool:
        """Whether nothing may be changed."""
        return self.mode == "Paused"

    @property
    def planned(self) -> bool:
        """Whether what the spec asks for is only planned until it is approved."""
        return self.mode == "Plan"


def parse_apply_policy(spec: Mapping[str, Any] | None) -> ApplyPolicy:
    """The policy of a spec, or of none; raises nothing.

    Who pauses a region does so while they correct its spec: this is read before the spec is judged. Words
    that the definition does not know, which no API server stores, count as the defaults.
    """
    given = spec or {}
    return ApplyPolicy(
        mode=_MODES.get(str(given.get("mode")), "Apply"),
        approved_plan=str(given.get("approvedPlan") or ""),
        volumes=_VOLUMES.get(str(given.get("volumes")), "Retain"),
    )
