"""Which versions of OpenStack, RabbitMQ and MariaDB may follow which on the same data."""

from __future__ import annotations

import pytest

from controller.domain.api.names import ACCEPT_VERSION_ANNOTATION
from controller.domain.region.allowed_version_steps import (
    ImageStep,
    accepted_versions,
    follows,
    image_problems,
    image_version,
    series_problems,
)


def rabbitmq(before: str, after: str) -> ImageStep:
    return ImageStep("rabbitmq", "rabbitmq", f"docker.io/rabbitmq:{before}", f"docker.io/rabbitmq:{after}")


def mariadb(before: str, after: str) -> ImageStep:
    return ImageStep("mariadb", "mariadb", f"docker.io/mariadb:{before}", f"docker.io/mariadb:{after}")


def refused(step: ImageStep, **accepted: str) -> str:
    return "; ".join(map(str, image_problems([step], accepted, "region-one", "openstack")))


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("docker.io/rabbitmq:3.13", (3, 13)),
        ("docker.io/rabbitmq:4.3.5-management", (4, 3)),
        ("registry.example.org:5000/quay/rabbitmq:v4.2@sha256:12", (4, 2)),
        ("quay.io/airshipit/mariadb:latest-ubuntu_noble", None),
        ("registry.example.org:5000/rabbitmq", None),
        ("registry.example.org/rabbitmq@sha256:4.3", None),
        ("example.org/mariadb:2026.1-ubuntu_noble", None),
        ("rabbitmq:4", None),
        ("", None),
    ],
)
def test_the_version_is_that_of_the_tag(image: str, version: tuple[int, int] | None) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *(("3.10", "3.11"), ("3.12", "3.13"), ("3.13", "4.0"), ("3.13", "4.2"), ("4.1", "4.2")),
        *(("4.2", "4.3"), ("4.3", "4.3.5"), ("4.3.5", "4.3.1"), ("4.3", "4.4"), ("3.13", "latest")),
    ],
)
def test_a_step_that_rabbitmq_supports_is_none_of_our_business(before: str, after: str) -> None:
    assert refused(rabbitmq(before, after)) == ""


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        ("3.13", "4.3.5", "go to 4.2, then to 4.3"),
        ("3.10.18", "4.3.5", "go to 3.11, then to 3.12, then to 3.13, then to 4.2, then to 4.3"),
        ("4.0", "4.3", "go to 4.2, then to 4.3"),
        ("3.9", "4.3", "empty the broker first"),
        ("4.3", "5.0", "empty the broker first"),
    ],
)
def test_a_step_over_versions_of_rabbitmq_is_refused_with_the_way_to_go(
    before: str, after: str, way: str
) -> None:
    text = refused(rabbitmq(before, after))
    assert "does not start with that data" in text
    assert way in text
    assert "docs/upgrade.md" in text


@pytest.mark.parametrize("step", [rabbitmq("4.3", "4.2"), mariadb("11.4", "10.11"), mariadb("10.11", "10.6")])
def test_an_older_version_on_newer_data_is_refused(step: ImageStep) -> None:
    assert "an older version cannot read this data" in refused(step)


def test_a_new_major_version_of_the_database_is_asked_for_and_a_minor_one_is_not() -> None:
    assert "a new major version needs a confirmation" in refused(mariadb("10.11", "11.4"))
    assert refused(mariadb("11.4", "11.8")) == ""


def test_what_an_operator_accepts_by_release_and_version_goes_on() -> None:
    step = rabbitmq("3.13", "4.3.5")
    asked = "kubectl -n openstack annotate osdpl region-one osctl.dev/accept-version=rabbitmq=4.3"
    assert asked in refused(step)
    assert refused(step, rabbitmq="4.3") == ""
    # What was accepted once says nothing of the next change.
    assert refused(step, rabbitmq="4.2")
    assert refused(step, mariadb="4.3")


@pytest.mark.parametrize(
    "text", ["rabbitmq=4.3,openstack=2025.2", " rabbitmq = 4.3 ,, openstack=2025.2,x,=,y="]
)
def test_the_annotation_names_what_is_accepted(text: str) -> None:
    found = accepted_versions({ACCEPT_VERSION_ANNOTATION: text})
    assert found == {"rabbitmq": "4.3", "openstack": "2025.2"}
    assert accepted_versions(None) == {}


@pytest.mark.parametrize(
    "status",
    [
        {"openstackVersion": "2026.1"},
        # In the middle of an upgrade, some services have migrated their databases.
        {"openstackVersion": "2025.2", "services": {"identity": {"openstackVersion": "2026.1"}, "image": {}}},
    ],
)
def test_an_older_openstack_than_what_runs_is_refused(status: dict[str, object]) -> None:
    [problem] = series_problems(status, "2025.2", {}, "region-one", "openstack")
    assert problem.path == "spec.openstackVersion"
    assert "2026.1 runs" in problem.message
    assert "osctl.dev/accept-version=openstack=2025.2" in problem.remedy
    assert series_problems(status, "2025.2", {"openstack": "2025.2"}, "region-one", "openstack") == []


@pytest.mark.parametrize("status", [{}, {"openstackVersion": "2025.1"}, {"openstackVersion": "2026.1"}])
def test_the_same_openstack_and_a_newer_one_are_served(status: dict[str, object]) -> None:
    assert series_problems(status, "2026.1", {}, "region-one", "openstack") == []


@pytest.mark.parametrize(
    ("before", "after", "supported"),
    [
        ("2025.1", "2025.2", True),
        ("2025.2", "2026.1", True),
        ("2025.1", "2026.1", True),  # from one SLURP release to the next
        ("2025.2", "2026.2", False),
        ("2025.1", "2026.2", False),
        ("2025.1", "2027.1", False),
        ("2026.1", "2025.2", False),
    ],
)
def test_openstack_is_upgraded_to_the_next_release_or_between_slurp_releases(
    before: str, after: str, *, supported: bool
) -> None:
    assert follows(before, after) is supported


def test_a_release_that_does_not_follow_is_refused_with_the_way_out() -> None:
    [problem] = series_problems({"openstackVersion": "2025.2"}, "2026.2", {}, "region-one", "openstack")
    assert "does not support an upgrade" in str(problem)
    assert "versions in between" in str(problem)
