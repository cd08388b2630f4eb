"""The secrets container needs no full rendering to know which credentials a region needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.api.region_spec import parse_features
from controller.domain.region.required_credentials import region_credentials, region_services
from controller.domain.values.catalogue import CredentialSecret
from controller.errors import SpecInvalid
from tests.render.region import core_spec, deployment, library, render

OWN = {"name": "mine", "key": "password"}


def credentials_of(spec: dict[str, Any]) -> tuple[CredentialSecret, ...]:
    parsed = deployment(spec).spec
    return region_credentials(parsed, region_services(parsed, library()))


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
    assert credentials_of(spec) == render(spec).credentials != ()


def test_a_mistake_in_values_keeps_no_service_from_its_credentials() -> None:
    spec = core_spec(services={"compute": {"nova": {"values": {"pod": "not a map"}}}})
    assert credentials_of(spec)


@pytest.mark.parametrize(
    ("mistake", "path"),
    [
        ({"preset": "cores"}, "spec.preset"),
        ({"features": {"services": {"enabled": ["computer"]}}}, "spec.features.services.enabled[0]"),
    ],
)
def test_a_choice_that_cannot_be_served_is_reported(mistake: dict[str, Any], path: str) -> None:
    named = {"services": {"disabled": [], **mistake.get("features", {}).get("services", {"enabled": []})}}
    with pytest.raises(SpecInvalid) as caught:
        changed = {**mistake, "features": parse_features(named)}
        region_services(replace(deployment(core_spec()).spec, **changed), library())
    assert [problem.path for problem in caught.value.problems] == [path]
