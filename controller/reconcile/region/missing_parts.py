"""Refuses releases that cannot work as the spec has them, and leaves alone those that run already.

A controller that asks for more than the one before must not stop a region for what runs in it: every other
edit of the spec would wait for that.
"""

from __future__ import annotations

from dataclasses import replace

from controller.errors import SpecInvalid
from controller.ports.kubernetes import KubeObjects
from controller.reconcile.region.kept_values import values_there
from controller.render.missing_parts import admit_running
from controller.render.region import Region


def refuse_missing_parts(region: Region, bundles: KubeObjects) -> Region:
    """The region, with a warning for what releases of the bundles lack. Raises SpecInvalid for others."""
    refused, warnings = admit_running(region.lacking, values_there(bundles).keys())
    if refused:
        raise SpecInvalid(refused)
    return replace(region, warnings=(*region.warnings, *warnings)) if warnings else region
