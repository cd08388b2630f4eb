"""What a size may change: nothing that Kubernetes fixes for the life of an object."""

from __future__ import annotations

import pytest

from controller.domain.values.chart_values import format_path, leaves
from tests.render.region import core_spec, library, render

# Keys under which charts have the size or class of a volume that they claim.
CLAIMS = {"volume", "volumeClaimTemplates", "persistence", "size", "class_name", "storageClass"}


def claims(**spec: object) -> dict[str, object]:
    return {
        f"{release.spec.name} {format_path(path)}": value
        for bundle in render(core_spec(**spec)).bundles
        for release in bundle.releases
        for path, value in leaves(release.merged.values)
        if CLAIMS & set(map(str, path)) and path[:2] != ("pod", "resources")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "charts"),
    [("core", {}), ("compute-baremetal", core_spec()["charts"])],
    ids=["embedded", "upstream"],
)
def test_no_size_changes_a_claim(preset: str, charts: dict[str, str]) -> None:
    by_size = {size: claims(preset=preset, size=size, charts=charts) for size in library().sizes}
    assert by_size["single"]["mariadb volume.size"] == "50Gi"
    assert all(found == by_size["single"] for found in by_size.values())
