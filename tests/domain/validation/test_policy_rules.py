"""Rules of policies: what oslo.policy would deny to everyone, because it cannot read it, is refused."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.policy_rules import rule_problem
from controller.errors import SpecInvalid
from tests.domain.validation.policy_rules import READ, REFUSED
from tests.render.region import core_spec, render


@pytest.mark.parametrize("rule", READ)
def test_what_oslo_policy_reads_is_taken(rule: str) -> None:
    assert rule_problem(rule) == ""


@pytest.mark.parametrize(("rule", "message"), REFUSED.items())
def test_what_it_cannot_read_is_reported(rule: str, message: str) -> None:
    assert rule_problem(rule) == message


def test_a_rule_of_a_feature_is_reported_by_its_name() -> None:
    name = "os_compute_api:servers:create"
    rules = {"compute": {name: "role:admin or", "os_compute_api:servers:show": "@"}}
    found = refused(core_spec(features={"policies": rules}))
    assert found == {f'spec.features.policies.compute["{name}"]': "ends without the last check"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("tenant:%(tenant_id)", 'has a ")" without a "("'),
        (True, "expected a rule as text, got the boolean true"),
        (7, "expected a rule as text, got the number 7"),
    ],
)
def test_a_rule_among_values_is_reported_where_it_stands(rule: Any, message: str) -> None:
    values = {
        "conf": {"policy": {"a:b": rule, "a:c": "role:reader", "a:d": [["role:admin"], ["@"]], "a:e": None}}
    }
    found = refused(core_spec(services={"identity": {"keystone": {"values": values}}}))
    assert found == {'spec.services.identity.keystone.values.conf.policy["a:b"]': message}


def refused(spec: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpecInvalid) as refusal:
        render(spec)
    return {problem.path: problem.message for problem in refusal.value.problems}
