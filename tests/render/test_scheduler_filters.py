"""Options that a scheduler heeds only with a filter have it, or the region is warned."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem
from tests.render.region import core_spec, library, render

NOVA = "conf.nova.filter_scheduler.enabled_filters"
PINNED = {"compute": {"cpu_dedicated_set": "4-31"}}
CARD = {"pci": {"device_spec": '{"devname": "ens2f0"}'}}


def on_nodes(conf: dict[str, Any]) -> dict[str, Any]:
    values = {"compute": {"nova": {"compute": {"values": {"conf": {"nova": conf}}}}}}
    return {"nodes": {"pinned::yes": {"services": values}}}


def everywhere(conf: dict[str, Any]) -> dict[str, Any]:
    return {"services": {"compute": {"nova": {"values": {"conf": {"nova": conf}}}}}}


def told(**spec: Any) -> list[Problem]:
    return [one for one in render(core_spec(**spec)).warnings if "needs" in one.message]


@pytest.mark.parametrize("conf", [PINNED, CARD])
def test_pinned_cpus_and_devices_have_their_filters_by_default(conf: dict[str, Any]) -> None:
    region = render(core_spec(**on_nodes(conf)))
    nova = region.release("nova")
    assert nova is not None
    filters = nova.merged.values["conf"]["nova"]["filter_scheduler"]["enabled_filters"].split(",")
    assert filters[-2:] == ["NUMATopologyFilter", "PciPassthroughFilter"]
    assert told(**on_nodes(conf)) == told(**everywhere(conf)) == []


def test_a_list_without_the_filter_of_an_option_is_warned_of() -> None:
    own = everywhere({"filter_scheduler": {"enabled_filters": "ComputeFilter, PciPassthroughFilter"}})
    [warning] = told(**on_nodes({**PINNED, **CARD}), **own)
    assert warning.path == f"spec.services.compute.nova.values.{NOVA}"
    assert warning.message.startswith("compute.cpu_dedicated_set needs NUMATopologyFilter in enabled_filters")
    assert warning.remedy == "add NUMATopologyFilter"


def test_an_option_whose_filter_is_not_on_is_warned_of() -> None:
    [warning] = told(**everywhere({"filter_scheduler": {"max_io_ops_per_host": 4}}))
    assert warning.path == "spec.services.compute.nova.values.conf.nova.filter_scheduler.max_io_ops_per_host"
    assert warning.remedy.startswith(f"set {NOVA} of nova: ComputeFilter,")
    assert warning.remedy.endswith(",IoOpsFilter")


def test_a_function_of_a_store_needs_the_filter_that_evaluates_it() -> None:
    store = {"name": "ssd", "type": "ceph", "conf": {"filter_function": "stats.free_capacity_gb > 5"}}
    [warning] = told(preset="compute", features={"blockStorage": {"backends": [store]}})
    assert "ssd.filter_function needs DriverFilter in scheduler_default_filters" in warning.message


@pytest.mark.parametrize("series", ["2025.1", "2025.2", "2026.1"])
def test_each_list_and_option_is_one_of_the_packages(series: str) -> None:
    for one in library().relations.listed:
        sections = library().names.sections(one.release, series)
        known = frozenset[str]().union(*sections.values())
        assert one.list[-1] in known
        assert [name for _, name in one.options if name in known], (one.release, one.options)
