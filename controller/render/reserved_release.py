"""The release that the controller itself was installed as is no region's to have."""

from __future__ import annotations

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.spec_rules import running_region as rules
from controller.errors import SpecInvalid
from controller.render.region import Region


def refuse_reserved(region: Region, reserved: ReleaseKey | None) -> None:
    """Raises SpecInvalid where the region asks for a release of that namespace and name."""
    found = [
        rules.RELEASE_RESERVED.at(
            f"spec.services.{bundle.service}", name=release.name, namespace=release.namespace
        )
        for bundle in region.bundles
        for release in bundle.spec.releases
        if (release.namespace, release.name) == reserved
    ]
    if found:
        raise SpecInvalid(found)
