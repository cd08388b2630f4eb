"""The rules of the definitions, decided without a server. tests/api asks a server the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.api.definitions import SCHEMAS
from tests.api.rule_cases import CASES, RuleCase


def _messages(obj: Mapping[str, Any]) -> list[str]:
    schema = SCHEMAS[obj["kind"]]
    return [problem.message for problem in schema.problems(schema.defaulted(obj))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message)
def test_what_keeps_a_rule_has_no_problem(case: RuleCase) -> None:
    assert [_messages(obj) for obj in case.good] == [[] for _ in case.good]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message)
def test_what_breaks_a_rule_is_reported_in_its_words(case: RuleCase) -> None:
    for obj in case.bad:
        assert any(message.startswith(case.message) for message in _messages(obj)), obj["spec"]
