"""An upgrade to another version of OpenStack before it begins, of a file's region or of the cluster's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controller.cli.comparison import Compared, keeper_changes, refusals
from controller.cli.offline.input_files import InputObject, read_objects
from controller.cli.offline.manifests import render_release
from controller.cli.offline.own_kinds import is_region
from controller.cli.offline.region import OfflineRenderer, offline_renderer
from controller.cli.views.upgrade.plan import UpgradePreview, preview_steps
from controller.domain.api.conditions import find
from controller.domain.region.facts import ANSWERED_BY
from controller.domain.region.upgrade.broker_version_hops import with_hops
from controller.domain.region.upgrade.next_step import new_upgrade
from controller.domain.region.upgrade.upgrade_checks import ServiceUpgradeCheck
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy, upgrade_policy
from controller.domain.region.upgrade.upgrade_state import Check, CheckState
from controller.errors import Problem, SpecInvalid
from controller.ports.helm import HelmClient
from controller.ports.kubernetes import OSDPL, Kube, KubeObject, KubeObjects
from controller.reconcile.region.upgrade.preflight import PreflightView, pinned_images, preflight_checks

VERSION_FIELD = "spec.openstackVersion"


def region_of_files(filenames: Sequence[str]) -> InputObject:
    """The only region of the files. Raises SpecInvalid."""
    items = read_objects(filenames)
    offline_renderer().learn(items)
    regions = [item for item in items if is_region(item)]
    if len(regions) != 1:
        text = f"{len(regions)} regions in the files"
        raise SpecInvalid([Problem("kind", text, f"give one {OSDPL.kind}", items[0].source)])
    return regions[0]


def running_version(region: KubeObject) -> str:
    """The version that a region of a cluster runs; that of its spec before the first was deployed."""
    spec, status = region.get("spec") or {}, region.get("status") or {}
    return str(status.get("openstackVersion") or spec.get("openstackVersion") or "")


def preview_upgrade(
    item: InputObject, source: str, target: str, *, helm: HelmClient | None, kube: Kube | None = None
) -> UpgradePreview:
    """The upgrade of a region from `source` to `target`; with objects if Helm is available to render them.

    `kube`: the cluster that the region runs in. Raises SpecInvalid and ChartInvalid.
    """
    compared, charts = _compared(item, source, target, kube), offline_renderer().charts
    after = compared.after
    policy = upgrade_policy(after.deployment.spec.upgrade)
    steps = preview_steps(
        with_hops(after.region.upgrade_steps, *keeper_changes(compared)),
        compared.before.objects(),
        after.objects(),
        (lambda spec: render_release(spec, charts, helm)) if helm is not None else None,
    )
    return UpgradePreview(
        region=after.deployment.name,
        namespace=after.deployment.namespace,
        source=source,
        target=target,
        policy=policy,
        steps=steps,
        refused=(*refusals(compared), *_pinned(compared, source, target, policy)),
        rendered=helm is not None,
    )


def preview_checks(
    item: InputObject, source: str, target: str, *, kube: Kube, bundles: KubeObjects, now: float
) -> tuple[tuple[Check, ...], tuple[ServiceUpgradeCheck, ...]]:
    """The checks before the upgrade that need no Job, made `now` (seconds since the epoch), and those that
    are Jobs. Nothing is written."""
    region = item.obj
    compared = _compared(item, source, target, kube)
    refused = refusals(compared)
    state = CheckState.FAILED if refused else CheckState.PASSED
    conditions = (region.get("status") or {}).get("conditions") or []
    # A container that is not deployed never reports.
    deployed = tuple(
        name
        for name, type_ in ANSWERED_BY.items()
        if find(conditions, type_).get("status") in ("True", "False")
    )
    view = PreflightView(
        region,
        new_upgrade(source, target, (), 0.0),
        compared.after.objects(),
        bundles,
        deployed,
        compared.after.region.warnings,
    )
    found = preflight_checks(kube, view, now)
    known = Check("version-step", state, "; ".join(refused))
    # Migrations of data come after the last step.
    programs = (one for one in compared.after.region.upgrade_checks if not one.about.migrates)
    return (known, *found), tuple(programs)


def _pinned(compared: Compared, source: str, target: str, policy: UpgradePolicy) -> tuple[str, ...]:
    """What the check of pinned images would hold the upgrade for; it needs the spec alone."""
    upgrade = new_upgrade(source, target, (), 0.0)
    check = pinned_images(compared.after.objects(), compared.before.objects(), upgrade)
    if check.state != CheckState.FAILED or check.name in policy.skip_checks:
        return ()
    return (f"check {check.name}: {check.message}",)


def known_versions(renderer: OfflineRenderer) -> tuple[str, ...]:
    """The versions that the definition of a region allows."""
    spec: dict[str, Any] = renderer.region_schema.root["properties"]["spec"]
    return tuple(map(str, spec["properties"]["openstackVersion"].get("enum") or ()))


def _compared(item: InputObject, source: str, target: str, kube: Kube | None) -> Compared:
    renderer = offline_renderer()
    return Compared(
        before=renderer.render(_at(item, source), lacking=True),
        after=renderer.render(_at(item, target), lacking=True),
        given=(item,),
        kube=kube,
    )


def _at(item: InputObject, version: str) -> InputObject:
    return replace(
        item, obj={**item.obj, "spec": {**(item.obj.get("spec") or {}), "openstackVersion": version}}
    )
