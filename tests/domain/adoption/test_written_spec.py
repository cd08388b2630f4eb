"""The file that a person edits says what was found, with its reasons."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.adoption.written_spec import commented_yaml
from controller.domain.values.chart_values import secret_ref

_TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(("no", "1e3", "a: b", "x\ny\n", "x\n\n", " x\n", "~"))
)
_VALUES = st.recursive(
    st.one_of(_TEXTS, st.booleans(), st.integers(-5, 99999999), st.floats(-9, 9)),
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(_TEXTS.filter(bool), below, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(_TEXTS.filter(lambda one: bool(one) and not one.startswith("$")), _VALUES, max_size=4))
def test_a_reader_gets_the_same_values(document: dict[str, Any]) -> None:
    assert (yaml.safe_load(commented_yaml(document, {})) or {}) == document


def test_a_value_has_its_reason_in_one_line() -> None:
    document = {"spec": {"a": {"b": 1}, "script": "one\ntwo\n", "p": secret_ref("s", "k")}}
    notes = {("spec", "a", "b"): "size small:\n2", ("spec", "script"): "why", ("spec", "p"): "x" * 200}
    text = commented_yaml(document, notes)
    assert "    b: 1  # size small: 2\n" in text
    assert "  script: |  # why\n    one\n    two\n" in text
    assert yaml.safe_load(text) == document
    assert max(map(len, text.splitlines())) < 200
