"""Our reading of a policy's rule is that of oslo.policy itself, of every series."""

from __future__ import annotations

import random

import pytest

from controller.domain.validation.policy_rules import rule_problem
from tests.domain.validation.policy_rules import READ, REFUSED
from tests.upstream.option_packages import SERIES, load

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(3600)]

WORDS = (
    *("and", "or", "not", "AND", "(", ")", "((", "))", "()", "(not", "not)", "@", "!", "(@)", "", ":", "a:"),
    *("role:a", "(role:a", "role:a)", "project_id:%(project_id)s", "project_id:%(project_id)", "a", "(a)"),
    *('"', "'", '"a:b', "'a':b"),
)


def some_rules(number: int) -> list[str]:
    chosen = random.Random(19)
    return [" ".join(chosen.choices(WORDS, k=chosen.randint(0, 7))) for _ in range(number)]


@pytest.mark.parametrize("series", SERIES)
def test_what_oslo_policy_reads_is_taken_and_nothing_else(series: str) -> None:
    rules = [*READ, *REFUSED, *some_rules(20_000)]
    read = load(series, "keystone", "rules", rules=rules)
    assert sum(read) > 1_000
    assert [rule for rule, taken in zip(rules, read, strict=True) if taken == bool(rule_problem(rule))] == []
