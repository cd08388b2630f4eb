"""What core writes into HelmBundles with mode Plan: the desired state beside the applied one.

`spec.releases` of a bundle stays what was last allowed, and `spec.planned` is what is asked for next, in one
object: an approval moves the one to the other in one write, and a process that dies anywhere leaves
bundles each of which is either still planned or already applied. Both are found again by comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import SERVICE_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.credentials.own_passwords import own_password_warnings
from controller.domain.credentials.rotation.accounts import Release, releases_of
from controller.domain.region.node_overrides import rename_warnings
from controller.domain.region.plan import DesiredRelease, PlanParts, RegionPlan, gather_plan
from controller.domain.releases.bundle import BundleSpec, ReleaseSpec
from controller.domain.releases.bundle_object import parse_bundle
from controller.domain.releases.plan import desired_digest, desired_of
from controller.domain.releases.release_settings import SettingChange
from controller.errors import SpecInvalid
from controller.ports.charts import ChartSource
from controller.ports.kubernetes import KubeObject, KubeObjects
from controller.reconcile.region.bundle_writer import name_of
from controller.render.region import Region


def desired_digests(desired: Iterable[KubeObject], region: Region, charts: ChartSource) -> dict[str, str]:
    """Digest of what is asked for of each bundle: its releases and the content of their charts.

    helmbundle says for which one it has planned. Raises ChartInvalid.
    """
    content = {
        bundle.name: [charts.digest(release.spec.chart) for release in bundle.releases]
        for bundle in region.bundles
    }
    return {name_of(obj): desired_digest(desired_of(obj["spec"]), content[name_of(obj)]) for obj in desired}


def planned_object(desired: KubeObject, current: KubeObject | None) -> KubeObject:
    """The bundle as it is applied now, with the desired state beside it if that differs."""
    if current is None:
        nothing = {"mode": "Plan", "volumes": desired["spec"]["volumes"], "releases": []}
        return {**desired, "spec": {**nothing, "planned": desired_of(desired["spec"])}}
    spec = {"mode": "Plan", **desired_of(current["spec"])}
    if desired_of(current["spec"]) != desired_of(desired["spec"]):
        spec["planned"] = desired_of(desired["spec"])
    return {**desired, "spec": spec}


def leaving_object(current: KubeObject, volumes: str) -> KubeObject:
    """A bundle that is no longer desired, with the plan to take away all its releases."""
    meta = {key: current["metadata"][key] for key in ("name", "namespace", "labels")}
    planned = {"volumes": volumes, "releases": []}
    spec = {"mode": "Plan", **desired_of(current["spec"]), "planned": planned}
    return {"apiVersion": current["apiVersion"], "kind": current["kind"], "metadata": meta, "spec": spec}


def applied_object(desired: KubeObject, current: KubeObject | None) -> KubeObject:
    """The bundle as an approved plan wants it: Apply until all of it is there, then Plan again.

    With mode Apply the bundle would also follow changes without approval, such as other contents of its
    charts.
    """
    return {**desired, "spec": {**desired["spec"], "mode": "Plan" if _rests(desired, current) else "Apply"}}


def is_settled(desired: KubeObject, current: KubeObject | None) -> bool:
    """Whether the bundle is as desired, and its own plan says that nothing is left to do."""
    if current is None or not _has_spec_of(desired, current) or current["spec"].get("mode") != "Plan":
        return False
    plan = _own_plan(current)
    return plan is not None and not plan.get("releases")


def is_as_desired(desired: KubeObjects, bundles: KubeObjects) -> bool:
    """Whether the bundles are those that are desired, and each asks of its releases what is asked of it."""
    there = {name_of(bundle): bundle for bundle in bundles}
    asked = {name_of(obj): desired_of(obj["spec"]) for obj in desired}
    return asked == {name: desired_of(bundle["spec"]) for name, bundle in there.items()}


def is_idle(bundle: KubeObject) -> bool:
    """Whether nothing of the bundle was ever applied, or is left: its object can go without a plan."""
    return not (bundle.get("spec") or {}).get("releases") and not (bundle.get("status") or {}).get("releases")


def region_plan(
    region: Region,
    digests: Mapping[str, str],
    bundles: KubeObjects,
    settings: tuple[SettingChange, ...] = (),
) -> RegionPlan:
    """The region's plan as far as its bundles have reported their parts; `digests` as `desired_digests`.
    `settings` are fields of the spec that change."""
    there = {name_of(bundle): bundle for bundle in bundles}
    desired_releases: dict[str, DesiredRelease] = {}
    for bundle in region.bundles:
        current = applied_spec(there.get(bundle.name))
        known = {release.name: release for release in current.releases} if current else {}
        for release in bundle.releases:
            desired_releases[release.spec.name] = DesiredRelease(
                service=bundle.service,
                spec=release.spec,
                merged=release.merged,
                volumes=bundle.spec.volumes,
                current=known.get(release.spec.name),
                current_volumes=current.volumes if current else "",
            )
    services = {
        name: (obj["metadata"].get("labels") or {}).get(SERVICE_LABEL) or name for name, obj in there.items()
    }
    parts = PlanParts(
        bundles=[bundle for bundle in bundles if not bundle["metadata"].get("deletionTimestamp")],
        desired=desired_releases,
        warnings=(*renames(region, bundles), *_own_passwords(region, bundles)),
        services=services,
        asked=digests,
        settings=settings,
    )
    return gather_plan(parts)


def renames(region: Region, bundles: KubeObjects) -> tuple[str, ...]:
    """Warnings of DaemonSets that the desired state renames, compared with what its bundles have now."""
    specs = [applied_spec(bundle) for bundle in bundles]
    before: list[ReleaseSpec] = [release for spec in specs if spec for release in spec.releases]
    after = [release.spec for bundle in region.bundles for release in bundle.releases]
    return tuple(str(warning) for warning in rename_warnings(before, after))


def _own_passwords(region: Region, bundles: KubeObjects) -> tuple[str, ...]:
    """Warnings of passwords that a database does not learn. What Secrets say, core does not read."""
    wanted = [one.spec for bundle in region.bundles for one in bundle.releases]
    after = [Release(one.name, one.chart.name, one.values, bool(one.chart.repository)) for one in wanted]
    generated = [secret.name for secret in region.credentials]
    found = own_password_warnings(releases_of(bundles), after, generated, lambda _: None)
    return tuple(map(str, found))


def applied_spec(bundle: KubeObject | None) -> BundleSpec | None:
    """The approved spec of a bundle; None if there is no bundle, or its spec is unreadable."""
    if bundle is None:
        return None
    try:
        return parse_bundle(bundle).spec
    except SpecInvalid:
        return None


def _has_spec_of(desired: KubeObject, current: KubeObject) -> bool:
    return desired_of(current["spec"]) == desired_of(desired["spec"]) and not current["spec"].get("planned")


def _own_plan(bundle: KubeObject) -> Mapping[str, Any] | None:
    """The bundle's plan of its present spec, None while there is none."""
    plan: Mapping[str, Any] = (bundle.get("status") or {}).get("plan") or {}
    return plan if plan.get("observedGeneration") == bundle["metadata"].get("generation") else None


def _rests(desired: KubeObject, current: KubeObject | None) -> bool:
    if current is None or not _has_spec_of(desired, current):
        return False
    if current["spec"].get("mode") == "Plan":
        plan = _own_plan(current)
        return plan is None or not plan.get("releases")
    status = current.get("status") or {}
    ready = find(status.get("conditions") or [], "Ready")
    # A suspended release is complete as it is, also a failed one: nothing waits for it.
    open_ = [one.get("reason") for one in status.get("releases") or [] if one.get("state") != "Deployed"]
    suspended = ready.get("reason") == Reason.RELEASES_FAILING and set(open_) == {Reason.SUSPENDED}
    there = ready.get("status") == "True" or ready.get("reason") == Reason.SUSPENDED or suspended
    seen = ready.get("observedGeneration") == current["metadata"].get("generation")
    return bool(current["spec"].get("mode") == "Apply" and there and seen)
