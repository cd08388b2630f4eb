"""Whether a controller may serve a region that one of another version has served. Pure.

A newer controller may have written what this one does not know: steps of an upgrade, fields, values of
releases. What a controller two minor versions older left was tested only with the version in between. Such a
controller therefore leaves the region as it is until an operator answers for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import ACCEPT_VERSION_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.region.allowed_version_steps import accepted_versions

# Under this name an operator accepts a controller.
CONTROLLER = "controller"
_MINOR = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True)
class SkewRefusal:
    """Why a controller leaves a region as it is."""

    reason: Reason
    text: str


def refused_controller(osdpl: Mapping[str, Any], own: str) -> SkewRefusal | None:
    """Why a controller of version `own` leaves this region as it is; None if it may serve it.

    Patch versions are no difference, and what is not a version is not judged. A new major version follows on
    any version of the major one before it.
    """
    meta, known = osdpl["metadata"], str((osdpl.get("status") or {}).get("version") or "")
    before, now = _minor(known), _minor(own)
    if before is None or now is None:
        return None
    newer, skips = before > now, _skips(before, now)
    shown = f"{now[0]}.{now[1]}"
    accepted = accepted_versions(meta.get("annotations")).get(CONTROLLER) == shown
    if accepted or not (newer or skips):
        return None
    accept = (
        f"kubectl -n {meta.get('namespace')} annotate osdpl {meta['name']} "
        f"{ACCEPT_VERSION_ANNOTATION}={CONTROLLER}={shown}"
    )
    served = (
        f"controller {known} has served this region, and this controller is {own}. It changes "
        "nothing, because"
    )
    if newer:
        again = f"install {before[0]}.{before[1]} again, or accept the older one"
        text = f"this version may not know what the newer one wrote; {again}"
        return SkewRefusal(Reason.NEWER_CONTROLLER, f"{served} {text}: {accept}")
    text = f"a minor version was skipped; install {before[0]}.{before[1] + 1} first, or accept this one"
    return SkewRefusal(Reason.CONTROLLER_SKIPS_VERSION, f"{served} {text}: {accept}")


def _skips(before: tuple[int, int], now: tuple[int, int]) -> bool:
    if before[0] == now[0]:
        return now[1] - before[1] > 1
    return now[0] - before[0] > 1


def _minor(version: str) -> tuple[int, int] | None:
    found = _MINOR.match(version)
    return (int(found[1]), int(found[2])) if found else None
