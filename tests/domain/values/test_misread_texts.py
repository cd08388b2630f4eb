"""A text that a template takes for true, or hands on in place of a number, is reported; others are not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.misread_texts import misread_texts

LOWER: dict[str, Any] = {
    "manifests": {"job": True},
    "pod": {"replicas": {"api": 2}, "probe": {"period": 5, "ratio": 0.5}, "name": "x"},
    "conf": {"nova": {"DEFAULT": {"debug": False}}},
}


def told(values: dict[str, Any]) -> list[tuple[str, str]]:
    found = misread_texts(Layer("services", values, root=("spec",)), LOWER)
    return [(problem.path, problem.message) for problem in found]


def test_a_text_in_place_of_true_or_false_is_reported() -> None:
    message = 'expected true or false, got the string "false", which charts read as true'
    assert told({"manifests": {"job": "false"}}) == [("spec.manifests.job", message)]


def test_a_word_in_place_of_a_number_is_reported() -> None:
    [(path, message)] = told({"pod": {"probe": {"period": "soon"}}})
    assert path == "spec.pod.probe.period"
    assert message.endswith('got the string "soon"')


@pytest.mark.parametrize(
    "values",
    [
        {"manifests": {"job": False, "of_another_chart": "text"}},
        {"manifests": {"job": ""}},
        {"manifests": {"job": "{{ .Values.x }}"}},
        {"pod": {"probe": {"period": "10", "ratio": "25%"}, "name": "any text"}},
        {"conf": {"nova": {"DEFAULT": {"debug": "yes"}}}},
    ],
)
def test_other_texts_are_not_reported(values: dict[str, Any]) -> None:
    assert told(values) == []
