"""Images: mirrors, single images, pull policy and pull secrets."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.images import check_image_overrides, image_layer, image_names, mirrored
from controller.domain.values.layer_order import SpecSource

LOWER = {
    "images": {
        "pull_policy": "IfNotPresent",
        "tags": {"api": "quay.io/a/api:1", "db": "docker.io/mariadb:11", "off": None},
    },
    "secrets": {"oci_image_registry": {"nova": "nova-registry"}},
    "manifests": {"secret_registry": True},
}


def values(lower: dict[str, Any] = LOWER, **images: Any) -> Any:
    layer = image_layer(SpecSource({"images": images}), "nova", lower)
    return layer.values if layer else None


@pytest.mark.parametrize(
    ("image", "there"),
    [
        ("quay.io/airshipit/nova:2026.1", "m.example.org/x/airshipit/nova:2026.1"),
        ("docker.io/rabbitmq:4", "m.example.org/x/rabbitmq:4"),
        ("rabbitmq:4", "m.example.org/x/rabbitmq:4"),
        ("library/rabbitmq:4", "m.example.org/x/library/rabbitmq:4"),
        ("localhost:5000/a/b:1", "m.example.org/x/a/b:1"),
        ("localhost/a:1", "m.example.org/x/a:1"),
        ("quay.io/a/b@sha256:00", "m.example.org/x/a/b@sha256:00"),
    ],
)
def test_an_image_is_found_in_a_mirror_under_its_own_path(image: str, there: str) -> None:
    assert mirrored(image, "m.example.org/x/") == there


def test_a_mirror_replaces_the_registry_of_every_image() -> None:
    assert values(registry="m.example.org")["images"]["tags"] == {
        "api": "m.example.org/a/api:1",
        "db": "m.example.org/mariadb:11",
    }


def test_a_single_image_is_taken_as_it_is_written() -> None:
    found = values(registry="m.example.org", overrides={"db": "own/db:2"})["images"]["tags"]
    assert found["db"] == "own/db:2"


def test_nothing_is_set_where_nothing_is_asked_for() -> None:
    assert values() is None


def test_a_pull_secret_is_named_and_the_charts_own_is_not_made() -> None:
    assert values(pullSecrets=["mirror"]) == {
        "endpoints": {"oci_image_registry": {"auth": {"enabled": True}}},
        "manifests": {"secret_registry": False},
        "secrets": {"oci_image_registry": {"nova": "mirror"}},
    }


def test_an_image_that_no_release_has_is_refused_with_the_nearest_name() -> None:
    [problem] = check_image_overrides(
        {"images": {"overrides": {"nova_compte": "x"}}}, frozenset({"nova_compute"})
    )
    assert problem.path == "spec.images.overrides.nova_compte"
    assert problem.remedy == 'did you mean "nova_compute"?'


def test_a_second_pull_secret_is_refused() -> None:
    [problem] = check_image_overrides({"images": {"pullSecrets": ["a", "b"]}}, frozenset())
    assert problem.path == "spec.images.pullSecrets[1]"


def test_the_images_of_a_release_are_listed_once_and_sorted() -> None:
    assert image_names({"images": {"tags": {"a": "x:1", "b": "x:1", "c": "a:1", "d": None}}}) == (
        "a:1",
        "x:1",
    )
