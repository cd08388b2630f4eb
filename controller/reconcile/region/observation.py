"""What core has found and done in one pass at a region."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import RegionSpec
from controller.domain.backups.backup_state import BackupState
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
    """What one pass has found and done. `begins`: the controller accepted an approval, and has not begun yet;
    `applying`: the controller applies it. `lacking`: the bundles of `problem`, while all others are served.
    `again`: seconds until another pass may find what is missing. `plan`: None if the mode is not Plan, or if
    the plan in the status stays. `fields`: the fields of the spec that count from now on; None for the
    earlier fields. `awaiting_approval`: the region is paused, and its bundles differ from the spec. `kept`:
    bundles that the spec neither requests nor removes. `upgrade`: the upgrade of OpenStack that runs, or has
    just ended. `restore`: the RegionRestore that holds the region. `backup`: its backups, if it asks for
    them."""

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
    restore: KubeObject | None = None
    backup: BackupState | None = None

    @property
    def waits(self) -> bool:
        """Whether something is asked for that is only planned so far."""
        return self.plan is not None and not self.plan.empty

    @property
    def served(self) -> bool:
        """Whether the bundles are what the spec asks for."""
        held = self.problem or self.waits or self.awaiting_approval or self.upgrading
        return self.region is not None and self.restore is None and not held

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
        """The bundles, except for kept ones."""
        return [bundle for bundle in self.bundles if name_of(bundle) not in self.kept]


def without_charts(
    found: RegionObservation, reason: Reason, error: Exception, again: float
) -> RegionObservation:
    """A pass that could not see a chart of the region: everything stays as it is until it can be seen."""
    return replace(found, region=None, problem=str(error), problem_reason=reason, again=again)


# Obstacles that end without an edit of the spec, and without an event: someone empties a broker, removes the
# region's own server, or moves a bundle.
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
