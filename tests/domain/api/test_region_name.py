"""What tells apart what the regions of one cluster leave."""

from __future__ import annotations

import re

import pytest

from controller.domain.api.region_name import RegionName, node_notes, noted_by_others, region_of

FINALIZER = re.compile(r"[a-z0-9.-]+/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAMES = (
    RegionName("openstack", "just-works"),
    RegionName("n" * 63, "a"),
    RegionName("n" * 63, "b"),
    RegionName("openstack", "a" * 253),
    RegionName("openstack", "a" * 252 + "b"),
    RegionName("o", ".".join("a" * 250)),
    RegionName("o", "a" * 52 + ".b" * 100),
    RegionName("o", "a" * 61),
    RegionName("o", "a" * 60),
)


@pytest.mark.parametrize("region", NAMES)
def test_finalizer_and_manager_are_what_kubernetes_takes(region: RegionName) -> None:
    assert FINALIZER.fullmatch(region.finalizer("node"))
    assert len(region.manager("node")) <= 128


def test_no_two_regions_have_the_same() -> None:
    assert len({region.key for region in NAMES}) == len(NAMES)
    assert RegionName("a", "b.c").key == "a.b.c"
    assert RegionName("openstack", "one").finalizer("node") == "node.osctl.dev/openstack.one"


def test_an_object_without_a_region_has_no_owner() -> None:
    assert region_of({"spec": {"nodeName": "cmp1"}}) == RegionName("", "")


def test_notes_of_others_are_distinguished_from_ours_and_from_labels_of_the_product() -> None:
    notes = {
        "openstack.osctl.dev/cordoned-by": "work",
        "open.osctl.dev/cordoned-by": "other",
        "osctl.dev/cordoned-by": "nobody",
        "openstack.example.org/x": "y",
    }
    node = {"metadata": {"annotations": notes}}
    assert node_notes("openstack", node) == {"osctl.dev/cordoned-by": "work"}
    assert noted_by_others("openstack", "osctl.dev/cordoned-by", node)
    assert not noted_by_others("openstack", "osctl.dev/fenced", node)
