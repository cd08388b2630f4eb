"""Whether etcd takes a HelmBundle is known before, and said with what is large in it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.releases.sizes.bundle_size import (
    LIMIT,
    MOST,
    bundle_too_large,
    object_octets,
    size_problem,
)


def spec(**values: Any) -> BundleSpec:
    chart = ChartRef(name="neutron", version="1.0.0", path="neutron")
    one = ReleaseSpec(name="neutron", namespace="openstack", chart=chart, values=values)
    other = ReleaseSpec(name="openvswitch", namespace="openstack", chart=chart, values={"a": 1})
    return BundleSpec(releases=(one, other))


@pytest.mark.parametrize(
    ("text", "octets"), [("a", 1), ("ä", 2), ("<", 6), ("&&", 12), ('"', 2), ("\n", 2), ("\x01", 6)]
)
def test_a_text_counts_as_the_api_server_writes_it(text: str, octets: int) -> None:
    assert object_octets({"a": text}) - object_octets({"a": ""}) == octets


def test_a_bundle_of_ordinary_size_is_no_problem() -> None:
    assert size_problem("networking", spec(conf="x" * 500_000)) is None


def test_a_bundle_that_etcd_does_not_take_is_reported_with_what_is_large_in_it() -> None:
    problem = size_problem("networking", spec(conf={"a": "x" * 1_200_000}, notes="x" * 400_000, small=1))
    assert problem is not None
    assert problem.path == "spec.services.networking"
    assert "would take 1564 KiB" in problem.message
    assert f"at most {MOST // 1024} KiB" in problem.message
    assert problem.message.endswith("of its releases: neutron 1563 KiB (conf 1172 KiB, notes 391 KiB)")
    assert "ConfigMaps" in problem.remedy


def test_the_limit_leaves_room_for_the_status_and_counts_what_escapes_make_of_a_text() -> None:
    assert MOST < LIMIT
    fits = size_problem("networking", spec(conf="<" * (MOST // 6 - 1000)))
    assert fits is None
    assert size_problem("networking", spec(conf="<" * (MOST // 6)))


def test_what_is_planned_beside_what_runs_counts_too() -> None:
    half = {"name": "neutron", "values": {"conf": "x" * (MOST // 2)}}
    assert not bundle_too_large({"spec": {"releases": [half]}})
    assert "neutron" in bundle_too_large({"spec": {"releases": [half], "planned": {"releases": [half]}}})
