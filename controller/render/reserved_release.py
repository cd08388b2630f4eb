"""The release that the controller itself was installed as is no region's to have."""

from __future__ import annotations

from controller.domain.api.keys import ReleaseKey
from controller.errors import Problem, SpecInvalid
from controller.render.region import Region


def refuse_reserved(region: Region, reserved: ReleaseKey | None) -> None:
    """Raises SpecInvalid where the region asks for a release of that namespace and name."""
    found = [
        Problem(
            f"spec.services.{bundle.service}",
            f'its release "{release.name}" is the controller\'s own installation in "{release.namespace}"',
            "install the controller under another name, or in a separate namespace",
        )
        for bundle in region.bundles
        for release in bundle.spec.releases
        if (release.namespace, release.name) == reserved
    ]
    if found:
        raise SpecInvalid(found)
