"""The approval of a plan: what it was given for, and whether a spec waits for one. Pure.

`reconcile/region/deployment.py` compares `spec.approvedPlan` with the plan, and carries it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.region_spec import RegionSpec


@dataclass(frozen=True)
class Approval:
    """An approval that was taken up: what it was given for, and how far that is.

    `digest` is the plan's, `desired` that of everything the region asked for when it was taken up: as long
    as it asks for the same, the plan may be carried on although it shrinks. `generation` is the
    osdpl's that asked so last. `done`: all of it is applied, and the approval is used up.
    """

    digest: str
    desired: str
    generation: int
    done: bool = False

    def again(self, osdpl: Mapping[str, Any]) -> Approval:
        """The same approval, found to hold for the osdpl as it is now."""
        return replace(self, generation=int(osdpl["metadata"].get("generation") or 0))

    def entry(self) -> dict[str, Any]:
        """`status.plan.accepted`."""
        return {
            "digest": self.digest,
            "desired": self.desired,
            "generation": self.generation,
            "done": self.done,
        }


def approval_in(status: Mapping[str, Any]) -> Approval | None:
    """The approval that an osdpl's status remembers."""
    given = (status.get("plan") or {}).get("accepted") or {}
    if not (given.get("digest") and given.get("desired")):
        return None
    generation = int(given.get("generation") or 0)
    return Approval(str(given["digest"]), str(given["desired"]), generation, bool(given.get("done")))


def awaits_approval(osdpl: Mapping[str, Any], spec: RegionSpec) -> bool:
    """Whether the region's mode keeps its present spec from being acted upon: an unapproved plan, a pause."""
    if spec.paused:
        return True
    if not spec.planned:
        return False
    approval = approval_in(osdpl.get("status") or {})
    return approval is None or approval.generation != osdpl["metadata"].get("generation")
