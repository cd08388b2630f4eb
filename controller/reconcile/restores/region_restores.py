"""Carries out RegionRestores: one pass observes, acts on the state that the status has, and writes the next.

A new state is written first, and the pass after that acts on it: whatever happens in between, the restore
goes on from the state that its status has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.keys import RegionKey
from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    FORCE_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_US,
    field_manager,
)
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import parse_region_spec, spec_in_force
from controller.domain.backups.backup_jobs import BACKUP_CRONJOB
from controller.domain.backups.backup_spec import parse_backup_spec
from controller.domain.backups.job_ends import MAKING_BACKUPS, names_of_running
from controller.domain.region.progress import region_progress
from controller.domain.region.upgrade.upgrade_state import upgrade_obstacle
from controller.domain.releases.reported_state import ReportedState
from controller.domain.restores.backup_checks import RegionNow
from controller.domain.restores.next_step import StepFacts, advance
from controller.domain.restores.restore_jobs import RestoreRun
from controller.domain.restores.restore_spec import RestoreSpec, parse_restore_spec
from controller.domain.restores.restore_state import Phase, Restore, Step, StepRecord, StepState, restore_in
from controller.domain.validation.cluster.asked_resources import parse_quantity
from controller.ports.kubernetes import (
    CRONJOB,
    HELMBUNDLE,
    JOB,
    OSDPL,
    PVC,
    RESTORE,
    Events,
    Kube,
    KubeObject,
    KubeObjects,
)
from controller.ports.system import Clock
from controller.reconcile.restores.restore_finalizer import RESTORE_FINALIZER
from controller.reconcile.restores.restore_hold import restores_of
from controller.reconcile.restores.restore_runs import RestoreRuns
from controller.reconcile.restores.stopped_writers import StoppedWriters, applied_charts
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import apply_to_seen, patch_seen

MANAGER = field_manager("core")
AT_ONCE, AGAIN = 0.1, 5.0
_REASONS = {
    Phase.DONE: Reason.RESTORED,
    Phase.REFUSED: Reason.RESTORE_REFUSED,
    Phase.ABORTED: Reason.RESTORE_REFUSED,
}
# The claims of the database's servers.
_DATA = "mysql-data-"


@dataclass(frozen=True)
class _Pass:
    """What one pass has read."""

    obj: KubeObject
    spec: RestoreSpec
    restore: Restore
    osdpl: KubeObject
    bundles: KubeObjects
    now: float

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"]["namespace"])


class RegionRestores:
    """Level-triggered: every pass reads the RegionRestore, its region and its bundles."""

    def __init__(self, kube: Kube, clock: Clock, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events

    def reconcile(self, key: RegionKey) -> float | None:
        """One pass; seconds until the next that no event will announce. Raises KubeError."""
        namespace, name = key
        obj = self._kube.get(RESTORE, name, namespace)
        if obj is None:
            return None
        spec = parse_restore_spec(obj["spec"])
        try:
            restore = restore_in(obj.get("status") or {})
        except ValueError:
            return None  # another version may read it; meanwhile the region is held
        if restore.over:
            if RESTORE_FINALIZER.is_on(obj):
                RESTORE_FINALIZER.remove(self._kube, obj)
            return None
        deleted = bool(obj["metadata"].get("deletionTimestamp"))
        osdpl = self._kube.get(OSDPL, spec.region, namespace)
        if osdpl is None or osdpl["metadata"].get("deletionTimestamp"):
            text = f'there is no OpenStackDeployment "{spec.region}"; a restore needs its region'
            outcome = Phase.REFUSED if restore.returnable else Phase.ABORTED
            return self._write(obj, restore, replace(restore, outcome=str(outcome), message=text))
        first = next((one for one in restores_of(self._kube, namespace, spec.region) if not _over(one)), obj)
        if first["metadata"]["uid"] != obj["metadata"]["uid"] and not restore.holds and not deleted:
            text = f"waits for the end of restore {first['metadata']['name']}"
            self._write(obj, restore, replace(restore, message=text))
            return AGAIN
        if not deleted:
            RESTORE_FINALIZER.ensure(self._kube, obj)
        now = self._clock.now()
        seen = _Pass(obj, spec, restore, osdpl, self._bundles(osdpl), now)
        after = advance(restore, self._facts(seen, deleted), now, deleted=deleted)
        return self._write(obj, restore, after)

    def _write(self, obj: KubeObject, before: Restore, after: Restore) -> float | None:
        if after == before:
            return AGAIN
        status = {**after.entry(), "observedGeneration": obj["metadata"].get("generation") or 1}
        apply_to_seen(self._kube, RESTORE, obj, manager=MANAGER, status=status)
        if after.phase != before.phase:
            reason = _REASONS.get(after.phase, Reason.RESTORING)
            self._events.emit(obj, type_=reason.event, reason=reason, message=after.message)
        moved = [one.state for one in after.steps] != [one.state for one in before.steps]
        return AT_ONCE if moved or after.over else AGAIN

    def _facts(self, seen: _Pass, deleted: bool) -> StepFacts:
        """Acts on the step that runs, and finds out how far it is."""
        step = seen.restore.current
        turned_back = deleted and seen.restore.returnable and not seen.restore.is_over(Step.LOAD)
        if step is None or step.state == StepState.PENDING or turned_back:
            return StepFacts()
        acts = {
            Step.CHECK: self._check,
            Step.HOLD: self._hold,
            Step.STOP: self._stop,
            Step.LOAD: self._load,
            Step.APPLY: self._apply,
            Step.START: self._start,
            Step.COMPARE: self._compare,
        }
        return acts[step.step](seen, step)

    def _check(self, seen: _Pass, step: StepRecord) -> StepFacts:
        mode = parse_region_spec(seen.osdpl.get("spec")).mode
        if mode != "Apply":
            return StepFacts(refused=f"spec.mode of the region is {mode}; set it to Apply first")
        if text := upgrade_obstacle(seen.osdpl):
            return StepFacts(waiting=text)
        meta, status = seen.osdpl["metadata"], seen.osdpl.get("status") or {}
        region = RegionNow(
            str(meta["namespace"]),
            str(meta["name"]),
            str(status.get("openstackVersion") or ""),
            self._capacity(seen.namespace),
        )
        return self._runs(seen, step).facts(region)

    def _hold(self, seen: _Pass, step: StepRecord) -> StepFacts:
        """core's passes at the region come one after the other: after one has reported the restore, none
        that has not seen it is under way."""
        name = str(seen.obj["metadata"]["name"])
        if (seen.osdpl.get("status") or {}).get("restore") != name:
            return StepFacts(waiting="the region is not held yet")
        changing = [one for one in seen.bundles if (one.get("spec") or {}).get("mode") != "Paused"]
        unseen = [
            one
            for one in seen.bundles
            if (one.get("status") or {}).get("observedGeneration") != one["metadata"]["generation"]
        ]
        if names := sorted({str(one["metadata"]["name"]) for one in [*changing, *unseen]}):
            return StepFacts(waiting=f"bundles that are not paused yet: {', '.join(names)}")
        if text := self._backups_under_way(seen.namespace):
            return StepFacts(waiting=text)
        moving = region_progress(seen.bundles, frozenset()).moving
        if moving:
            return StepFacts(waiting=f"releases that change until their action ends: {', '.join(moving)}")
        return StepFacts()

    def _backups_under_way(self, namespace: str) -> str:
        """Which backup runs, or may still begin: its dump would be of databases that are being loaded."""
        cronjob = self._kube.get(CRONJOB, BACKUP_CRONJOB, namespace)
        if cronjob is not None and not cronjob["spec"].get("suspend"):
            return f"CronJob {BACKUP_CRONJOB} is not suspended yet"
        running = names_of_running(self._kube.list(JOB, namespace, labels=MAKING_BACKUPS))
        return f"backups until they end: {running}" if running else ""

    def _stop(self, seen: _Pass, step: StepRecord) -> StepFacts:
        return StepFacts(waiting=self._writers(seen).stop())

    def _load(self, seen: _Pass, step: StepRecord) -> StepFacts:
        # A person may have started something again.
        if text := self._writers(seen).stop():
            return StepFacts(waiting=text)
        return self._runs(seen, step).facts(RegionNow("", "", ""))

    def _apply(self, seen: _Pass, step: StepRecord) -> StepFacts:
        """The hooks of a release make its accounts: a new database has none, and the loaded one may have
        those of an earlier time."""
        asked = str(seen.obj["metadata"]["uid"])
        left = []
        for bundle in (one for one in seen.bundles if applied_charts(one)):
            meta = bundle["metadata"]
            if (meta.get("annotations") or {}).get(FORCE_ANNOTATION) != asked:
                patch_seen(
                    self._kube, HELMBUNDLE, bundle, {"metadata": {"annotations": {FORCE_ANNOTATION: asked}}}
                )
                place = f"{seen.namespace}/{meta['name']}"
                log_action("restore", place, "the releases run their hooks again", bundle=str(meta["name"]))
                left.append(str(meta["name"]))
            elif not _applied(bundle, asked):
                left.append(str(meta["name"]))
        return StepFacts(waiting=f"hooks run again: {', '.join(sorted(left))}" if left else "")

    def _start(self, seen: _Pass, step: StepRecord) -> StepFacts:
        self._writers(seen).start()
        return StepFacts()

    def _compare(self, seen: _Pass, step: StepRecord) -> StepFacts:
        conditions = (seen.osdpl.get("status") or {}).get("conditions") or ()
        ready = find(conditions, "Ready")
        if ready.get("status") == "True":
            return StepFacts()
        return StepFacts(waiting=f"the region is not Ready: {ready.get('message') or 'no report yet'}")

    def _runs(self, seen: _Pass, step: StepRecord) -> RestoreRuns:
        region = spec_in_force(seen.osdpl)
        own = parse_backup_spec(region)
        run = RestoreRun(seen.obj["metadata"], seen.spec, seen.restore, step, own, region=region or {})
        return RestoreRuns(self._kube, run, seen.now)

    def _writers(self, seen: _Pass) -> StoppedWriters:
        return StoppedWriters(self._kube, seen.namespace, seen.bundles)

    def _bundles(self, osdpl: KubeObject) -> KubeObjects:
        meta = osdpl["metadata"]
        labels = f"{DEPLOYMENT_LABEL}={meta['name']},{MANAGED_BY}={MANAGED_BY_US}"
        return self._kube.list(HELMBUNDLE, meta["namespace"], labels=labels)

    def _capacity(self, namespace: str) -> int:
        """The bytes of the smallest volume of the database, 0 while none is known."""
        claims = [
            claim
            for claim in self._kube.list(PVC, namespace)
            if str(claim["metadata"]["name"]).startswith(_DATA)
        ]
        texts = [((one.get("status") or {}).get("capacity") or {}).get("storage") for one in claims]
        return min((int(parse_quantity(str(text))) for text in texts if text), default=0)


def _applied(bundle: Mapping[str, Any], asked: str) -> bool:
    """Whether every release was deployed again on this request, as the present spec asks for."""
    status = bundle.get("status") or {}
    if status.get("observedGeneration") != bundle["metadata"]["generation"]:
        return False
    known = {one.get("name"): one for one in status.get("releases") or ()}
    return all(
        (found := known.get(one["name"])) is not None
        and found.get("state") == ReportedState.DEPLOYED
        and asked in str((found.get("lastAttempt") or {}).get("force"))
        for one in (bundle.get("spec") or {}).get("releases") or ()
    )


def _over(obj: Mapping[str, Any]) -> bool:
    try:
        return restore_in(obj.get("status") or {}).over
    except ValueError:
        return False
