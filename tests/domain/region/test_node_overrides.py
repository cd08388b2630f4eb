"""Values for labelled nodes, in both ways that charts want them said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.region.node_overrides import (
    check_nodes,
    node_layer,
    nodes_left_out,
    rename_warnings,
    renamed_daemonsets,
)
from controller.domain.releases.bundle import ChartRef, ReleaseSpec
from controller.domain.values.catalogue import ChartEntry, ServiceEntry
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import SpecSource
from controller.domain.values.merge import merge_layers, merge_onto
from controller.errors import Problem

CHARTS = {
    "nova": ChartEntry(("embedded",), daemonsets=("compute",)),
    "libvirt": ChartEntry(("embedded",), daemonsets=("libvirt",), node_form="values"),
}
COMPUTE = ServiceEntry("compute", "Nova", "openstack", CHARTS)
UPSTREAM = ChartRef("nova", "2026.1.0", repository="https://charts.example.org")
CPU = {"conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 1}}}}


def spec(
    label: str = "role::gpu", chart: str = "nova", daemonset: str = "compute", values: Any = None
) -> SpecSource:
    body = {daemonset: {"values": CPU if values is None else values}}
    return SpecSource({"nodes": {label: {"services": {"compute": {chart: body}}}}})


def layer_of(
    source: SpecSource, chart: str, values: Mapping[str, Any] | None = None
) -> tuple[Layer | None, list[Problem]]:
    """What is said of nodes, over these values of all nodes."""
    return node_layer(source, COMPUTE, chart, merge_layers(values or {}, []))


def test_form_conf_is_a_list_of_labels_with_conf() -> None:
    layer, problems = layer_of(spec(), "nova")
    assert problems == []
    assert layer is not None
    labels = [{"label": {"key": "role", "values": ["gpu"]}, "conf": CPU["conf"]}]
    assert layer.values == {"conf": {"overrides": {"nova_compute": {"labels": labels}}}}


def test_form_values_is_a_map_by_label() -> None:
    layer, problems = layer_of(spec(chart="libvirt", daemonset="libvirt", values={"a": 1}), "libvirt")
    assert problems == []
    assert layer is not None
    assert layer.values == {"overrides": {"libvirt_libvirt": {"labels": {"role::gpu": {"values": {"a": 1}}}}}}


def test_labels_come_in_alphabetical_order_whatever_the_order_of_the_spec() -> None:
    one, other = spec("b::x").spec["nodes"], spec("a::x").spec["nodes"]
    layer, _ = layer_of(SpecSource({"nodes": {**one, **other}}), "nova")
    assert layer is not None
    labels = layer.values["conf"]["overrides"]["nova_compute"]["labels"]
    assert [entry["label"]["key"] for entry in labels] == ["a", "b"]


def test_nothing_is_said_about_a_chart_that_no_label_names() -> None:
    assert layer_of(spec(), "libvirt") == (None, [])


@pytest.mark.parametrize(
    ("source", "path", "remedy"),
    [
        (
            spec(daemonset="computes"),
            'spec.nodes["role::gpu"].services.compute.nova.computes.values',
            'did you mean "compute"?',
        ),
        (
            spec(values={"pod": {}}),
            'spec.nodes["role::gpu"].services.compute.nova.compute.values.pod',
            "only conf can differ",
        ),
        (
            spec(values="x"),
            'spec.nodes["role::gpu"].services.compute.nova.compute.values',
            "give a map of chart values",
        ),
    ],
)
def test_what_a_chart_cannot_do_is_refused(source: SpecSource, path: str, remedy: str) -> None:
    layer, [problem] = layer_of(source, "nova")
    assert layer is None
    assert (problem.path, problem.remedy) == (path, remedy)


NEUTRON = ServiceEntry(
    "compute",
    "Neutron",
    "openstack",
    {
        "neutron": ChartEntry(("upstream",), daemonsets=("ovs-agent", "sriov-agent", "ovn-metadata-agent")),
        "ovn": ChartEntry(("upstream",), daemonsets=("controller",), node_form="values"),
    },
)


@pytest.mark.parametrize(
    ("chart", "daemonset", "values"),
    [
        ("neutron", "ovs-agent", {"manifests": {"daemonset_ovs_agent": False}}),
        ("neutron", "sriov-agent", {"manifests": {"daemonset_sriov_agent": True}}),
        ("ovn", "controller", {"manifests": {"daemonset_ovn_controller": False}}),
    ],
)
def test_a_daemonset_that_the_region_does_not_have_is_refused(
    chart: str, daemonset: str, values: dict[str, Any]
) -> None:
    below = {"network": {"backend": ["ovn"]}, **values}
    source = spec(chart=chart, daemonset=daemonset, values={"conf": {"a": {"b": 1}}})
    layer, [problem] = node_layer(source, NEUTRON, chart, merge_layers(below, []))
    assert layer is None
    assert problem.message == f'release {chart} of this region has no DaemonSet "{daemonset}"'
    there = "no name is known here" if chart == "ovn" else 'did you mean "ovn-metadata-agent"?'
    assert problem.remedy in (there, "known are ovn-metadata-agent")


def test_a_daemonset_that_the_region_has_is_taken() -> None:
    below = {"network": {"backend": ["openvswitch"]}, "manifests": {"daemonset_ovs_agent": True}}
    source = spec(chart="neutron", daemonset="ovs-agent", values={"conf": {"a": {"b": 1}}})
    assert node_layer(source, NEUTRON, "neutron", merge_layers(below, []))[1] == []


LIBVIRT = {"chart": "libvirt", "daemonset": "libvirt"}


@pytest.mark.parametrize(
    ("source", "chart", "path"),
    [
        (spec(values={"conf": {"nova": {"a": None}}}), "nova", "conf.nova.a"),
        (spec(values={"conf": {"nova": {"$patch": "delete"}}}), "nova", "conf.nova.$patch"),
        (spec(values={"conf": {"b": 1}, "a": None}, **LIBVIRT), "libvirt", "a"),
        (spec(values={"$patch": "replace", "a": 1}, **LIBVIRT), "libvirt", "$patch"),
    ],
)
def test_nothing_can_be_deleted_on_some_nodes(source: SpecSource, chart: str, path: str) -> None:
    layer, [problem] = layer_of(source, chart)
    assert layer is None
    assert problem.path.endswith(f".values.{path}")
    assert "cannot be deleted" in problem.message


def test_a_value_for_some_nodes_is_of_the_type_that_all_nodes_have() -> None:
    layer, [problem] = layer_of(spec(values={"conf": {"nova": "x"}}), "nova", {"conf": {"nova": {"a": 1}}})
    assert layer is None
    assert problem.path == 'spec.nodes["role::gpu"].services.compute.nova.compute.values.conf.nova'
    assert problem.message == 'expected a map, as in the chart defaults; nodes has the string "x"'


def test_labels_that_the_release_lists_already_are_not_thrown_away() -> None:
    written = {
        "conf": {"overrides": {"nova_compute": {"labels": [{"label": {"key": "a", "values": ["b"]}}]}}}
    }
    below = merge_layers({}, [Layer("services", written, "region.yaml", ("spec", "services"))])
    layer, [problem] = node_layer(spec(), COMPUTE, "nova", below)
    assert layer is None
    assert problem.path == "spec.services.conf.overrides.nova_compute.labels"
    assert problem.remedy == "write all of them under spec.nodes"


@pytest.mark.parametrize("labels", [{"a::b": {"conf": {"x": 1}}}, [{"label": {"key": "a", "values": ["b"]}}]])
def test_labels_given_twice_are_reported_with_their_place_in_the_file(labels: Any) -> None:
    root = ("spec", "services", "compute", "nova", "values")
    written = {"conf": {"overrides": {"nova_compute": {"labels": labels}}}}
    lines = {root: 10, (*root, "conf", "overrides", "nova_compute", "labels"): 13}
    below = merge_layers({}, [Layer("services", written, "region.yaml", root, lines)])
    _, [problem] = node_layer(spec(), COMPUTE, "nova", below)
    assert problem.path == "spec.services.compute.nova.values.conf.overrides.nova_compute.labels"
    assert problem.source == "region.yaml:13"


def test_labels_of_form_values_merge_with_those_of_the_release_label_by_label() -> None:
    below = {"overrides": {"libvirt_libvirt": {"labels": {"role::gpu": {"values": {"a": 1, "b": 1}}}}}}
    merged = merge_layers({}, [Layer("services", below)])
    layer, problems = node_layer(spec(values={"a": 2}, **LIBVIRT), COMPUTE, "libvirt", merged)
    assert problems == []
    assert layer is not None
    after = merge_onto(merged, [layer]).values["overrides"]["libvirt_libvirt"]["labels"]
    assert after == {"role::gpu": {"values": {"a": 2, "b": 1}}}


@pytest.mark.parametrize(
    ("source", "chart", "path"),
    [
        (spec(), "nova", ("conf", "overrides", "nova_compute", "labels", 0, "conf", "nova", "DEFAULT")),
        (
            spec(values={"conf": {"nova": {"DEFAULT": 1}}}, **LIBVIRT),
            "libvirt",
            ("overrides", "libvirt_libvirt", "labels", "role::gpu", "values", "conf", "nova", "DEFAULT"),
        ),
    ],
)
def test_every_value_is_traced_to_the_field_that_says_it(source: SpecSource, chart: str, path: Any) -> None:
    layer, _ = layer_of(source, chart)
    assert layer is not None
    assert layer.full_path(path).startswith('spec.nodes["role::gpu"].services.compute.')
    assert layer.full_path(path).endswith(".values.conf.nova.DEFAULT")


@pytest.mark.parametrize("label", ["role", "role:gpu", "::gpu", "a b::c", "role::a b", "-x::y"])
def test_a_key_that_is_no_label_with_a_value_is_refused(label: str) -> None:
    [problem] = check_nodes(spec(label).spec, {"compute": COMPUTE})
    assert "is not a label with a value" in problem.message


@pytest.mark.parametrize(
    "label", ["role::gpu", "openstack-compute-node::enabled", "example.org/rack::r1", "x::"]
)
def test_a_label_with_a_value_is_taken(label: str) -> None:
    assert check_nodes(spec(label).spec, {"compute": COMPUTE}) == []


def test_an_unknown_service_or_chart_is_refused_with_the_nearest_name() -> None:
    [chart] = check_nodes(spec(chart="nvoa").spec, {"compute": COMPUTE})
    assert chart.remedy == 'did you mean "nova"?'
    nodes = {"a::b": {"services": {"comptue": {}}}}
    [service] = check_nodes({"nodes": nodes}, {"compute": COMPUTE})
    assert service.remedy == 'did you mean "compute"?'


def test_a_label_that_comes_or_goes_renames_the_daemonset_and_other_conf_does_not() -> None:
    one, _ = layer_of(spec(), "nova")
    two, _ = layer_of(spec("role::fpga"), "nova")
    other = {"conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 2}}}}
    changed, _ = layer_of(spec(values=other), "nova")
    assert one is not None
    assert two is not None
    assert changed is not None
    assert renamed_daemonsets(UPSTREAM, {}, one.values) == ("nova-compute",)
    assert renamed_daemonsets(UPSTREAM, one.values, {}) == ("nova-compute",)
    assert renamed_daemonsets(UPSTREAM, one.values, two.values) == ("nova-compute",)
    assert renamed_daemonsets(UPSTREAM, one.values, changed.values) == ()


def test_the_charts_shipped_with_the_controller_rename_nothing() -> None:
    one, _ = layer_of(spec(), "nova")
    assert one is not None
    assert renamed_daemonsets(ChartRef("nova", path="nova"), {}, one.values) == ()


def releases(values: Any) -> list[ReleaseSpec]:
    return [ReleaseSpec("nova", "openstack", UPSTREAM, values)]


def test_a_renamed_daemonset_is_warned_about_between_two_wishes_for_a_release() -> None:
    one, _ = layer_of(spec(), "nova")
    assert one is not None
    [warning] = rename_warnings(releases({}), releases(one.values))
    assert warning.path == "spec.nodes"
    assert "nova-compute" in warning.message
    assert rename_warnings(releases(one.values), releases(one.values)) == ()


def test_a_release_that_is_new_or_gone_renames_nothing() -> None:
    one, _ = layer_of(spec(), "nova")
    assert one is not None
    assert rename_warnings([], releases(one.values)) == ()
    assert rename_warnings(releases(one.values), []) == ()


def of_labels(*labels: str) -> dict[str, Any]:
    return {"overrides": {"libvirt_libvirt": {"labels": {label: {"values": {}} for label in labels}}}}


def test_nodes_that_may_have_two_labels_of_a_set_are_warned_about() -> None:
    libvirt = ChartRef("libvirt", "2026.1.0", repository="https://charts.example.org")
    [warning] = nodes_left_out(libvirt, of_labels("role::gpu", "rack::blue"))
    assert warning.path == "spec.nodes"
    assert "no pod of libvirt on a node with two of the labels rack=blue, role=gpu" in warning.message


def test_values_of_one_label_are_of_different_nodes() -> None:
    libvirt = ChartRef("libvirt", "2026.1.0", repository="https://charts.example.org")
    assert list(nodes_left_out(libvirt, of_labels("rack::green", "rack::blue"))) == []


def test_with_the_shipped_charts_the_later_label_wins_without_a_warning() -> None:
    assert list(nodes_left_out(ChartRef("libvirt", path="libvirt"), of_labels("a::b", "c::d"))) == []
