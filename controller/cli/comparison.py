"""A region before and after a change, from files or from a cluster and files, and the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from controller.adapters.helm.records.release_records import SecretRecords
from controller.cli.cluster import open_cluster
from controller.cli.offline.charts import secret_texts
from controller.cli.offline.input_files import InputObject, read_objects
from controller.cli.offline.manifests import render_release, size_problem
from controller.cli.offline.region import OfflineRegion, offline_renderer
from controller.cli.views.diff import RegionDiff, diff_regions
from controller.cli.views.upgrade.plan import preview_steps
from controller.domain.credentials.own_passwords import own_password_warnings
from controller.domain.credentials.rotation.accounts import releases_of
from controller.domain.region.allowed_version_steps import (
    ImageStep,
    accepted_versions,
    image_problems,
    series_problems,
)
from controller.domain.region.spec_changes import spec_changes
from controller.domain.region.upgrade.broker_version_hops import hop_versions, with_hops
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import HelmFailed, KubeError, SpecInvalid
from controller.ports.helm import HelmClient, RenderedRelease
from controller.ports.kubernetes import SECRET, Kube
from controller.reconcile.region.version_gate import image_steps, keepers_asked_for, observe_keepers
from controller.reconcile.releases.actions.object_owners import OwnerGuard
from controller.render.missing_parts import admit_running


@dataclass(frozen=True)
class Compared:
    """A region before and after, the objects of the new files, and its cluster."""

    before: OfflineRegion
    after: OfflineRegion
    given: Sequence[InputObject]
    kube: Kube | None = None

    @property
    def namespace(self) -> str:
        """The region's."""
        return self.before.deployment.namespace


def between_files(old: str, new: str) -> Compared:
    """The regions of two files or directories. Raises SpecInvalid and ChartInvalid."""
    renderer = offline_renderer()
    before, given = renderer.render_one(read_objects([old]), lacking=True), read_objects([new])
    return _compared(before, renderer.render_one(given, lacking=True), given)


def beside_cluster(
    filenames: Sequence[str], kubeconfig: Path | None, context: str, namespace: str
) -> Compared:
    """The region of the files, and the one of that name in the cluster. Raises KubeError, too."""
    renderer = offline_renderer()
    given = read_objects(filenames)
    after = renderer.render_one(given, lacking=True)
    own = after.item.obj["metadata"].get("namespace") or ""
    cluster = open_cluster(kubeconfig, context, namespace or own)
    found = InputObject(cluster.find_region(after.deployment.name), "cluster")
    return _compared(renderer.render(found, lacking=True), after, given, cluster.kube)


def _compared(
    before: OfflineRegion, after: OfflineRegion, given: Sequence[InputObject], kube: Kube | None = None
) -> Compared:
    """Raises SpecInvalid if new releases lack objects; existing ones continue without them."""
    there = [release.spec.name for bundle in before.region.bundles for release in bundle.releases]
    refused, _ = admit_running(after.region.lacking, there)
    if refused:
        raise SpecInvalid(after.item.locate_all(refused))
    return Compared(before, after, given, kube)


def difference(compared: Compared, helm: HelmClient | None) -> RegionDiff:
    """The difference; with objects if Helm is available to render them."""
    before, after, kube = compared.before, compared.after, compared.kube
    charts = offline_renderer().charts
    found = diff_regions(
        before.written,
        after.written,
        (lambda spec: render_release(spec, charts, helm)) if helm is not None else None,
        lambda spec, rendered: size_problem(spec, charts, rendered),
        partial(_taken, kube, compared.namespace) if kube is not None else None,
    )
    if kube is None:  # the region in the cluster was searched by its name
        found = replace(found, another=_another(before, after))
    if found.another:
        return found
    schema = offline_renderer().region_schema.root["properties"]["spec"]
    changes = spec_changes(before.deployment, after.deployment, schema)
    found = replace(found, settings=(*found.settings, *changes))
    return replace(
        found, refused=refusals(compared), warnings=_warnings(compared), steps=_upgrade_steps(compared)
    )


def _upgrade_steps(compared: Compared) -> tuple[str, ...]:
    """The steps of an upgrade to another version that change something; none where the version stays."""
    before, after = compared.before, compared.after
    if before.deployment.spec.openstack_version == after.deployment.spec.openstack_version:
        return ()
    steps = with_hops(after.region.upgrade_steps, *keeper_changes(compared))
    effects = preview_steps(steps, before.objects(), after.objects())
    return tuple(one.step.name for one in effects if not one.unchanged)


def _another(before: OfflineRegion, after: OfflineRegion) -> str:
    """The problem that the files have regions with different names or namespaces."""
    old, new = (f"{one.deployment.namespace}/{one.deployment.name}" for one in (before, after))
    return "" if old == new else f"these are different regions: {old} and {new}"


def refusals(compared: Compared) -> tuple[str, ...]:
    """Why core would refuse the change.

    The images of brokers and databases are those of the cluster, or of the former file.
    """
    before, after = compared.before, compared.after
    images, accepted = keeper_changes(compared)
    version, wanted = (one.deployment.spec.openstack_version for one in (before, after))
    name, namespace = after.deployment.name, after.deployment.namespace
    status = {"openstackVersion": version, **(before.item.obj.get("status") or {})}
    problems = series_problems(status, wanted, accepted, name, namespace)
    passed = hop_versions(after.region.upgrade_steps) if wanted != version else ()
    problems += image_problems(images, accepted, name, namespace, passed)
    return tuple(map(str, problems))


def keeper_changes(compared: Compared) -> tuple[tuple[ImageStep, ...], dict[str, str]]:
    """The images of brokers and databases before and after, and the versions that are accepted by release.

    Those before are of the cluster, or of the former file.
    """
    before, after, kube = compared.before, compared.after, compared.kube
    running = observe_keepers(kube, compared.namespace) if kube is not None else None
    there = keepers_asked_for(before.region) if running is None else running
    accepted = {
        **accepted_versions(before.item.obj["metadata"].get("annotations")),
        **accepted_versions(after.item.obj["metadata"].get("annotations")),
    }
    return tuple(image_steps(after.region, there)), accepted


def _warnings(compared: Compared) -> tuple[str, ...]:
    """Intended effects that the change does not have: passwords that the database does not get.

    Suffixes of account names are read from Secrets in the files, and in the cluster if there is one.
    """
    old, new = (releases_of(one.objects()) for one in (compared.before, compared.after))
    generated = [secret.name for secret in compared.after.region.credentials]

    @cache
    def suffix_of(name: str) -> str | None:
        secret = _secret(name, compared)
        return None if secret is None else dict(secret_texts(secret)).get(ACCOUNT_SUFFIX, "")

    there = [release.spec.name for bundle in compared.before.region.bundles for release in bundle.releases]
    _, unreadable = admit_running(compared.after.region.lacking, there)
    known = admit_running(compared.before.region.lacking, there)[1]
    told = [one for one in unreadable if (one.path, one.message) not in {(o.path, o.message) for o in known}]
    passwords = own_password_warnings(old, new, generated, suffix_of)
    return tuple(map(str, (*passwords, *compared.after.item.locate_all(told))))


def _secret(name: str, compared: Compared) -> Mapping[str, Any] | None:
    """A Secret of the files, otherwise of the cluster; None if both lack it, or we may not read it."""
    kind = SECRET.api_version, SECRET.kind
    for item in compared.given:
        if (item.obj["apiVersion"], item.kind, item.name) == (*kind, name):
            return item.obj
    try:
        return compared.kube.get(SECRET, name, compared.namespace) if compared.kube is not None else None
    except KubeError:
        return None


def _taken(
    kube: Kube, namespace: str, spec: ReleaseSpec, rendered: RenderedRelease, action: str
) -> tuple[str, ...]:
    """Foreign objects with names of the release, for which the action would be refused.

    None if we may not read the cluster.
    """
    guard = OwnerGuard(kube, SecretRecords(kube), spec.name, namespace)
    try:
        return guard.observe(rendered, action).taken
    except (KubeError, HelmFailed):
        return ()
