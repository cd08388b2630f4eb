"""Merging of layers: what wins, what is refused, and where each leaf came from."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from controller.domain.values.value_provenance import CHART_DEFAULTS, DELETED
from controller.errors import Problem, SpecInvalid


def merge(defaults: dict[str, Any], *layers: dict[str, Any]) -> MergedValues:
    return merge_layers(defaults, [Layer(f"layer {n}", values) for n, values in enumerate(layers, 1)])


def problems_of(defaults: dict[str, Any], *layers: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(SpecInvalid) as refusal:
        merge(defaults, *layers)
    return refusal.value.problems


def test_maps_merge_and_the_upper_layer_wins() -> None:
    merged = merge({"a": {"x": 1, "y": 1}}, {"a": {"y": 2}}, {"a": {"y": 3, "z": 3}})
    assert merged.values == {"a": {"x": 1, "y": 3, "z": 3}}


def test_lists_replace_as_a_whole() -> None:
    assert merge({"a": [1, 2, 3]}, {"a": [4]}).values == {"a": [4]}


def test_null_deletes_the_key_of_a_lower_layer() -> None:
    merged = merge({"a": 1, "b": 1}, {"a": None, "c": None})
    assert merged.values == {"b": 1}
    assert merged.overlay == {"a": None}


def test_patch_delete_means_the_same_as_null() -> None:
    by_null = merge({"a": {"x": 1}}, {"a": None})
    by_mark = merge({"a": {"x": 1}}, {"a": {"$patch": "delete"}})
    assert by_mark.values == by_null.values
    assert by_mark.overlay == by_null.overlay


def test_patch_replace_drops_everything_below_it_and_is_sent_as_deletions() -> None:
    merged = merge(
        {"a": {"x": 1, "y": {"z": 1}}}, {"a": {"y": {"w": 2}}}, {"a": {"$patch": "replace", "n": 3}}
    )
    assert merged.values == {"a": {"n": 3}}
    assert merged.overlay == {"a": {"n": 3, "x": None, "y": None}}


def test_a_map_set_again_after_its_deletion_does_not_bring_the_defaults_back() -> None:
    merged = merge({"a": {"x": 1}}, {"a": None}, {"a": {"y": 2}})
    assert merged.values == {"a": {"y": 2}}
    assert merged.overlay == {"a": {"x": None, "y": 2}}


def test_a_value_equal_to_the_default_is_sent_because_someone_asked_for_it() -> None:
    assert merge({"a": 1, "b": 2}, {"a": 1}).overlay == {"a": 1}


def test_the_null_of_a_chart_default_gives_way_to_any_type() -> None:
    assert merge({"a": None, "b": None}, {"a": {"x": 1}, "b": [1]}).values == {"a": {"x": 1}, "b": [1]}


def test_a_secret_ref_is_one_leaf_that_replaces_and_is_replaced_whole() -> None:
    first = {"$secretRef": {"name": "a-credentials", "key": "password"}}
    second = {"$secretRef": {"name": "b-credentials", "key": "other"}}
    assert merge({"p": "password"}, {"p": first}, {"p": second}).values == {"p": second}


def test_a_map_over_a_scalar_is_refused_naming_both_layers_and_the_path() -> None:
    lines = {("spec", "a"): 7, ("spec", "a", "x"): 8}
    low = Layer(
        "size small", {"a": {"x": 1}}, "values/sizes/small.yaml", ("charts", "nova"), {("charts", "nova"): 3}
    )
    high = Layer("services", {"a": {"x": {"y": 2}}}, "region.yaml", ("spec",), lines)
    with pytest.raises(SpecInvalid) as refusal:
        merge_layers({}, [low, high])
    [problem] = refusal.value.problems
    assert problem.path == "spec.a.x"
    assert problem.source == "region.yaml:8"
    assert problem.message == (
        "expected a single value or list, as in size small (values/sizes/small.yaml:3); services has a map"
    )


def test_a_scalar_over_a_map_of_the_chart_is_refused() -> None:
    [problem] = problems_of({"pod": {"replicas": 1}}, {"pod": "x"})
    assert problem.path == "pod"
    assert problem.message == 'expected a map, as in the chart defaults; layer 1 has the string "x"'


def test_every_conflict_is_reported_not_only_the_first() -> None:
    assert len(problems_of({"a": {"x": 1}, "b": 1}, {"a": 1, "b": {"y": 1}})) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"$patch": "remove"},
        {"$patch": "delete", "x": 1},
        {"$patch": None},
        {"$secretRef": {"name": "a"}},
        {"$secretRef": {"name": "a", "key": "b"}, "x": 1},
        {"$secretRef": {"name": "A_", "key": "b"}},
        {"$secretRef": "a/b"},
        {"$retainKeys": ["x"]},
        [{"$patch": "delete"}],
    ],
)
def test_a_malformed_mark_is_refused_with_its_path(value: Any) -> None:
    assert problems_of({}, {"a": {"b": value}})[0].path.startswith("a.b")
    assert problems_of({"a": {"b": {"c": 1}}}, {"a": {"b": value}})[0].path.startswith("a.b")


def test_the_origin_of_a_leaf_is_the_last_layer_that_set_it() -> None:
    merged = merge({"a": {"x": 1, "y": 1}}, {"a": {"x": 2}}, {"a": {"x": 3}})
    assert merged.history.origin(("a", "x")) == "layer 2"
    assert merged.history.origin(("a", "y")) == CHART_DEFAULTS
    assert [(s.layer, s.value) for s in merged.history.chain(("a", "x"))] == [("layer 1", 2), ("layer 2", 3)]


def test_the_chain_of_a_leaf_reports_the_map_above_it_being_deleted() -> None:
    merged = merge({"a": {"x": 1}}, {"a": None}, {"a": {"x": 2}})
    assert [setting.layer for setting in merged.history.chain(("a", "x"))] == ["layer 1", "layer 2"]


def test_the_chain_of_a_default_below_a_map_that_was_replaced_ends_with_its_deletion() -> None:
    merged = merge(
        {"a": {"x": 1, "y": {"z": 1}}}, {"a": {"x": 2}}, {"a": {"$patch": "replace", "x": 3, "n": 4}}
    )
    assert [(s.layer, s.value, s.path) for s in merged.history.chain(("a", "y", "z"))] == [
        ("layer 2", DELETED, "a")
    ]
    assert [(s.layer, s.value) for s in merged.history.chain(("a", "x"))] == [("layer 1", 2), ("layer 2", 3)]


def test_a_layer_that_replaces_all_values_is_behind_every_default_that_is_gone() -> None:
    merged = merge({"a": {"x": 1}, "b": 1}, {"$patch": "replace", "b": 2})
    assert merged.overlay == {"a": None, "b": 2}
    assert [(s.layer, s.value) for s in merged.history.chain(("a", "x"))] == [("layer 1", DELETED)]


def test_a_layer_that_deletes_itself_is_refused() -> None:
    layer = Layer("services", {"$patch": "delete"}, "region.yaml", ("spec", "services"), {("spec",): 3})
    with pytest.raises(SpecInvalid) as refusal:
        merge_layers({"a": 1}, [layer])
    [problem] = refusal.value.problems
    assert (problem.path, problem.source) == ("spec.services", "region.yaml:3")
    assert problem.remedy == "remove the field"


def test_no_input_is_changed_and_the_overlay_shares_nothing_with_them() -> None:
    defaults = {"a": {"x": [1, {"y": 1}]}, "b": {"c": {"d": 1}}}
    layer = {"a": {"x": [2, {"y": 2}]}, "b": {"c": {"e": [1]}}}
    before = copy.deepcopy((defaults, layer))
    merged = merge(defaults, layer)
    merged.overlay["a"]["x"][1]["y"] = "changed"
    merged.overlay["b"]["c"]["e"].append("changed")
    assert (defaults, layer) == before
