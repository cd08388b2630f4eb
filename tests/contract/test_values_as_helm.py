"""What we send gives, in Helm itself, the effective values that we computed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.errors import SpecInvalid
from tests.helm_program import Chart

pytestmark = pytest.mark.slow

# One template that shows the values as Helm passes them to templates.
TEMPLATE = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shown}\ndata: {values: {{ toJson .Values | quote }}}\n"
)
KEYS = st.sampled_from(["a", "b", "c.d"])
SCALARS = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "no"]))


def maps(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.recursive(leaf, lambda below: st.dictionaries(KEYS, below, max_size=3), max_leaves=6)
    return st.dictionaries(KEYS, inner, max_size=3)


DEFAULTS = maps(st.one_of(st.none(), SCALARS, st.lists(SCALARS, max_size=2)))
LAYERS = maps(st.one_of(st.none(), SCALARS, st.lists(SCALARS, max_size=2)))


def as_helm_sees(defaults: dict[str, Any], sent: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as directory:
        chart = Path(directory) / "shown"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shown\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text(json.dumps(defaults))
        (chart / "templates" / "shown.yaml").write_text(TEMPLATE)
        [text] = Chart.load(chart).render(sent, name="r", namespace="n").values()
    return json.loads(yaml.safe_load(text)["data"]["values"])


def without_nulls(value: Any) -> Any:
    """Without the keys that are null in the chart: Helm leaves out those that no one mentions."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


@given(DEFAULTS, st.lists(LAYERS, max_size=3))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_defaults_and_overlay_are_in_helm_what_we_say_they_are(
    defaults: dict[str, Any], layers: list[dict[str, Any]]
) -> None:
    try:
        merged = merge_layers(defaults, [Layer(str(n), layer) for n, layer in enumerate(layers)])
    except SpecInvalid:
        return
    assert as_helm_sees(defaults, merged.overlay) == without_nulls(dict(merged.values))


@given(DEFAULTS, LAYERS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_one_layer_means_what_it_would_mean_as_a_values_file_of_helm(
    defaults: dict[str, Any], layer: dict[str, Any]
) -> None:
    try:
        merged = merge_layers(defaults, [Layer("values", layer)])
    except SpecInvalid:
        return
    assert without_nulls(as_helm_sees(defaults, layer)) == without_nulls(dict(merged.values))


@pytest.mark.parametrize(
    ("defaults", "layers"),
    [
        ({"a": {"x": 1}}, [{"a": {"$patch": "replace", "y": 2}}]),
        ({"a": {"x": {"y": 1}, "z": 1}}, [{"a": {"x": {"$patch": "delete"}}}]),
        ({"a": {"x": 1}}, [{"a": None}, {"a": {"y": 1}}]),
        ({"a": None}, [{"a": {"y": 1}}]),
        ({"a": {"x": None}}, [{"a": {"x": None, "y": 1}}]),
        ({"a": {"x": None}}, [{"a": {"$patch": "replace", "y": 1}}]),
        ({"a": {"x": None}}, [{"a": None}, {"a": {"y": 1}}]),
        ({"a": {"x": {"y": None}}}, [{"a": {"x": None}}, {"a": {"x": {"z": 1}}}]),
        ({}, [{"a": {"y": None}}]),
    ],
)
def test_marks_and_nulls_mean_in_helm_what_they_say(
    defaults: dict[str, Any], layers: list[dict[str, Any]]
) -> None:
    merged = merge_layers(defaults, [Layer(str(n), layer) for n, layer in enumerate(layers)])
    assert as_helm_sees(defaults, merged.overlay) == without_nulls(dict(merged.values))
