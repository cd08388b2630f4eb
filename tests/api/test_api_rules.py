"""A real API server decides as we do offline, rule by rule and on specs that are nearly right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.releases.bundle_object import parse_bundle
from controller.errors import SpecInvalid
from tests.api.conftest import Api
from tests.api.definitions import SCHEMAS
from tests.api.generated_specs import generated
from tests.api.rule_cases import CASES, RuleCase

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message)
def test_the_server_accepts_what_keeps_a_rule(asked: Api, case: RuleCase) -> None:
    assert [verdict.message for obj in case.good if not (verdict := asked.create(obj)).accepted] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message)
def test_the_server_refuses_what_breaks_a_rule_in_its_words(asked: Api, case: RuleCase) -> None:
    for obj in case.bad:
        verdict = asked.create(obj)
        assert verdict.status == 422, obj["spec"]
        assert case.message in verdict.message


def _offline(obj: Mapping[str, Any]) -> list[str]:
    schema = SCHEMAS[obj["kind"]]
    return [str(problem) for problem in schema.problems(schema.defaulted(obj))]


def _differences(asked: Api, seed: int, count: int) -> list[str]:
    found = []
    for obj in generated(seed, count):
        ours, server = _offline(obj), asked.create(obj)
        if server.accepted == bool(ours):
            found.append(
                f"{obj['spec']}\n  server: {server.message or 'accepted'}\n  offline: {ours or 'accepted'}"
            )
        elif server.accepted and server.stored["spec"] != SCHEMAS[obj["kind"]].defaulted(obj)["spec"]:
            found.append(f"{obj['spec']}\n  server: {server.stored['spec']}")
        elif server.accepted and obj["kind"] == "HelmBundle":
            try:
                parse_bundle(obj)
            except SpecInvalid as error:
                found.append(f"{obj['spec']}\n  server: accepted\n  parse_bundle: {error}")
    return found


def test_offline_and_server_agree_on_specs_that_are_nearly_right(asked: Api) -> None:
    assert _differences(asked, seed=3, count=150) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 120))
def test_offline_and_server_agree_on_many_specs(asked: Api, seed: int) -> None:
    assert _differences(asked, seed, count=300) == []
