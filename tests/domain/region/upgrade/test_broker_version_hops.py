"""Which versions a broker passes through, and what its release is meanwhile."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.system.values_files import load_library
from controller.domain.region.allowed_version_steps import ImageStep, image_problems
from controller.domain.region.upgrade.broker_version_hops import (
    hop_problems,
    hop_release,
    hop_versions,
    placed_hops,
    remembered_hops,
    with_hops,
)
from controller.domain.region.upgrade.upgrade_steps import UpgradeStep, upgrade_steps
from controller.domain.values.images import ImagesSpec

LIBRARY = load_library(Path(__file__).parents[4] / "values")
STEPS = upgrade_steps(LIBRARY.catalogue.services.values())
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "4.0", "4.1", "4.2", "4.3")


def server(before: str, after: str = "4.3.5", release: str = "rabbitmq") -> ImageStep:
    return ImageStep(release, "rabbitmq", f"docker.io/rabbitmq:{before}", f"docker.io/rabbitmq:{after}")


def hops(*servers: ImageStep, **accepted: str) -> list[str]:
    """The names of the broker's steps."""
    return [step.name for step in with_hops(STEPS, servers, accepted) if step.service == "messaging"]


def release(image: str, name: str = "rabbitmq") -> dict[str, Any]:
    return {"name": name, "chart": {"name": "rabbitmq"}, "values": {"images": {"tags": {"rabbitmq": image}}}}


def passing(servers: tuple[ImageStep, ...], images: ImagesSpec | None = None) -> list[UpgradeStep]:
    """The steps between, as a later process finds them."""
    steps = placed_hops(STEPS, images or ImagesSpec())
    names = [step.name for step in with_hops(steps, servers, {})]
    return [step for step in remembered_hops(steps, names, servers) if step.version]


@pytest.mark.parametrize(
    ("before", "names"),
    [
        ("3.13", ["messaging/4.2", "messaging"]),
        ("3.10.18", [*(f"messaging/{one}" for one in ("3.11", "3.12", "3.13", "4.2")), "messaging"]),
        ("4.0.5", ["messaging/4.2", "messaging"]),
        ("4.2.9", ["messaging"]),
        ("4.3.1", ["messaging"]),
        ("latest", ["messaging"]),
        ("3.9", ["messaging"]),
    ],
)
def test_the_versions_between_are_steps_of_their_own(before: str, names: list[str]) -> None:
    assert hops(server(before)) == names


def test_brokers_of_different_versions_share_their_steps() -> None:
    found = hops(server("3.12"), server("3.13", release="rabbitmq-nova"))
    assert found == ["messaging/3.13", "messaging/4.2", "messaging"]


def test_what_an_operator_answers_for_needs_no_steps() -> None:
    assert hops(server("3.13"), rabbitmq="4.3") == ["messaging"]


@pytest.mark.parametrize("before", VERSIONS)
@pytest.mark.parametrize("after", VERSIONS)
def test_no_step_skips_a_version_that_the_broker_needs(before: str, after: str) -> None:
    asked = server(before, after)
    names = hops(asked)
    chain = [before, *(name.partition("/")[2] for name in names[:-1]), after]
    if image_problems([asked], {}, "region-one", "openstack", hop_versions(STEPS)):
        assert names == ["messaging"]
        return
    for one, following in pairwise(chain):
        assert image_problems([server(one, following)], {}, "region-one", "openstack") == []


@pytest.mark.parametrize("before", VERSIONS)
def test_every_version_between_has_an_image(before: str) -> None:
    asked = server(before)
    for hop in passing((asked,)):
        assert hop.about.hops["rabbitmq"][hop.version] == f"docker.io/rabbitmq:{hop.version}"


def test_a_release_changes_only_the_image_of_its_server() -> None:
    [hop] = passing((server("3.13"),))
    before = release("docker.io/rabbitmq:3.13")
    before["values"]["conf"] = {"any": 1}
    before["values"]["images"]["tags"]["rabbitmq_init"] = "init:2025.1"
    found = hop_release(before, hop)
    assert found["values"]["images"]["tags"] == {
        "rabbitmq": "docker.io/rabbitmq:4.2",
        "rabbitmq_init": "init:2025.1",
    }
    assert found["values"]["conf"] == {"any": 1}
    assert before["values"]["images"]["tags"]["rabbitmq"] == "docker.io/rabbitmq:3.13"


def test_a_release_that_is_past_a_version_or_does_not_need_it_stays() -> None:
    old, new, unknown = server("3.12"), server("4.2", release="new"), server("mine", release="unknown")
    hop, _ = passing((old, new, unknown))
    assert hop.version == "3.13"
    for name, image in (("new", "docker.io/rabbitmq:4.2"), ("unknown", "x/rabbitmq:mine"), ("other", "y")):
        assert hop_release(release(image, name), hop) == release(image, name)


def test_a_step_that_has_been_made_is_found_as_it_is() -> None:
    """Once the server runs the version between, each pass asks for the same again."""
    [later] = [one for one in remembered_hops(STEPS, ["messaging/4.2"], (server("4.2"),)) if one.version]
    assert hop_release(release("docker.io/rabbitmq:4.2"), later) == release("docker.io/rabbitmq:4.2")


def test_images_between_come_from_where_the_images_of_the_region_come_from() -> None:
    desired = ImagesSpec(registry="registry.example.org/mirror", overrides={"rabbitmq-3.13": "x/own:3.13.7"})
    first, second = passing((server("3.12"),), desired)
    assert first.about.hops["rabbitmq"]["3.13"] == "x/own:3.13.7"
    assert second.about.hops["rabbitmq"]["4.2"] == "registry.example.org/mirror/rabbitmq:4.2"


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({}, "name its image in spec.images.overrides.rabbitmq-4.2"),
        ({"rabbitmq-4.2": "own.example.org/rabbit:4.2-a"}, ""),
        ({"rabbitmq-4.2": "own.example.org/rabbit:4.1"}, "does not begin with 4.2"),
        ({"rabbitmq-4.2": "own.example.org/rabbit@sha256:12"}, "does not begin with 4.2"),
    ],
)
def test_an_own_image_of_the_server_needs_own_images_between(overrides: dict[str, str], text: str) -> None:
    asked = ImageStep("rabbitmq", "rabbitmq", "own.example.org/rabbit:3.13", "own.example.org/rabbit:4.3.5")
    steps = passing((asked,), ImagesSpec(overrides=overrides))
    assert text in "; ".join(hop_problems(steps, overrides))
    assert bool(text) == bool(hop_problems(steps, overrides))
