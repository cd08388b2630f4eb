"""The gate of a step: whether its releases are deployed, and their workloads healthy at the new version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import SERVICE_LABEL
from controller.domain.api.shortened_text import shorten
from controller.domain.region.allowed_version_steps import (
    BROKER,
    ImageStep,
    accepted_versions,
    image_version,
    is_accepted,
)
from controller.domain.region.upgrade.broker_version_hops import tag_of
from controller.domain.region.upgrade.next_step import StepFacts, smoke_is_due
from controller.domain.region.upgrade.staged_releases import staged_spec
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import StepState, Upgrade
from controller.domain.region.upgrade.upgrade_steps import Phase, UpgradeStep
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest
from controller.domain.releases.reported_state import ReportedState
from controller.ports.kubernetes import KubeObject, KubeObjects
from controller.reconcile.region.parts import OwnPods, RegionPorts
from controller.reconcile.region.upgrade.brokers import BrokerCare
from controller.reconcile.region.upgrade.failing_probes import failing_probes
from controller.reconcile.region.upgrade.node_batches import replace_pods
from controller.reconcile.region.upgrade.smoke_gate import SmokeGate

# Of one release that is not deployed yet.
_MOST_TEXT = 400


@dataclass(frozen=True)
class GateView:
    """What a gate looks at. `desired` are the bundles of the target; `health`: container health is deployed;
    `now` is in seconds since the epoch; `images` are those of brokers and databases by release; `own_pods`:
    what pods of our own run."""

    osdpl: KubeObject
    bundles: KubeObjects
    desired: KubeObjects
    steps: Sequence[UpgradeStep]
    upgrade: Upgrade
    health: bool
    now: float
    images: Mapping[str, ImageStep] = field(default_factory=dict)
    own_pods: OwnPods = field(default=OwnPods())

    def bundle(self, service: str) -> KubeObject | None:
        """The bundle of a service, None if there is none."""
        return _of_service(self.bundles, service)

    def own_steps(self, service: str) -> list[UpgradeStep]:
        """The steps of a service, in their order."""
        return [step for step in self.steps if step.service == service]


def step_facts(ports: RegionPorts, view: GateView, step: UpgradeStep, policy: UpgradePolicy) -> StepFacts:
    """What is known of the step that runs or comes next. Raises KubeError."""
    record = view.upgrade.current
    bundle, target = view.bundle(step.service), _of_service(view.desired, step.service)
    if record is None or target is None:
        return StepFacts(unchanged=True)
    if not record.begun:
        facts = _before(view, step, bundle, target)
        if record.state == StepState.PREPARING and facts.prepares:
            care = BrokerCare(ports, view.osdpl, view.bundles)
            return replace(facts, waiting=care.prepare(_new_brokers(view, step, bundle, target)))
        return facts
    if bundle is None:
        return StepFacts(waiting="the HelmBundle does not exist yet")
    failing, waiting = _releases(view, step, bundle, target)
    if failing or waiting:
        return StepFacts(failing=failing, waiting=waiting)
    names = release_names(target, step)
    facts = StepFacts()
    if record.prepared:
        facts = BrokerCare(ports, view.osdpl, view.bundles).roll(names)
    elif step.about.by_node:
        facts = replace_pods(ports.kube, view.osdpl, names, policy, view.now)
    if facts.failing or facts.waiting:
        return facts
    if text := _unhealthy(view, names) or _failing_probes(view, policy):
        return replace(facts, waiting=text)
    if smoke_is_due(record, policy, view.now):
        gate = SmokeGate(ports.kube, view.own_pods, view.osdpl, view.upgrade)
        return replace(facts, smoke=gate.outcome(record))
    return facts


def release_names(bundle: KubeObject, step: UpgradeStep) -> tuple[str, ...]:
    """The releases of a bundle that a step upgrades."""
    releases = (bundle.get("spec") or {}).get("releases") or ()
    return tuple(str(one["name"]) for one in releases if _chart(one) in step.about.charts)


def _before(view: GateView, step: UpgradeStep, bundle: KubeObject | None, target: KubeObject) -> StepFacts:
    then = _staged(view, step, bundle, target, step.name)
    same = _staged(view, step, bundle, target).get("releases") == then.get("releases")
    if same and not step.about.by_node:
        return StepFacts(unchanged=True)
    returnable = step.phase != Phase.CONTROL_PLANE and not _new_versions(view, step, then)
    return StepFacts(prepares=bool(_new_brokers(view, step, bundle, target)), returnable=returnable)


def _staged(
    view: GateView, step: UpgradeStep, bundle: KubeObject | None, target: KubeObject, *more: str
) -> Mapping[str, Any]:
    """What the bundle is with the steps that have begun, and these."""
    own, begun = view.own_steps(step.service), view.upgrade.begun | set(more)
    return staged_spec(target["spec"], (bundle or {}).get("spec"), own, begun) or {}


def _new_brokers(
    view: GateView, step: UpgradeStep, bundle: KubeObject | None, target: KubeObject
) -> dict[str, str]:
    """The image of each broker that gets another version with this step, by release.

    A version that an operator answers for is reached without us.
    """
    accepted = accepted_versions(view.osdpl["metadata"].get("annotations"))
    images = _new_versions(view, step, _staged(view, step, bundle, target, step.name))
    return {
        name: image
        for name, image in images.items()
        if view.images[name].chart == BROKER and not is_accepted(accepted, name, image)
    }


def _new_versions(view: GateView, step: UpgradeStep, then: Mapping[str, Any]) -> dict[str, str]:
    """The image of each server that gets another version, by release: its data do not go back."""
    found = {}
    for release in then.get("releases") or ():
        server = view.images.get(str(release["name"]))
        if server is None or server.chart not in step.about.charts:
            continue
        # What the chart says itself is not sent.
        image = tag_of(release, server.chart) or server.after
        if image_version(image) != image_version(server.before):
            found[server.release] = image
    return found


def _releases(view: GateView, step: UpgradeStep, bundle: KubeObject, target: KubeObject) -> tuple[str, str]:
    """Why releases of the step fail, and what they wait for; both empty once they are deployed."""
    spec, status = bundle.get("spec") or {}, bundle.get("status") or {}
    if _staged(view, step, bundle, target).get("releases") != spec.get("releases"):
        return "", "the HelmBundle is written"
    if status.get("observedGeneration") != bundle["metadata"].get("generation"):
        return "", "helmbundle begins"
    names = set(release_names(target, step))
    releases = [one for one in status.get("releases") or () if one.get("name") in names]
    failed = [one for one in releases if one.get("state") == ReportedState.FAILED]
    if failed:
        ready = find(status.get("conditions") or [], "Ready")
        return str(ready.get("message") or f"{failed[0].get('name')} fails"), ""
    open_ = [one for one in releases if one.get("state") != ReportedState.DEPLOYED]
    if open_ or len(releases) < len(names):
        shown = [_in_words(one) for one in open_]
        return "", ", ".join(shown) or "helmbundle begins"
    return "", ""


def _in_words(release: Mapping[str, Any]) -> str:
    """A release that is not deployed yet, with what it waits for, such as a Job that fails."""
    text = f"{release.get('name')} {release.get('state')}"
    message = str(release.get("message") or "")
    return shorten(f"{text}: {message}" if message else text, _MOST_TEXT)


def _unhealthy(view: GateView, releases: Sequence[str]) -> str:
    """What of the workloads of these releases is not healthy at what runs now; empty if all of it is."""
    if not view.health:
        return ""
    status = view.osdpl.get("status") or {}
    if status.get("healthOf") != marks_digest(bundle_mark(bundle) for bundle in view.bundles):
        return "container health has not observed the new pods yet"
    found = []
    for name in releases:
        for component, entry in sorted(((status.get("health") or {}).get(name) or {}).items()):
            if entry.get("status") != "Ready":
                message = str(entry.get("message") or entry.get("status"))
                found.append(f"{name}/{component}: {message}")
    return "; ".join(found[:3])


def _failing_probes(view: GateView, policy: UpgradePolicy) -> str:
    if not view.health:
        return ""
    return failing_probes(view.osdpl.get("status") or {}, view.upgrade, policy.max_failed)


def _of_service(bundles: KubeObjects, service: str) -> KubeObject | None:
    found = (one for one in bundles if (one["metadata"].get("labels") or {}).get(SERVICE_LABEL) == service)
    return next(found, None)


def _chart(release: Mapping[str, Any]) -> str:
    return str((release.get("chart") or {}).get("name"))
