"""Stores of volumes and images: their names are the operator's, and may be those of the chart's examples."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.ceph_needs import CONSUMERS_SECRET
from controller.domain.values.secret_refs import find_references
from controller.errors import SpecInvalid
from tests.render.region import core_spec, render

pytestmark = pytest.mark.slow


def values(release: str, **features: Any) -> dict[str, Any]:
    found = render(core_spec(preset="compute", features=features)).release(release)
    assert found is not None
    return dict(found.merged.values)


def volumes(*stores: tuple[str, str]) -> dict[str, Any]:
    backends = [{"name": name, "type": kind} for name, kind in stores]
    return values("cinder", blockStorage={"backends": backends})


@pytest.mark.parametrize("name", ["rbd1", "fast", "yes", "123"])
def test_a_store_of_volumes_has_the_options_of_its_type_only_whatever_its_name(name: str) -> None:
    found = volumes((name, "lvm"))["conf"]["backends"]
    assert set(found) == {name}
    assert set(found[name]) == {
        "volume_driver",
        "volume_group",
        "target_protocol",
        "target_helper",
        "volume_backend_name",
    }


def test_a_volume_type_may_be_named_as_the_charts_example() -> None:
    found = volumes(("name", "lvm"), ("rbd1", "ceph"))["bootstrap"]["volume_types"]
    assert found == {"name": {"volume_backend_name": "name"}, "rbd1": {"volume_backend_name": "rbd1"}}


def test_a_store_of_images_has_the_options_of_its_type_only_whatever_its_name() -> None:
    found = values("glance", image={"backends": [{"name": "rbd", "type": "pvc"}]})["conf"]["glance"]["rbd"]
    assert found == {"filesystem_store_datadir": "/var/lib/glance/images"}


@pytest.mark.parametrize(
    ("features", "path"),
    [
        ({"blockStorage": {"backends": [{"name": "database", "type": "lvm"}]}}, "blockStorage.backends"),
        ({"image": {"backends": [{"name": "database", "type": "pvc"}]}}, "image.backends"),
        ({"image": {"backends": [{"name": "DEFAULT", "type": "pvc"}]}}, "image.backends"),
    ],
)
def test_a_store_cannot_take_the_name_of_a_section_that_means_something_else(
    features: dict[str, Any], path: str
) -> None:
    with pytest.raises(SpecInvalid) as refusal:
        render(core_spec(preset="compute", features=features))
    assert [problem.path for problem in refusal.value.problems] == [f"spec.features.{path}"]


@pytest.mark.parametrize(
    ("share", "host", "path"),
    [("filer:/a", "filer", "/a"), ("filer:/a:/b", "filer", "/a:/b"), ("[fd00::1]:/", "[fd00::1]", "/")],
)
def test_a_share_is_cut_at_its_host(share: str, host: str, path: str) -> None:
    backend = {"name": "filer", "type": "nfs", "nfs": {"shares": [share]}}
    found = values("cinder", blockStorage={"backends": [backend]})["conf"]["backends"]["filer"]
    assert (found["nas_host"], found["nas_share_path"]) == (host, path)


CEPH_VOLUMES = {"backends": [{"name": "fast", "type": "ceph"}]}


@pytest.mark.parametrize("disabled", [[], ["block-storage"]], ids=["with-volumes", "without-volumes"])
@pytest.mark.parametrize("images", [{}, {"images": {"backend": "ceph"}}], ids=["local", "images-in-ceph"])
def test_what_refers_to_an_exchange_with_ceph_is_what_is_exchanged(
    disabled: list[str], images: dict[str, Any]
) -> None:
    region = render(
        core_spec(
            preset="compute",
            features={
                "services": {"disabled": disabled},
                "ceph": {"source": "Rook", "namespace": "rook-ceph"},
                "image": {"backends": [{"name": "disk", "type": "pvc"}]},
                "blockStorage": CEPH_VOLUMES,
                "compute": images,
            },
        )
    )
    assert region.ceph is not None
    asked = {
        one.key
        for bundle in region.bundles
        for release in bundle.releases
        for one in find_references(release.spec.values)
        if one.name == CONSUMERS_SECRET
    }
    assert asked == set(region.ceph.consumers)


@pytest.mark.parametrize(("types", "lacking"), [(["ssd"], ""), (["ssd", "sdd"], "sdd")])
def test_a_quality_of_service_for_a_type_that_is_not_there_is_reported(
    types: list[str], lacking: str
) -> None:
    qos = {"fast": {"consumer": "front-end", "properties": {"total_iops_sec": 500}, "associates": types}}
    given = {"block-storage": {"cinder": {"values": {"bootstrap": {"volume_qos": qos}}}}}
    features = {"blockStorage": {"backends": [{"name": "ssd", "type": "ceph"}]}}
    found = render(core_spec(preset="compute", features=features, services=given)).warnings
    messages = [one.message for one in found if one.path.endswith("volume_qos.fast.associates")]
    assert [one.startswith(f'"fast" is for {lacking}, which is no volume type') for one in messages] == (
        [True] if lacking else []
    )


@pytest.mark.parametrize(("name", "known"), [("ssd", True), ("__DEFAULT__", True), ("gold", False)])
def test_a_default_type_that_the_region_does_not_make_is_reported(name: str, known: bool) -> None:
    conf = {"conf": {"cinder": {"DEFAULT": {"default_volume_type": name}}}}
    features = {"blockStorage": {"backends": [{"name": "ssd", "type": "ceph"}]}}
    given = {"block-storage": {"cinder": {"values": conf}}}
    found = render(core_spec(preset="compute", features=features, services=given)).warnings
    told = [one.path for one in found if one.rule == "block-storage/default-type-unknown"]
    path = "spec.services.block-storage.cinder.values.conf.cinder.DEFAULT.default_volume_type"
    assert told == ([] if known else [path])


@pytest.mark.parametrize(("name", "known"), [("ssd", True), ("gold", False)])
def test_images_in_volumes_of_a_type_that_the_region_does_not_make_are_reported(
    name: str, known: bool
) -> None:
    conf = {"conf": {"glance": {"volumes": {"cinder_volume_type": name}}}}
    features = {
        "blockStorage": {"backends": [{"name": "ssd", "type": "ceph"}]},
        "image": {"backends": [{"name": "volumes", "type": "cinder"}]},
    }
    given = {"image": {"glance": {"values": conf}}}
    found = render(core_spec(preset="compute", features=features, services=given)).warnings
    told = [one.path for one in found if one.rule == "image/volume-type-of-images-unknown"]
    path = "spec.services.image.glance.values.conf.glance.volumes.cinder_volume_type"
    assert told == ([] if known else [path])


def test_two_types_on_one_pool_of_ceph_are_reported() -> None:
    def told(pool: str) -> list[str]:
        stores = [{"name": "ssd", "type": "ceph"}, {"name": "hdd", "type": "ceph", "ceph": {"pool": pool}}]
        found = render(core_spec(preset="compute", features={"blockStorage": {"backends": stores}})).warnings
        return [one.path for one in found if one.rule == "block-storage/types-of-one-pool"]

    assert told("volumes") == ["spec.features.blockStorage.backends"]
    assert told("hdd") == []
