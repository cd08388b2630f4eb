"""The leaves that differ, and the operator's values that make them equal."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.domain.adoption.differences import differences, weight
from controller.domain.adoption.overrides import Overrides
from controller.domain.values.chart_values import secret_ref
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers

_KEYS = st.sampled_from("abcd")
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(("", "x", "y")), st.just([1]), st.just({})
)
_MAPS = st.recursive(
    st.dictionaries(_KEYS, _LEAVES, max_size=3),
    lambda below: st.dictionaries(_KEYS, st.one_of(_LEAVES, below), max_size=3),
    max_leaves=12,
)


@given(_MAPS)
def test_equal_values_do_not_differ(values: dict[str, Any]) -> None:
    assert differences(values, values) == ()


@given(_MAPS, _MAPS)
def test_as_much_differs_either_way(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert weight(differences(ours, theirs)) == weight(differences(theirs, ours))


@given(_MAPS, _MAPS)
def test_the_overrides_leave_no_difference(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    found = Overrides()
    found.add(differences(ours, theirs))
    layers = [Layer("cleared", found.cleared), Layer("services", found.values)]
    merged = merge_layers(ours, [one for one in layers if one.values])
    assert differences(merged.values, theirs) == ()


def test_a_reference_stands_for_any_text_and_for_no_missing_one() -> None:
    ours = {"password": secret_ref("s", "k"), "user": secret_ref("s", "account-suffix", "nova")}
    assert differences(ours, {"password": "old", "user": "nova"}) == ()
    assert [one.path for one in differences(ours, {"password": "", "user": "other"})] == [
        ("password",),
        ("user",),
    ]


def test_a_boolean_is_no_number() -> None:
    assert [one.path for one in differences({"a": True}, {"a": 1})] == [("a",)]


def test_a_dropped_value_takes_empty_maps_along() -> None:
    found = Overrides({"a": {"b": {"c": 1}}, "d": 2})
    assert found.drop(("a", "b", "c", "deeper"))
    assert found.values == {"d": 2}
    assert not found.drop(("a", "b"))
