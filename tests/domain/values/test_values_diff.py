"""What differs between two merged sets of values, and who is behind it."""

from __future__ import annotations

from typing import Any

from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from controller.domain.values.value_provenance import CHART_DEFAULTS
from controller.domain.values.values_diff import ABSENT, diff_values

DEFAULTS = {"pod": {"replicas": 1}, "conf": {"debug": False}}


def merged(*layers: tuple[str, dict[str, Any]]) -> MergedValues:
    return merge_layers(DEFAULTS, [Layer(name, values) for name, values in layers])


def test_the_same_values_do_not_differ():
    assert diff_values(merged(), merged(("size", {"pod": {"replicas": 1}}))) == ()


def test_a_change_names_the_layers_on_both_sides():
    (change,) = diff_values(merged(), merged(("size", {"pod": {"replicas": 3}})))
    assert (change.path, change.before, change.after) == (("pod", "replicas"), 1, 3)
    assert (change.layer_before, change.layer_after) == (CHART_DEFAULTS, "size")


def test_true_is_not_one():
    (change,) = diff_values(merged(("a", {"conf": {"debug": 1}})), merged(("a", {"conf": {"debug": True}})))
    assert change.before == 1


def test_a_deleted_value_names_the_layer_that_deleted_it():
    (change,) = diff_values(merged(), merged(("services", {"conf": {"debug": None}})))
    assert change.after is ABSENT
    assert change.layer_after == "services"


def test_a_default_below_a_map_that_was_replaced_names_the_layer_that_replaced_it():
    (change,) = diff_values(merged(), merged(("services", {"conf": {"$patch": "replace"}})))
    assert (change.path, change.after, change.layer_after) == (("conf", "debug"), ABSENT, "services")


def test_a_value_left_to_the_chart_again_names_the_charts_defaults():
    (change,) = diff_values(merged(("size", {"pod": {"replicas": 3}})), merged())
    assert (change.after, change.layer_after) == (1, CHART_DEFAULTS)


def test_a_value_that_no_layer_sets_any_more_names_none():
    (change,) = diff_values(merged(("services", {"own": {"x": 1}})), merged())
    assert (change.after, change.layer_before, change.layer_after) == (ABSENT, "services", "")


def test_a_new_release_has_only_new_values():
    changes = diff_values(None, merged())
    assert {change.before for change in changes} == {ABSENT}
    assert [change.path for change in changes] == [("conf", "debug"), ("pod", "replicas")]


def test_a_removed_release_has_only_old_values():
    assert {change.after for change in diff_values(merged(), None)} == {ABSENT}


def test_an_added_value_knows_its_line():
    layer = Layer("services", {"x": {"y": 2}}, "region.yaml", (), {("x", "y"): 9})
    (change,) = diff_values(merged(), merge_layers(DEFAULTS, [layer]))
    assert change.place == "region.yaml:9"
