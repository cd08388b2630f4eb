"""The secrets container needs no full rendering to know which credentials a region needs."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.required_credentials import region_credentials
from controller.errors import SpecInvalid
from tests.render.region import core_spec, deployment, library, render

OWN = {"name": "mine", "key": "password"}


@pytest.mark.parametrize(
    "features",
    [
        {},
        {"credentials": {"identity": {"admin-password": OWN}}},
        {"services": {"disabled": ["compute"]}},
    ],
)
def test_it_finds_what_a_full_rendering_finds(features: dict[str, Any]) -> None:
    spec = core_spec(features=features)
    assert region_credentials(deployment(spec).document, library()) == render(spec).credentials != ()


def test_a_mistake_in_values_keeps_no_service_from_its_credentials() -> None:
    spec = core_spec(services={"compute": {"nova": {"values": {"pod": "not a map"}}}})
    assert region_credentials(spec, library())


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"preset": "cores"}, "spec.preset"),
        ({}, "spec.preset"),
        (
            {"preset": "core", "features": {"services": {"enabled": ["computer"]}}},
            "spec.features.services.enabled[0]",
        ),
    ],
)
def test_a_choice_that_cannot_be_served_is_told(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        region_credentials(spec, library())
    assert [problem.path for problem in caught.value.problems] == [path]
