"""What core knows of a region when it sums up. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.backups.backup_state import BackupState
from controller.domain.region.plan import RegionPlan
from controller.domain.region.plan_approval import Approval
from controller.domain.region.progress import RegionProgress
from controller.domain.region.upgrade.upgrade_state import Upgrade

# Which condition each container answers for. Ready needs those of the containers that are deployed.
ANSWERED_BY = {
    "helmbundle": "ReleasesReady",
    "health": "WorkloadsHealthy",
    "secrets": "SecretsExchanged",
    "node": "NodesReady",
}
# What keeps a spec from being served and may end without an edit.
PASSING = (Reason.CHART_PENDING, Reason.REPOSITORY_UNAVAILABLE, Reason.SECRET_MISSING)


@dataclass(frozen=True)
class SilentContainers:
    """Containers without a sign of life: `silent` if that is certain, `unheard` if this process has not
    observed them for long enough."""

    silent: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RegionFacts:
    """What core knows when it sums up.

    `before` is the osdpl's status as read; `bundles` the HelmBundles as read after they were applied;
    `desired` the names of those that the spec asks for; `problem` why the spec cannot be served, empty
    when it can, `problem_reason` the word for it, and `lacking` the bundles that it concerns where all others
    are served; `fingerprint` is empty unless the bundles are what the spec asks for, and `openstack_version`
    with it; `containers` those that the chart deploys. `plan`
    is what a region with mode Plan waits with, `approval` the approval that holds or was the last,
    `approved` is `spec.approvedPlan`; `keeps_plan`: the status goes on showing the plan that it has.
    `fields`: those of the spec that are in force from now on, None for those before.
    `awaiting_approval`: the region is paused, and its bundles are not what the spec asks for.
    `silence`: which of the other containers do not live, so that what they said counts no more.
    `upgrade`: the upgrade of OpenStack that runs, or has just ended. `restore`: the name of the RegionRestore
    that holds the region, and `restore_text` what that does. `backup`: its backups, if it asks for them.
    `now`: seconds since the epoch.
    """

    name: str
    generation: int
    version: str
    openstack_version: str
    fingerprint: str
    containers: tuple[str, ...]
    before: Mapping[str, Any]
    bundles: Sequence[Mapping[str, Any]]
    desired: frozenset[str] = frozenset()
    problem: str = ""
    problem_reason: Reason = Reason.SPEC_INVALID
    lacking: tuple[str, ...] = ()
    warnings: str = ""
    paused: bool = False
    awaiting_approval: bool = False
    deleting: bool = False
    remaining: tuple[str, ...] = field(default=())
    plan: RegionPlan | None = None
    approval: Approval | None = None
    approved: str = ""
    fields: Mapping[str, Any] | None = None
    keeps_plan: bool = False
    silence: SilentContainers = field(default=SilentContainers())
    upgrade: Upgrade | None = None
    restore: str = ""
    restore_text: str = ""
    backup: BackupState | None = None
    now: float = 0.0

    @property
    def upgrading(self) -> bool:
        """Whether steps of an upgrade are left."""
        return self.upgrade is not None and not self.upgrade.over

    @property
    def passing(self) -> bool:
        """Whether the problem may go away by itself."""
        return bool(self.problem) and self.problem_reason in PASSING

    def goes_on(self, progress: RegionProgress) -> bool:
        """Whether bundles are at work on something, whatever keeps the rest from being served."""
        heard = "helmbundle" not in self.silence.silent
        return heard and bool(self.problem and not self.paused and progress.in_progress)

    @property
    def credentials_lost(self) -> str:
        """What container secrets tells, of this spec, of credentials that only a person can bring back; empty
        where all are there."""
        entry = find(self.before.get("conditions") or [], ANSWERED_BY["secrets"])
        heard = "secrets" in self.containers and "secrets" not in self.silence.silent
        heard = heard and entry.get("observedGeneration") == self.generation
        lost = heard and entry.get("reason") == Reason.CREDENTIALS_LOST
        return str(entry.get("message") or "") if lost else ""

    @property
    def waits(self) -> bool:
        """Whether the spec is planned, and not acted upon."""
        return self.plan is not None and not self.plan.empty

    @property
    def applied(self) -> int:
        """The newest generation that the bundles were what was asked for."""
        before = int(self.before.get("appliedGeneration") or 0)
        return self.generation if self.fingerprint else before
