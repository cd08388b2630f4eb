"""Turns one OpenStackDeployment into HelmBundles, and sums up what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.keys import RegionKey
from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    RECONCILE_ANNOTATION,
    REGION_RECONCILE_ANNOTATION,
    SERVICE_LABEL,
)
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import RegionSpec, fields_in, parse_region_spec
from controller.domain.region.controller_skew import refused_controller
from controller.domain.region.facts import SilentContainers
from controller.domain.region.plan_approval import Approval, approval_in
from controller.domain.region.upgrade.upgrade_state import upgrade_in
from controller.domain.releases.bundle_object import bundle_object
from controller.domain.releases.digests import fingerprint
from controller.domain.releases.release_settings import SettingChange
from controller.errors import (
    BundleNameTaken,
    ChartInvalid,
    Forbidden,
    ObjectRefused,
    SecretMissing,
    SpecInvalid,
)
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, KubeObject, KubeObjects
from controller.reconcile.backups.region_backups import BackupReport
from controller.reconcile.region.bundle_writer import BundleWriter, name_of
from controller.reconcile.region.kept_services import keep_services
from controller.reconcile.region.kept_volume_sizes import keep_volume_sizes
from controller.reconcile.region.leaving_credentials import credentials_have_to_go
from controller.reconcile.region.missing_parts import refuse_missing_parts
from controller.reconcile.region.observation import (
    RegionObservation,
    beside_taken_names,
    lacking,
    refused,
    used_up,
    without_charts,
)
from controller.reconcile.region.own_servers import refuse_beside_own_servers
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.region.plan import (
    applied_object,
    desired_digests,
    is_as_desired,
    is_idle,
    is_settled,
    leaving_object,
    planned_object,
    region_plan,
    renames,
)
from controller.reconcile.region.region_finalizer import REGION_FINALIZER
from controller.reconcile.region.region_report import RegionReport
from controller.reconcile.region.taken_names import observe_namesakes
from controller.reconcile.region.upgrade.region_upgrade import RegionUpgrade, StagedRegion
from controller.reconcile.region.version_gate import refuse_version_steps
from controller.reconcile.region.volume_node import keep_volume_place
from controller.reconcile.restores.restore_hold import holding_restore
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.chart_errors import RETRY_SECONDS, chart_reason, retry_after
from controller.reconcile.shared.managed_region import is_ending, observe_regions
from controller.render.region import Region, RegionBundle

# An approval is written into the status first; what it allows is begun at the pass after that.
AT_ONCE = 0.1
# While an upgrade runs: gates hold for a time, and pods are replaced, of which no event tells.
UPGRADE_SECONDS = 5.0


class DeploymentReconciler:
    """Level-triggered: every pass reads the osdpl and its bundles and compares with what is rendered.

    `render` turns an osdpl object into a Region; it raises SpecInvalid or ChartInvalid. `silence` says
    which other containers do not live. `pending` are fields of an osdpl's spec that a plan has to show.
    `backups` has backups made, and reports them.
    """

    def __init__(
        self,
        ports: RegionPorts,
        settings: RegionSettings,
        *,
        render: Callable[[Mapping[str, Any]], Region],
        silence: Callable[[], SilentContainers] = SilentContainers,
        pending: Callable[[Mapping[str, Any]], tuple[SettingChange, ...]] = lambda osdpl: (),
        backups: Callable[[KubeObject, RegionObservation], BackupReport] = lambda osdpl, found: (
            BackupReport()
        ),
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._render = render
        self._pending = pending
        self._backups = backups
        self._writer = BundleWriter(ports.kube)
        self._upgrades = RegionUpgrade(ports, settings)
        self._report = RegionReport(ports, settings, silence)

    def reconcile(self, key: RegionKey) -> float | None:
        """One pass; seconds until the next that no event will announce."""
        namespace, name = key
        osdpl = self._ports.kube.get(OSDPL, name, namespace)
        if osdpl is None:
            return None
        if refusal := refused_controller(osdpl, self._settings.version):
            self._report.refuse_version(osdpl, refusal)
            return self._settings.resync
        if osdpl["metadata"].get("deletionTimestamp"):
            return self._delete(osdpl)
        regions = observe_regions(self._ports.kube, namespace)
        if regions.managed not in ("", name):
            self._report.refuse_second(osdpl, regions.managed)
            return regions.pause(name, self._settings.resync)
        # Before the spec is examined: people pause a region while they repair it.
        spec = parse_region_spec(osdpl.get("spec"))
        bundles = self._writer.spare(self._bundles(osdpl), spec.volumes)
        restore = holding_restore(self._ports.kube, osdpl)
        if spec.paused or restore:
            bundles = self._writer.pause(bundles)
        found = RegionObservation(spec, bundles, approval=_remembered(osdpl, spec), restore=restore)
        try:
            # Whatever comes of the spec: neither of these may wait until it can be served.
            found = replace(found, bundles=self._writer.disown(bundles))
            if bundles:
                REGION_FINALIZER.ensure(self._ports.kube, osdpl)
            region = refuse_missing_parts(self._render(osdpl), bundles)
            region = keep_volume_sizes(self._ports.kube, osdpl, region, bundles)
            region = keep_volume_place(self._ports.kube, region, bundles)
            found = self._with_kept_services(osdpl, replace(found, region=region))
            if not bundles:
                REGION_FINALIZER.ensure(self._ports.kube, osdpl)
            held = spec.paused or restore
            found = self._awaiting_approval(osdpl, found) if held else self._follow(osdpl, found)
        except SpecInvalid as error:
            found = refused(found, error)
        except ChartInvalid as error:
            found = without_charts(found, chart_reason(error), error, retry_after(error))
        except SecretMissing as error:
            found = without_charts(found, Reason.SECRET_MISSING, error, RETRY_SECONDS)
        except (ObjectRefused, Forbidden) as error:
            # Another try cannot help. The status still reports the existing bundles.
            found = replace(found, problem=f"a HelmBundle was refused: {error}")
        backups = self._backups(osdpl, found)
        found = replace(found, backup=backups.state, again=min(found.again, backups.again))
        self._report.sum_up(osdpl, found)
        return AT_ONCE if found.begins else min(self._settings.resync, found.again)

    def _with_kept_services(self, osdpl: KubeObject, found: RegionObservation) -> RegionObservation:
        """A plan shows what leaves before anything does: with it nothing is kept."""
        assert found.region is not None  # noqa: S101 - rendered by the caller
        if found.spec.planned:
            return found
        kept = keep_services(self._ports.kube, self._ports.events, osdpl, found.region, found.bundles)
        return replace(found, region=kept.region, bundles=kept.bundles, kept=kept.names)

    def _awaiting_approval(self, osdpl: KubeObject, found: RegionObservation) -> RegionObservation:
        """Touches nothing, and finds out whether the spec asks for something else than what there is."""
        assert found.region is not None  # noqa: S101 - rendered by the caller
        if found.region.missing:
            return lacking(found, found.region.missing)
        desired = [self._object(osdpl, bundle) for bundle in found.region.bundles]
        return replace(found, awaiting_approval=not is_as_desired(desired, found.changing))

    def _follow(self, osdpl: KubeObject, found: RegionObservation) -> RegionObservation:
        """Brings the bundles to what the spec asks for, or to a plan of it."""
        region = found.region
        assert region is not None  # noqa: S101 - rendered by the caller
        desired = [self._object(osdpl, bundle) for bundle in region.bundles]
        staged = self._stage(osdpl, found, desired)
        if found.bundles and not is_as_desired(desired, found.changing) and not self._begun(osdpl, staged):
            refuse_version_steps(self._ports.kube, osdpl, region, upgrades=staged is not None)
            refuse_beside_own_servers(self._ports.kube, osdpl, region)
        missing, spec = region.missing, found.spec
        whole = spec.planned or staged is not None or not desired
        if missing and whole:
            # A plan of a part would be approved for the whole, and an upgrade of a part would end.
            raise next(iter(missing.values()))
        others = observe_namesakes(self._ports.kube, osdpl, {name_of(one) for one in desired} - found.names)
        taken, found = others.taken, replace(found, bundles=[*found.bundles, *others.free])
        desired = [one for one in desired if name_of(one) not in taken]
        if taken and (whole or not desired):
            raise BundleNameTaken(list(taken.values()))
        if staged is not None and not spec.planned:
            return self._upgrade(osdpl, found, staged)
        if not spec.planned:
            for warning in renames(region, found.bundles):
                renamed = Reason.DAEMON_SETS_RENAMED
                self._ports.events.emit(osdpl, type_=renamed.event, reason=renamed, message=warning)
            kept = [bundle for bundle in found.bundles if name_of(bundle) in found.kept]
            there = [*found.changing, *self._writer.resume(kept)]
            staying = missing.keys() | found.kept
            fields = fields_in(osdpl.get("spec"))
            applied = replace(found, bundles=self._apply(spec, desired, there, staying), fields=fields)
            applied = lacking(applied, missing) if missing else applied
            return beside_taken_names(applied, taken) if taken else applied
        return self._plan(osdpl, found, region, desired, staged)

    def _stage(
        self, osdpl: KubeObject, found: RegionObservation, desired: KubeObjects
    ) -> StagedRegion | None:
        assert found.region is not None  # noqa: S101 - rendered by the caller
        return self._upgrades.stage(osdpl, found.region, desired, found.bundles)

    @staticmethod
    def _begun(osdpl: KubeObject, staged: StagedRegion | None) -> bool:
        """Whether an upgrade is under way: what its steps change was judged before the first of them."""
        known = upgrade_in(osdpl.get("status") or {})
        return staged is not None and known is not None and not known.over

    def _upgrade(
        self, osdpl: KubeObject, found: RegionObservation, staged: StagedRegion
    ) -> RegionObservation:
        """Brings the bundles to what the steps ask for that have begun, and finds out what is next."""
        names = {name_of(bundle) for bundle in found.bundles}
        # What the spec no longer asks for goes after the last step.
        staying = names if staged.upgrade.current is not None else set(found.kept)
        bundles = self._apply(found.spec, staged.objects, found.changing, staying)
        after = self._upgrades.follow(osdpl, found.spec, staged, bundles)
        moved = after.entry() != staged.upgrade.entry()
        again = UPGRADE_SECONDS if not after.over else found.again
        found = replace(found, bundles=bundles, upgrade=after, begins=moved, again=min(found.again, again))
        return replace(found, fields=fields_in(osdpl.get("spec"))) if after.over else found

    def _plan(
        self,
        osdpl: KubeObject,
        found: RegionObservation,
        region: Region,
        desired: KubeObjects,
        staged: StagedRegion | None,
    ) -> RegionObservation:
        """Plans what is asked for, or carries on with what was approved of it."""
        digests = desired_digests(desired, region, self._ports.charts)
        digest = fingerprint(digests)
        approval, settings, fields = found.approval, self._pending(osdpl), fields_in(osdpl.get("spec"))
        if approval is not None and not approval.done and approval.desired == digest and not settings:
            approved = replace(found, approval=approval.again(osdpl))
            return self._carry_on(osdpl, approved, desired, digests, staged)
        bundles = self._write_plan(found, desired)
        plan = region_plan(region, digests, bundles, settings)
        if plan.digest and plan.digest == found.spec.approved_plan:
            approval = Approval(plan.digest, digest, 0).again(osdpl)
            meta = osdpl["metadata"]
            place = f"{meta['namespace']}/{meta['name']}"
            log_action("begin-plan", place, f"plan {plan.digest}: approved, and now applied")
            begun = replace(found, bundles=bundles, plan=plan, fields=fields)
            return replace(begun, approval=approval, begins=True)
        found = replace(found, bundles=bundles, plan=plan, fields=fields if plan.empty else None)
        if settings:  # The approval before was given for other fields.
            return replace(found, approval=approval if approval is not None and approval.done else None)
        return replace(found, approval=used_up(approval, digest, osdpl))

    def _carry_on(
        self,
        osdpl: KubeObject,
        found: RegionObservation,
        desired: KubeObjects,
        digests: Mapping[str, str],
        staged: StagedRegion | None,
    ) -> RegionObservation:
        """Applies an approved plan until nothing of it is left; the status goes on showing all of it."""
        assert found.region is not None and found.approval is not None  # noqa: S101 - given by the caller
        if staged is not None and not staged.upgrade.over:
            return replace(self._upgrade(osdpl, found, staged), applying=True)
        there = {name_of(bundle): bundle for bundle in found.bundles}
        objects = [applied_object(obj, there.get(name_of(obj))) for obj in desired]
        bundles = self._apply(found.spec, objects, found.bundles)
        there = {name_of(bundle): bundle for bundle in bundles}
        names = {name_of(obj) for obj in desired}
        if there.keys() == names and all(is_settled(obj, there.get(name_of(obj))) for obj in desired):
            plan = region_plan(found.region, digests, bundles)
            return replace(found, bundles=bundles, plan=plan, approval=replace(found.approval, done=True))
        return replace(found, bundles=bundles, applying=True)

    def _write_plan(self, found: RegionObservation, desired: KubeObjects) -> KubeObjects:
        """Has every bundle keep what it has and plan for what it is to become; the bundles after that."""
        there, volumes = {name_of(bundle): bundle for bundle in found.bundles}, found.spec.volumes
        names = {name_of(obj) for obj in desired}
        objects = [planned_object(obj, there.get(name_of(obj))) for obj in desired]
        leaving = [bundle for name, bundle in there.items() if name not in names and not _deleting(bundle)]
        objects += [leaving_object(bundle, volumes) for bundle in leaving if not is_idle(bundle)]
        for bundle in leaving:
            if is_idle(bundle):
                self._writer.remove(bundle, volumes)
                del there[name_of(bundle)]
        return self._writer.write(objects, there)

    def _bundles(self, osdpl: KubeObject) -> KubeObjects:
        meta = osdpl["metadata"]
        return self._ports.kube.list(
            HELMBUNDLE,
            meta["namespace"],
            labels=f"{DEPLOYMENT_LABEL}={meta['name']},{MANAGED_BY}={MANAGED_BY_US}",
        )

    def _apply(
        self, spec: RegionSpec, desired: KubeObjects, existing: KubeObjects, staying: Iterable[str] = ()
    ) -> KubeObjects:
        """Applies what differs, asks for the deletion of what is no longer desired; what is there now.

        Bundles of the names that are `staying` stay as they are.
        """
        bundles = self._writer.write(desired, {name_of(bundle): bundle for bundle in existing})
        keep = {name_of(obj) for obj in desired} | set(staying)
        leaving = [bundle for bundle in bundles if name_of(bundle) not in keep]
        self._writer.remove_all(leaving, spec.volumes)
        return bundles

    def _object(self, osdpl: KubeObject, bundle: RegionBundle) -> KubeObject:
        meta = osdpl["metadata"]
        asked = str((meta.get("annotations") or {}).get(RECONCILE_ANNOTATION) or "")
        return bundle_object(
            name=bundle.name,
            namespace=meta["namespace"],
            spec=bundle.spec,
            labels={
                DEPLOYMENT_LABEL: meta["name"],
                SERVICE_LABEL: bundle.service,
                MANAGED_BY: MANAGED_BY_US,
            },
            annotations={REGION_RECONCILE_ANNOTATION: asked} if asked else {},
        )

    def _delete(self, osdpl: KubeObject) -> float | None:
        if not REGION_FINALIZER.is_on(osdpl):
            return None
        spec, bundles = parse_region_spec(osdpl.get("spec")), self._bundles(osdpl)
        try:
            self._writer.remove_all(bundles, spec.volumes)
            # Without the container secrets there are no credentials.
            exchanges = "secrets" in self._settings.containers
            if bundles or (exchanges and credentials_have_to_go(self._ports.kube, osdpl, spec.volumes)):
                self._report.sum_up(osdpl, RegionObservation(spec, bundles, deleting=True))
                # No event says when the last Secret is out.
                return self._settings.resync if bundles else RETRY_SECONDS
        except Forbidden:
            if not is_ending(self._ports.kube, str(osdpl["metadata"]["namespace"])):
                raise
            if bundles:  # Our Roles have gone with the namespace, which deletes the rest.
                return RETRY_SECONDS
        REGION_FINALIZER.remove(self._ports.kube, osdpl)
        return None


def _deleting(obj: KubeObject) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _remembered(osdpl: KubeObject, spec: RegionSpec) -> Approval | None:
    """The approval that was taken up and not taken back since."""
    approval = approval_in(osdpl.get("status") or {})
    if approval is None or not (spec.planned or spec.paused):
        return None
    return approval if approval.digest == spec.approved_plan or approval.done else None
