"""What core has found and done in one pass at a region."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import RegionSpec
from controller.domain.region.plan import RegionPlan
from controller.domain.region.plan_approval import Approval
from controller.domain.region.upgrade.upgrade_state import Upgrade
from controller.errors import (
    BundleNameTaken,
    ChartInvalid,
    OwnServerRuns,
    Problem,
    SpecInvalid,
    VersionStepRefused,
)
from controller.ports.kubernetes import KubeObject, KubeObjects
from controller.reconcile.region.bundle_writer import name_of
from controller.reconcile.shared.chart_errors import chart_reason, retry_after
from controller.render.region import Region

STEP_RETRY_SECONDS = 15.0


@dataclass(frozen=True)
class RegionObservation:
    """What one pass has found and done. `begins`: an approval was taken up and waits to be acted upon;
    `applying`: it is being acted upon. `lacking`: the bundles that `problem` is about, where all others are
    served. `again`: seconds until another pass may find what is missing. Of `plan` None means that the mode
    is not Plan, or that the plan in the status stays. `fields`: those of the spec that are in force from now
    on; None for those before. `awaiting_approval`: the region is paused, and its
    bundles are not what the spec asks for. `kept`: bundles that it does not ask for, and nobody took out.
    `upgrade`: the upgrade of OpenStack that runs, or has just ended."""

    spec: RegionSpec
    bundles: KubeObjects
    region: Region | None = None
    problem: str = ""
    problem_reason: Reason = Reason.SPEC_INVALID
    lacking: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    again: float = math.inf
    awaiting_approval: bool = False
    deleting: bool = False
    plan: RegionPlan | None = None
    fields: Mapping[str, Any] | None = None
    approval: Approval | None = None
    begins: bool = False
    applying: bool = False
    upgrade: Upgrade | None = None

    @property
    def waits(self) -> bool:
        """Whether something is asked for that is only planned so far."""
        return self.plan is not None and not self.plan.empty

    @property
    def served(self) -> bool:
        """Whether the bundles are what the spec asks for."""
        held = self.problem or self.waits or self.awaiting_approval or self.upgrading
        return self.region is not None and not held

    @property
    def upgrading(self) -> bool:
        """Whether steps of an upgrade are left."""
        return self.upgrade is not None and not self.upgrade.over

    @property
    def names(self) -> frozenset[str]:
        """The names of the bundles that there are."""
        return frozenset(map(name_of, self.bundles))

    @property
    def desired(self) -> frozenset[str]:
        """The names of the bundles that there are to be, while anything is acted upon."""
        if self.region is None or self.waits or self.awaiting_approval:
            return self.names
        desired = frozenset(bundle.name for bundle in self.region.bundles)
        if self.upgrading:
            return self.names
        return desired | self.region.missing.keys() | self.kept

    @property
    def changing(self) -> KubeObjects:
        """The bundles but for those that are kept."""
        return [bundle for bundle in self.bundles if name_of(bundle) not in self.kept]


def without_charts(
    found: RegionObservation, reason: Reason, error: Exception, again: float
) -> RegionObservation:
    """A pass that could not see a chart of the region: everything stays as it is until it can be seen."""
    return replace(found, region=None, problem=str(error), problem_reason=reason, again=again)


# What keeps a spec from being served that ends without an edit, and of whose end no event tells: a broker is
# emptied, the region's own server makes way, somebody moves their bundle.
_WAITS_FOR: Mapping[type[SpecInvalid], Reason] = {
    VersionStepRefused: Reason.VERSION_STEP_REFUSED,
    BundleNameTaken: Reason.BUNDLE_NAME_TAKEN,
    OwnServerRuns: Reason.SPEC_INVALID,
}


def refused(found: RegionObservation, error: SpecInvalid) -> RegionObservation:
    """A pass that leaves everything as it is: the spec cannot be served as it is, or beside what runs."""
    waits = _WAITS_FOR.get(type(error))
    again = STEP_RETRY_SECONDS if waits else found.again
    reason = waits or Reason.SPEC_INVALID
    return replace(found, region=None, problem=str(error), problem_reason=reason, again=again)


def beside_taken_names(found: RegionObservation, taken: Mapping[str, Problem]) -> RegionObservation:
    """A pass that has served every service but those whose names others have."""
    names = tuple(sorted({*found.lacking, *taken}))
    text = "; ".join(
        [*(str(taken[name]) for name in sorted(taken)), *([found.problem] if found.problem else [])]
    )
    again = min(found.again, STEP_RETRY_SECONDS)
    return replace(found, problem=text, problem_reason=Reason.BUNDLE_NAME_TAKEN, lacking=names, again=again)


def lacking(found: RegionObservation, missing: Mapping[str, ChartInvalid]) -> RegionObservation:
    """A pass that has served every service but these, which stay as they are."""
    error = next(iter(missing.values()))
    waiting = f"{error}; until then nothing is changed in {', '.join(sorted(missing))}"
    again = min(map(retry_after, missing.values()))
    reason, names = chart_reason(error), tuple(sorted(missing))
    return replace(found, problem=waiting, problem_reason=reason, lacking=names, again=again)


def used_up(approval: Approval | None, desired: str, osdpl: KubeObject) -> Approval | None:
    """An approval that was carried out is remembered: it holds for as long as the same is asked for."""
    if approval is None or not approval.done:
        return None
    return approval.again(osdpl) if approval.desired == desired else approval
