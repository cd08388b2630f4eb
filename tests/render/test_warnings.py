"""What is allowed and probably not meant."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.views.diff import diff_regions
from controller.errors import Problem
from tests.render.region import core_spec, render
from tests.render.specs import FEATURES


def warnings(**more: Any) -> tuple[Problem, ...]:
    return render(core_spec(**more), source="region.yaml").warnings


def values(chart: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"services": {"compute": {chart: {"values": content}}}}


def test_a_key_that_the_chart_nearly_has_is_warned_about() -> None:
    [warning] = warnings(**values("nova", {"pod": {"replcas": {"osapi": 2}}}))
    assert warning.path == "spec.services.compute.nova.values.pod.replcas"
    assert warning.message == 'chart nova has no "replcas" here'
    assert 'did you mean "replicas"?' in warning.remedy


def test_an_option_that_is_new_to_the_chart_is_not_warned_about() -> None:
    assert warnings(**values("nova", {"conf": {"nova": {"DEFAULT": {"reserved_host_memory_mb": 512}}}})) == ()


def test_names_that_differ_in_digits_are_different_things() -> None:
    assert warnings(**values("nova", {"endpoints": {"oslo_db_cell2": {"path": "/nova_cell2"}}})) == ()


def test_the_same_slip_in_two_charts_is_said_for_each() -> None:
    found = warnings(common={"charts": {"values": {"endpoint": {}}}})
    assert len(found) == len(set(found)) == 10


def test_a_proxy_is_said_to_reach_no_chart() -> None:
    assert [w.path for w in warnings(proxy={"http": "http://proxy.example.org:3128"})] == ["spec.proxy"]


def test_a_plain_region_has_nothing_to_warn_about() -> None:
    assert warnings() == ()


def test_a_label_that_comes_is_told_to_rename_a_daemonset() -> None:
    labelled = FEATURES["nodes"]
    [nova] = [
        one
        for one in diff_regions(render(core_spec()), render(core_spec(**labelled))).releases
        if one.renames
    ]
    assert (nova.release, nova.renames) == ("nova", ("nova-compute",))


@pytest.mark.slow
def test_block_storage_without_a_store_is_told() -> None:
    [warning] = [one for one in warnings(preset="compute") if "blockStorage" in one.path]
    assert warning.path == "spec.features.blockStorage.backends"
    assert "no volume can be made" in warning.message
    stores = {"blockStorage": {"backends": [{"name": "disk", "type": "lvm"}]}}
    assert warning not in warnings(preset="compute", features=stores)
