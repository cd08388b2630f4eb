"""The checks before an upgrade begins, of what is known without asking a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.region.facts import ANSWERED_BY
from controller.domain.region.upgrade.upgrade_state import Check, CheckState, Upgrade
from controller.ports.kubernetes import KubeObject, KubeObjects


def preflight_checks(
    osdpl: KubeObject,
    upgrade: Upgrade,
    desired: KubeObjects,
    bundles: KubeObjects,
    containers: tuple[str, ...],
) -> tuple[Check, ...]:
    """Every check, in order. `desired` are the bundles of the target, `bundles` those that run."""
    status = osdpl.get("status") or {}
    return (
        _region_ready(status, upgrade, containers),
        _rotation(status),
        _pinned_images(desired, bundles, upgrade),
    )


def _region_ready(status: Mapping[str, Any], upgrade: Upgrade, containers: tuple[str, ...]) -> Check:
    conditions = status.get("conditions") or []
    for container, type_ in ANSWERED_BY.items():
        entry = find(conditions, type_)
        if container in containers and entry.get("status") != "True":
            text = f"{type_} is {entry.get('status') or 'Unknown'}: {entry.get('message') or 'no report yet'}"
            remedy = f"correct it at {upgrade.source} first: set openstackVersion back"
            return Check("region-ready", CheckState.FAILED, f"{text}; {remedy}")
    return Check("region-ready", CheckState.PASSED)


def _rotation(status: Mapping[str, Any]) -> Check:
    rotating = sorted(
        name
        for name, entry in (status.get("secrets") or {}).items()
        if ((entry or {}).get("rotation") or {}).get("phase") not in (None, "Waiting")
    )
    if rotating:
        text = f"credentials rotate: {', '.join(rotating)}; the upgrade begins after that"
        return Check("credential-rotation", CheckState.RUNNING, text)
    return Check("credential-rotation", CheckState.PASSED)


def _pinned_images(desired: KubeObjects, bundles: KubeObjects, upgrade: Upgrade) -> Check:
    """Images of the version before that the spec names, so that they would stay."""
    before = dict(_tags(bundles))
    pinned = [
        f"images.tags.{name} of {release}"
        for (release, name), tag in _tags(desired)
        if before.get((release, name)) == tag and upgrade.source in tag.rpartition("/")[2]
    ]
    if pinned:
        text = f"the spec names images of {upgrade.source}, which would stay: {', '.join(pinned[:5])}"
        more = f" and {len(pinned) - 5} more" if len(pinned) > 5 else ""
        return Check("pinned-images", CheckState.FAILED, f"{text}{more}; name those of {upgrade.target}")
    return Check("pinned-images", CheckState.PASSED)


def _tags(bundles: KubeObjects) -> Iterator[tuple[tuple[str, str], str]]:
    for bundle in bundles:
        for release in (bundle.get("spec") or {}).get("releases") or ():
            images = (release.get("values") or {}).get("images") or {}
            for name, tag in (images.get("tags") or {}).items():
                yield (str(release["name"]), str(name)), str(tag)
