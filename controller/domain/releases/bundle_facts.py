"""What the health of a region needs to know of its HelmBundles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import is_true
from controller.domain.api.names import DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.domain.health.region_health import Release
from controller.domain.releases.digests import fingerprint
from controller.domain.releases.reported_state import ReportedState
from controller.domain.values.secret_refs import secret_names
from controller.errors import SpecInvalid


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """One HelmBundle of a region.

    `settled`: its status is about its present spec, and every release is deployed. `mark` as `bundle_mark`.
    `secrets` names the Secrets that its values refer to.
    """

    name: str
    deployment: str
    releases: tuple[Release, ...]
    settled: bool
    mark: str
    secrets: frozenset[str]


def parse_bundle(obj: Mapping[str, Any]) -> BundleFacts | None:
    """The facts of a bundle; None for one that is used alone, or is being removed."""
    meta = obj["metadata"]
    deployment = (meta.get("labels") or {}).get(DEPLOYMENT_LABEL)
    if not deployment or meta.get("deletionTimestamp"):
        return None
    status = obj.get("status") or {}
    current = status.get("observedGeneration") == meta.get("generation")
    known = {str(one.get("name")): one for one in status.get("releases") or []}
    desired = _desired(obj)
    releases = tuple(
        Release(
            name=str(one["name"]),
            deployed=current and known.get(str(one["name"]), {}).get("state") == ReportedState.DEPLOYED,
            revision=int(known.get(str(one["name"]), {}).get("revision") or 0),
        )
        for one in desired
    )
    return BundleFacts(
        name=str(meta["name"]),
        deployment=str(deployment),
        releases=releases,
        settled=current and is_true(status.get("conditions") or [], "Ready"),
        mark=bundle_mark(obj),
        secrets=referenced_secrets(obj),
    )


def referenced_secrets(obj: Mapping[str, Any]) -> frozenset[str]:
    """The names of the Secrets that the values of a bundle's releases refer to."""
    return frozenset().union(*(_secrets(one.get("values")) for one in _desired(obj)))


def bundle_mark(obj: Mapping[str, Any]) -> str:
    """What a bundle has brought about, as one digest: it moves with its spec and with any revision of Helm.

    Of the object itself, so that one that was made again under its name is another. Empty for a bundle that
    core did not make, or that is being removed.
    """
    meta, status = obj["metadata"], obj.get("status") or {}
    if (meta.get("labels") or {}).get(MANAGED_BY) != MANAGED_BY_US or meta.get("deletionTimestamp"):
        return ""
    revisions = {str(one.get("name")): one.get("revision") for one in status.get("releases") or []}
    return fingerprint({"uid": meta.get("uid"), "spec": meta.get("generation"), "revisions": revisions})


def marks_digest(marks: Iterable[str]) -> str:
    """`status.healthOf` for the marks of all bundles of a region, in any order."""
    return fingerprint({"bundles": sorted(mark for mark in marks if mark)})


def _desired(obj: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in (obj.get("spec") or {}).get("releases") or [] if one.get("name")]


def _secrets(values: Any) -> frozenset[str]:
    try:
        return secret_names(values or {})
    except SpecInvalid:
        # helmbundle says so of the release; here the names only serve to find what must not be shown.
        return frozenset()


def releases_of(bundles: Iterable[BundleFacts]) -> dict[str, Release]:
    """The releases of some bundles by name."""
    return {release.name: release for bundle in bundles for release in bundle.releases}
