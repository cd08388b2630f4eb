"""Whether the pods of a region run with the certificates that its Secrets have.

A release that uses certificates has the digest of its Secret in the annotations of all its pods
(`release_uuid` of OpenStack-Helm's charts). A new certificate therefore makes Helm replace the pods, and the
annotation shows which certificate a pod uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.conditions import is_true
from controller.domain.health.workloads import parse_workload
from controller.domain.values.chart_values import SECRET_REF, is_secret_ref, texts_in
from controller.domain.values.secret_refs import find_references
from controller.errors import SpecInvalid
from controller.ports.kubernetes import DAEMONSET, DEPLOYMENT, STATEFULSET, Kube, KubeObjects

VALUE = "release_uuid"
ANNOTATION = "openstackhelm.openstack.org/release_uuid"


def is_taken_up(kube: Kube, namespace: str, bundles: KubeObjects, digests: Mapping[str, str]) -> bool:
    """Whether every workload of every release that refers to one of these Secrets runs with its digest.

    A release that has no workload yet will begin with what is there then. Raises KubeError.
    """
    expected = {release: digests[secret] for release, secret in _references(bundles) if secret in digests}
    if not expected:
        return True
    for kind in (DEPLOYMENT, STATEFULSET, DAEMONSET):
        for obj in kube.list(kind, namespace):
            workload = parse_workload({**obj, "kind": kind.kind})
            if workload is None or workload.release not in expected or workload.off:
                continue
            rollout = workload.rollout
            replaced = rollout.updated >= rollout.desired and rollout.current <= rollout.updated
            seen = workload.observed >= workload.generation
            newest = _annotation(obj) == expected[workload.release]
            if not (newest and seen and replaced and rollout.ready >= rollout.desired):
                return False
    return True


def texts_in_use(bundles: KubeObjects) -> frozenset[str]:
    """Every text in the values of all releases: names of Secrets are among them."""
    return frozenset(text for release in _releases(bundles) for text in texts_in(release.get("values")))


def used_by_installed(bundles: KubeObjects) -> frozenset[str]:
    """The Secrets that releases refer to of which a revision was made."""
    found: set[str] = set()
    for bundle in bundles:
        entries = (bundle.get("status") or {}).get("releases") or ()
        made = {entry.get("name") for entry in entries if entry.get("revision")}
        for release in (bundle.get("spec") or {}).get("releases") or ():
            if release.get("name") in made:
                try:
                    found |= {one.name for one in find_references(release.get("values") or {})}
                except SpecInvalid:  # any text of it may be such a name
                    found |= texts_in_use([{"spec": {"releases": [release]}}])
    return frozenset(found)


def are_deployed(bundles: KubeObjects) -> bool:
    """Whether every HelmBundle has taken up its present spec; until then pods may mount what it no longer
    names."""
    for bundle in bundles:
        status = bundle.get("status") or {}
        current = status.get("observedGeneration") == bundle["metadata"].get("generation")
        if not (current and is_true(status.get("conditions") or [], "Ready")):
            return False
    return True


def _references(bundles: KubeObjects) -> Iterator[tuple[str, str]]:
    for release in _releases(bundles):
        value = (release.get("values") or {}).get(VALUE)
        if isinstance(value, Mapping) and is_secret_ref(value):
            yield str(release["name"]), str(value[SECRET_REF]["name"])


def _releases(bundles: KubeObjects) -> Iterator[Mapping[str, Any]]:
    for bundle in bundles:
        yield from (bundle.get("spec") or {}).get("releases") or ()


def _annotation(obj: Mapping[str, Any]) -> str:
    template = ((obj.get("spec") or {}).get("template") or {}).get("metadata") or {}
    return str((template.get("annotations") or {}).get(ANNOTATION) or "")
