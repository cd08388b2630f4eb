"""Whether a region was served by a newer controller than this one. Pure.

A newer controller may have written what this one does not know: steps of an upgrade, fields, values of
releases. An older controller therefore leaves the region as it is until an operator answers for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import ACCEPT_VERSION_ANNOTATION
from controller.domain.region.version_steps import accepted_versions

# Under this name an operator accepts an older controller.
CONTROLLER = "controller"
_MINOR = re.compile(r"v?(\d+)\.(\d+)")


def newer_controller(osdpl: Mapping[str, Any], own: str) -> str:
    """Why a controller of version `own` leaves this region as it is; empty if it may serve it.

    Patch versions are no difference, and what is not a version is not judged.
    """
    meta, known = osdpl["metadata"], str((osdpl.get("status") or {}).get("version") or "")
    before, now = _minor(known), _minor(own)
    if before is None or now is None or before <= now:
        return ""
    shown = f"{now[0]}.{now[1]}"
    if accepted_versions(meta.get("annotations")).get(CONTROLLER) == shown:
        return ""
    accept = (
        f"kubectl -n {meta.get('namespace')} annotate osdpl {meta['name']} "
        f"{ACCEPT_VERSION_ANNOTATION}={CONTROLLER}={shown}"
    )
    return (
        f"controller {known} has served this region, and this one is {own}: it changes nothing, because it "
        f"may not know what the newer one wrote; install {before[0]}.{before[1]} again, or accept the older "
        f"one: {accept}"
    )


def _minor(version: str) -> tuple[int, int] | None:
    found = _MINOR.match(version)
    return (int(found[1]), int(found[2])) if found else None
