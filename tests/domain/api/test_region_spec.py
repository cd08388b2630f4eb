"""What a region's spec says is read alike by everyone, also of a spec that no one can serve."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from controller.domain.api.region_spec import (
    Features,
    OwnSecret,
    RegionSpec,
    SecretKey,
    parse_features,
    parse_region_spec,
)
from controller.domain.region.deployment import parse_deployment
from tests.api.definitions import SCHEMAS, osdpl

SCHEMA = SCHEMAS["OpenStackDeployment"]


@pytest.mark.parametrize("spec", [None, {}, {field.name: None for field in fields(RegionSpec)}])
def test_nothing_is_read_as_the_defaults(spec: dict[str, Any] | None) -> None:
    assert parse_region_spec(spec) == RegionSpec()


def test_what_is_not_said_is_as_the_definition_says() -> None:
    written = osdpl()
    bare, judged = parse_region_spec(written["spec"]), parse_deployment(written, SCHEMA).spec
    whole = parse_features(SCHEMA.completed(("spec", "features"), {}))
    for field in fields(RegionSpec):
        if field.name != "features":
            assert getattr(bare, field.name) == getattr(judged, field.name), field.name
    for field in fields(Features):
        if field.name != "tree":
            assert getattr(bare.features, field.name) == getattr(whole, field.name), field.name


@pytest.mark.parametrize(
    ("mode", "paused", "planned"), [("Apply", False, False), ("Plan", False, True), ("Paused", True, False)]
)
def test_a_mode_is_obeyed_whatever_else_the_spec_says(mode: str, paused: bool, planned: bool) -> None:
    mistakes = {"services": "no map", "features": [], "proxy": 1, "storageClasses": "none"}
    spec = parse_region_spec({"mode": mode, **mistakes, "approvedPlan": "sha256:1"})
    assert (spec.paused, spec.planned, spec.approved_plan) == (paused, planned, "sha256:1")


def test_volumes_go_only_by_the_one_word_for_it() -> None:
    assert parse_region_spec({"volumes": "Delete"}).volumes == "Delete"
    assert parse_region_spec({"volumes": "delete", "mode": ["Paused"]}) == RegionSpec()


@pytest.mark.parametrize(
    "wrong", [None, 1, "x", [], {"tls": 1}, {"nodes": {"fencing": "x"}}, {"tls": {"public": []}}]
)
def test_features_that_cannot_be_served_count_as_not_set(wrong: Any) -> None:
    read = parse_region_spec({"features": wrong}).features
    assert (read.nodes, read.public_tls, read.internal_tls) == (
        Features().nodes, Features().public_tls, Features().internal_tls,
    )  # fmt: skip


def test_secrets_that_the_operator_names_are_listed_in_order() -> None:
    mine = {"name": "mine", "key": "pw"}
    given = {"image": {"rbd-key": mine}, "identity": {"admin-password": mine}}
    assert parse_region_spec({"features": {"credentials": given}}).features.credentials == (
        OwnSecret("mine", "pw", "identity", "admin-password"),
        OwnSecret("mine", "pw", "image", "rbd-key"),
    )


def test_a_fencing_service_comes_with_its_secrets() -> None:
    given = {"url": "https://power.example", "tokenFrom": {"name": "power", "key": "token"}}
    fencing = parse_region_spec({"features": {"nodes": {"fencing": given}}}).features.nodes.fencing
    assert (fencing.url, fencing.token, fencing.authority) == (
        "https://power.example", SecretKey("power", "token"), None,
    )  # fmt: skip
