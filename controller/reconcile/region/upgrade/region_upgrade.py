"""The upgrade of a region: which bundles a pass writes, and what the upgrade does next.

A new state is written into the status first. The pass after that acts on it: whatever happens in between, the
upgrade continues from the state that the status has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.names import ACCEPT_VERSION_ANNOTATION, SERVICE_LABEL, UPGRADE_STEP_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import RegionSpec
from controller.domain.api.spec_rules import running_region as rules
from controller.domain.region.allowed_version_steps import OPENSTACK, ImageStep, accepted_versions
from controller.domain.region.upgrade.broker_version_hops import hop_version, remembered_hops, with_hops
from controller.domain.region.upgrade.next_step import UpgradeFacts, abort, advance, new_upgrade
from controller.domain.region.upgrade.staged_releases import staged_spec
from controller.domain.region.upgrade.upgrade_checks import ServiceUpgradeCheck
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy, upgrade_policy
from controller.domain.region.upgrade.upgrade_state import (
    NO_CHANGE,
    Check,
    StepRecord,
    StepState,
    Upgrade,
    upgrade_in,
)
from controller.domain.region.upgrade.upgrade_steps import Phase, UpgradeStep
from controller.errors import Problem, VersionStepRefused
from controller.ports.kubernetes import KubeObject, KubeObjects
from controller.reconcile.region.bundle_writer import name_of
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.region.plan import is_as_desired
from controller.reconcile.region.upgrade.brokers import BrokerCare, broker_checks, let_pods_go
from controller.reconcile.region.upgrade.preflight import PreflightView, preflight_checks
from controller.reconcile.region.upgrade.pull_jobs import PullJobs
from controller.reconcile.region.upgrade.running_images import observe_images
from controller.reconcile.region.upgrade.smoke_gate import let_smoke_jobs_go
from controller.reconcile.region.upgrade.space_jobs import SpaceJobs
from controller.reconcile.region.upgrade.step_gate import GateView, step_facts
from controller.reconcile.region.upgrade.upgrade_check_jobs import CheckJobs, CheckView
from controller.reconcile.region.version_gate import image_steps, observe_keepers
from controller.reconcile.shared.action_log import log_action
from controller.render.region import Region


@dataclass(frozen=True)
class StagedRegion:
    """The upgrade as the status has it, its steps and checks, warnings of the spec at the target, and the
    bundles as they are to be in this pass. `images` are those of brokers and databases, while steps of these
    are left.
    """

    upgrade: Upgrade
    steps: tuple[UpgradeStep, ...]
    checks: tuple[ServiceUpgradeCheck, ...]
    warnings: tuple[Problem, ...]
    desired: KubeObjects
    objects: KubeObjects
    images: tuple[ImageStep, ...] = ()


class RegionUpgrade:
    """Upgrades one region step by step."""

    def __init__(self, ports: RegionPorts, settings: RegionSettings) -> None:
        self._ports = ports
        self._containers = settings.containers
        self._own_pods = settings.own_pods

    def stage(
        self, osdpl: KubeObject, region: Region, desired: KubeObjects, bundles: KubeObjects
    ) -> StagedRegion | None:
        """What the bundles are to be in this pass; None without an upgrade.

        Raises VersionStepRefused for another version while an upgrade runs.
        """
        upgrade = self._upgrade(osdpl, region, bundles)
        if upgrade is None:
            return None
        objects, images = desired, self._keepers(osdpl, region) if _early(upgrade) else ()
        steps = remembered_hops(region.upgrade_steps, (one.name for one in upgrade.steps), images)
        if upgrade.phase not in (Phase.ABORTED, Phase.FINISHED) and upgrade.current is not None:
            objects = staged_objects(desired, bundles, steps, upgrade)
        finishes = upgrade.phase == Phase.FINISH
        programs = tuple(one for one in region.upgrade_checks if one.about.migrates == finishes)
        return StagedRegion(upgrade, steps, programs, region.warnings, desired, objects, images)

    def _upgrade(self, osdpl: KubeObject, region: Region, bundles: KubeObjects) -> Upgrade | None:
        status, meta = osdpl.get("status") or {}, osdpl["metadata"]
        wanted = str((osdpl.get("spec") or {}).get("openstackVersion") or "")
        known, now = upgrade_in(status), self._ports.clock.now()
        answered = accepted_versions(meta.get("annotations"))
        accepted = answered.get(OPENSTACK) == wanted
        if known is not None and not known.over:
            if wanted == known.target:
                return known
            # An operator who accepts the version before has restored its databases.
            if wanted == known.source and (accepted or not known.point_of_no_return):
                return abort(known, now)
            raise VersionStepRefused([_second_target(known, wanted)])
        running = str(status.get("openstackVersion") or "")
        if not bundles or not running or running == wanted or (accepted and wanted < running):
            return None
        steps = with_hops(region.upgrade_steps, self._keepers(osdpl, region), answered)
        images = observe_images(self._ports.kube, str(meta["namespace"]))
        return new_upgrade(running, wanted, steps, now, images)

    def _keepers(self, osdpl: KubeObject, region: Region) -> tuple[ImageStep, ...]:
        """What runs of each broker and database, and what is asked for."""
        namespace = str(osdpl["metadata"]["namespace"])
        return tuple(image_steps(region, observe_keepers(self._ports.kube, namespace)))

    def follow(
        self, osdpl: KubeObject, spec: RegionSpec, staged: StagedRegion, bundles: KubeObjects
    ) -> Upgrade:
        """The upgrade after this pass, in which the bundles became these."""
        before = staged.upgrade
        if before.phase == Phase.ABORTED:
            let_pods_go(self._ports.kube, str(osdpl["metadata"]["namespace"]))
            let_smoke_jobs_go(self._ports.kube, osdpl)
            self._announce(osdpl, upgrade_in(osdpl.get("status") or {}), before)
            return before
        policy = upgrade_policy(spec.upgrade)
        after = advance(before, policy, self._facts(osdpl, staged, bundles, policy))
        if after.over:
            # Before the status says so: a process that is killed in between does it again.
            let_smoke_jobs_go(self._ports.kube, osdpl)
        self._announce(osdpl, upgrade_in(osdpl.get("status") or {}), after)
        return after

    def _facts(
        self, osdpl: KubeObject, staged: StagedRegion, bundles: KubeObjects, policy: UpgradePolicy
    ) -> UpgradeFacts:
        upgrade, now = staged.upgrade, self._ports.clock.now()
        allowed = str((osdpl["metadata"].get("annotations") or {}).get(UPGRADE_STEP_ANNOTATION) or "")
        if upgrade.phase == Phase.PREFLIGHT:
            return UpgradeFacts(now, checks=self._checks(osdpl, staged, bundles, policy))
        step = upgrade.current
        if step is None:
            at_rest = _at_rest(staged.desired, bundles)
            runs = upgrade.phase == Phase.FINISH and at_rest
            checks = self._programs(osdpl, staged, bundles) if runs else ()
            return UpgradeFacts(now, checks=checks, at_rest=at_rest)
        about = next((one for one in staged.steps if one.name == step.name), None)
        if about is None:
            # The service has left the region since then.
            return UpgradeFacts(now, step=replace(UpgradeFacts(now).step, unchanged=True), allowed=allowed)
        view = GateView(
            osdpl=osdpl,
            bundles=bundles,
            desired=staged.desired,
            steps=staged.steps,
            upgrade=upgrade,
            health="health" in self._containers,
            now=now,
            images={one.release: one for one in staged.images},
            own_pods=self._own_pods,
        )
        return UpgradeFacts(now, step=step_facts(self._ports, view, about, policy), allowed=allowed)

    def _checks(
        self, osdpl: KubeObject, staged: StagedRegion, bundles: KubeObjects, policy: UpgradePolicy
    ) -> tuple[Check, ...]:
        preflight = PreflightView(
            osdpl, staged.upgrade, staged.desired, bundles, self._containers, staged.warnings
        )
        known = preflight_checks(self._ports.kube, preflight, self._ports.clock.now())
        view = self._check_view(osdpl, staged, bundles)
        space = SpaceJobs(self._ports.kube, view, self._own_pods)
        known = (*known, *self._programs(osdpl, staged, bundles), *space.outcomes())
        if policy.prepull:
            known = (*known, PullJobs(self._ports.kube, view, view.request).outcome())
        if not any(step.version for step in staged.steps):
            return known
        care = BrokerCare(self._ports, osdpl, bundles)
        return (*known, *broker_checks(care, osdpl, staged.steps, staged.images))

    def _programs(self, osdpl: KubeObject, staged: StagedRegion, bundles: KubeObjects) -> tuple[Check, ...]:
        return CheckJobs(self._ports.kube, self._check_view(osdpl, staged, bundles)).outcomes()

    def _check_view(self, osdpl: KubeObject, staged: StagedRegion, bundles: KubeObjects) -> CheckView:
        before = upgrade_in(osdpl.get("status") or {})
        remembered = before is not None and not before.over
        return CheckView(osdpl, staged.upgrade, staged.checks, staged.desired, bundles, remembered)

    def _announce(self, osdpl: KubeObject, before: Upgrade | None, after: Upgrade) -> None:
        """An Event and a line of the log for each change of a step or phase, and only then."""
        place = f"{osdpl['metadata']['namespace']}/{osdpl['metadata']['name']}"
        for reason, message in _news(before, after):
            log_action("upgrade", place, message)
            self._ports.events.emit(osdpl, type_=reason.event, reason=reason, message=message)


def staged_objects(
    desired: KubeObjects, bundles: KubeObjects, steps: tuple[UpgradeStep, ...], upgrade: Upgrade
) -> KubeObjects:
    """The bundles of the region while not all steps of the upgrade are done."""
    there = {name_of(bundle): bundle for bundle in bundles}
    found = []
    for obj in desired:
        service = str(obj["metadata"]["labels"].get(SERVICE_LABEL) or "")
        own = [step for step in steps if step.service == service]
        current = there.get(name_of(obj))
        spec = staged_spec(obj["spec"], (current or {}).get("spec"), own, upgrade.begun)
        if spec is not None:
            found.append({**obj, "spec": spec})
    return found


def _early(upgrade: Upgrade) -> bool:
    """Whether steps of brokers and databases may be left."""
    step = upgrade.current
    return not upgrade.over and step is not None and step.phase == Phase.INFRASTRUCTURE


def _at_rest(desired: KubeObjects, bundles: KubeObjects) -> bool:
    if not is_as_desired(desired, bundles):
        return False
    return all(_is_deployed(bundle) for bundle in bundles)


def _is_deployed(bundle: Mapping[str, Any]) -> bool:
    status = bundle.get("status") or {}
    seen = status.get("observedGeneration") == bundle["metadata"].get("generation")
    states = {str(one.get("state")) for one in status.get("releases") or ()}
    return bool(seen and states <= {"Deployed"})


def _second_target(upgrade: Upgrade, wanted: str) -> Problem:
    source, target, path = upgrade.source, upgrade.target, "spec.openstackVersion"
    if wanted == source:
        annotation = ACCEPT_VERSION_ANNOTATION
        return rules.UPGRADE_PAST_RETURN.at(path, source_version=source, target=target, annotation=annotation)
    back = "" if upgrade.point_of_no_return else f", or {source} to abort it"
    return rules.UPGRADE_UNDER_WAY.at(path, source_version=source, target=target, back=back)


def _upgraded(step: StepRecord, upgrade: Upgrade) -> str:
    """A step of an upgrade in words: a version between says its name itself."""
    service, _, part = step.name.partition("/")
    if hop_version(part) is not None:
        return f"{service} passes through {part}"
    return f"{step.name} is upgraded to {upgrade.target}"


def _news(before: Upgrade | None, after: Upgrade) -> list[tuple[Reason, str]]:
    # Two upgrades may begin within a second.
    if before is None or before.started != after.started or (before.over and not after.over):
        return [(Reason.REGION_UPGRADE_STARTED, f"upgrade from {after.source} to {after.target}: checks run")]
    found = []
    old = {step.name: step for step in before.steps}
    for step in after.steps:
        was = old.get(step.name, step)
        if was.state == step.state:
            continue
        if step.begun and not was.begun and step.state == StepState.RUNNING:
            found.append((Reason.UPGRADE_STEP_BEGUN, _upgraded(step, after)))
        elif step.state == StepState.FAILED:
            found.append((Reason.UPGRADE_STEP_FAILED, after.message))
        elif step.state == StepState.DONE and step.message != NO_CHANGE:
            found.append((Reason.UPGRADE_STEP_DONE, f"{_upgraded(step, after)}, and healthy"))
    failed = {check.name for check in after.checks if check.state == "Failed"}
    if failed - {check.name for check in before.checks if check.state == "Failed"}:
        found.append((Reason.UPGRADE_CHECKS_FAILED, after.message))
    if after.phase != before.phase and after.phase == Phase.FINISHED:
        found.append((Reason.REGION_UPGRADE_FINISHED, f"the region runs {after.target}"))
    if after.phase != before.phase and after.phase == Phase.ABORTED:
        found.append((Reason.REGION_UPGRADE_ABORTED, after.message))
    return found
