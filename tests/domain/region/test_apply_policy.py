"""Mode, approved plan and volumes are read of every spec, also of one that nobody can serve."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.apply_policy import ApplyPolicy, parse_apply_policy
from controller.domain.region.deployment import parse_deployment
from tests.api.definitions import SCHEMAS, osdpl


@pytest.mark.parametrize("spec", [None, {}, {"mode": None, "volumes": None, "approvedPlan": None}])
def test_what_is_not_said_is_as_the_definition_says(spec: dict[str, Any] | None) -> None:
    defaults = parse_deployment(osdpl(), SCHEMAS["OpenStackDeployment"]).spec
    assert parse_apply_policy(spec) == ApplyPolicy(defaults.mode, defaults.approved_plan, defaults.volumes)


@pytest.mark.parametrize(
    ("mode", "paused", "planned"), [("Apply", False, False), ("Plan", False, True), ("Paused", True, False)]
)
def test_a_mode_is_obeyed_whatever_else_the_spec_says(mode: str, paused: bool, planned: bool) -> None:
    policy = parse_apply_policy({"mode": mode, "services": "no map", "approvedPlan": "sha256:1"})
    assert (policy.paused, policy.planned, policy.approved_plan) == (paused, planned, "sha256:1")


def test_volumes_go_only_by_the_one_word_for_it() -> None:
    assert parse_apply_policy({"volumes": "Delete"}).volumes == "Delete"
    assert parse_apply_policy({"volumes": "delete", "mode": ["Paused"]}) == ApplyPolicy()
