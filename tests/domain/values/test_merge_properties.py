"""What must hold for merging, whatever the values are."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.values.chart_values import is_map, leaves, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from controller.domain.values.value_provenance import DELETED
from controller.errors import SpecInvalid

pytestmark = pytest.mark.slow

SCALARS = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "no", "a: b"]))
REFS = st.sampled_from([{"$secretRef": {"name": name, "key": "k"}} for name in ("a", "b")])
KEYS = st.sampled_from(["a", "b", "c.d", "e"])


def maps(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.recursive(leaf, lambda below: st.dictionaries(KEYS, below, max_size=3), max_leaves=8)
    return st.dictionaries(KEYS, inner, max_size=4)


DEFAULTS = maps(st.one_of(st.none(), SCALARS, st.lists(SCALARS, max_size=2)))
PLAIN = maps(st.one_of(SCALARS, REFS, st.lists(SCALARS, max_size=2)))
_ENDING = st.one_of(st.none(), SCALARS, REFS, st.just({"$patch": "delete"}), st.lists(SCALARS, max_size=2))


def replacing(whole: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Maps that replace what is below them."""
    return whole.map(lambda values: {"$patch": "replace", **values})


_REPLACED = replacing(st.dictionaries(KEYS, _ENDING, max_size=3))
WITH_NULLS = st.one_of(maps(_ENDING), maps(st.one_of(_ENDING, _REPLACED)), _REPLACED)


def merge_or_none(defaults: dict[str, Any], layers: list[dict[str, Any]]) -> MergedValues | None:
    try:
        return merge_layers(defaults, [Layer(str(n), values) for n, values in enumerate(layers)])
    except SpecInvalid:
        return None


def as_helm_merges(defaults: Any, sent: Any) -> Any:
    """The rule of Helm for values over chart defaults, as its documentation has it."""
    if not (is_map(defaults) and is_map(sent)):
        return sent
    result = {key: value for key, value in sent.items() if not (value is None and key in defaults)}
    for key, value in defaults.items():
        if key not in sent:
            result[key] = value
        elif sent[key] is not None:
            result[key] = as_helm_merges(value, sent[key])
    return result


def without_nulls(value: Any) -> Any:
    """Without keys that are null in the chart, which Helm leaves out; tests/contract asks Helm itself."""
    return {k: without_nulls(v) for k, v in value.items() if v is not None} if is_map(value) else value


@given(DEFAULTS, st.lists(WITH_NULLS, max_size=4))
@settings(max_examples=300, deadline=None)
def test_chart_defaults_and_overlay_give_the_effective_values_as_helm_merges(
    defaults: dict[str, Any], layers: list[dict[str, Any]]
) -> None:
    merged = merge_or_none(defaults, layers)
    if merged is not None:
        assert without_nulls(as_helm_merges(defaults, merged.overlay)) == without_nulls(merged.values)


def unexplained_leaves(merged: MergedValues) -> list[Any]:
    """Leaves that neither a layer nor the chart's defaults account for."""
    known = dict(leaves(merged.defaults))
    return [
        path
        for path, value in leaves(merged.values)
        if (not merged.history.chain(path) or merged.history.chain(path)[-1].value is DELETED)
        and (path not in known or known[path] != value)
        and value != {}
    ]


@given(DEFAULTS, st.lists(WITH_NULLS, max_size=4))
@settings(max_examples=300, deadline=None)
def test_every_leaf_has_exactly_one_origin(defaults: dict[str, Any], layers: list[dict[str, Any]]) -> None:
    merged = merge_or_none(defaults, layers)
    if merged is not None:
        assert unexplained_leaves(merged) == []
        names = {"chart defaults", *(str(n) for n in range(len(layers)))}
        assert {merged.history.origin(path) for path, _ in leaves(merged.values)} <= names


@given(DEFAULTS, st.lists(WITH_NULLS, max_size=4))
@settings(max_examples=300, deadline=None)
def test_every_leaf_that_is_gone_has_the_layer_that_ended_it(
    defaults: dict[str, Any], layers: list[dict[str, Any]]
) -> None:
    merged = merge_or_none(defaults, layers)
    if merged is not None:
        known = {path for path, _ in leaves(defaults)} | set(merged.history.settings)
        gone = [path for path in known if lookup(merged.values, path, DELETED) is DELETED]
        assert [path for path in gone if not merged.history.chain(path)] == []
        assert [path for path in gone if merged.history.chain(path)[-1].value is not DELETED] == []


@given(DEFAULTS, st.lists(WITH_NULLS, max_size=4))
@settings(max_examples=200, deadline=None)
def test_the_same_input_gives_the_same_bytes_and_stays_as_it_was(
    defaults: dict[str, Any], layers: list[dict[str, Any]]
) -> None:
    before = copy.deepcopy((defaults, layers))
    first, second = merge_or_none(defaults, layers), merge_or_none(defaults, layers)
    assert (defaults, layers) == before
    if first is not None and second is not None:
        assert json.dumps(first.overlay) == json.dumps(second.overlay)


@given(PLAIN, PLAIN, PLAIN)
@settings(max_examples=300, deadline=None)
def test_layers_without_deletions_merge_associatively(
    low: dict[str, Any], middle: dict[str, Any], high: dict[str, Any]
) -> None:
    at_once = merge_or_none({}, [low, middle, high])
    upper = merge_or_none({}, [middle, high])
    if at_once is not None and upper is not None:
        in_two_steps = merge_or_none({}, [low, dict(upper.values)])
        assert in_two_steps is not None
        assert in_two_steps.values == at_once.values


@given(DEFAULTS, PLAIN)
@settings(max_examples=200, deadline=None)
def test_merging_a_layer_twice_changes_nothing(defaults: dict[str, Any], layer: dict[str, Any]) -> None:
    once, twice = merge_or_none(defaults, [layer]), merge_or_none(defaults, [layer, layer])
    if once is not None:
        assert twice is not None
        assert twice.values == once.values
