"""A region runs the images of its version of OpenStack, and no others: by facts of the charts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.domain.values.chart_values import Values
from tests.render.region import ROOT, core_spec, library, render
from tests.upstream.images import VERSIONED, recorded

SERIES = sorted(library().versions)
CHARTS = recorded()["charts"]
PUBLISHED = recorded()["published"]
DEFECTS = (ROOT / "docs" / "upstream-defects.md").read_text(encoding="utf-8")
# Named by the charts, and by nothing that builds them.
NOT_BUILT = {"quay.io/airshipit/aodh"}
# The broker differs between versions: the Jobs that speak to it have its image.
BROKER = "docker.io/rabbitmq:"


@pytest.fixture(scope="module", params=SERIES)
def series(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tags_of(series: str, chart: str) -> dict[str, str]:
    """By tag, the images of a version: those of the chart, and ours over them."""
    values: Values = library().versions[series].values_of(chart)
    tags: dict[str, str] = (values.get("images") or {}).get("tags") or {}
    return {**CHARTS[chart], **tags}


def images(series: str) -> Iterator[tuple[str, str, str]]:
    """Chart, tag and image of everything that a region of the version may run."""
    for chart in CHARTS:
        yield from ((chart, tag, image) for tag, image in tags_of(series, chart).items())


def test_every_image_that_versions_differ_in_is_the_versions_own(series: str) -> None:
    others = [
        f"{chart} {tag}: {image}"
        for chart, tag, image in images(series)
        if VERSIONED.fullmatch(image.rpartition(":")[2]) and series not in image
    ]
    assert others == []


def test_every_image_that_versions_differ_in_is_built_by_upstream_or_said_to_be_not(series: str) -> None:
    missing = {
        image.removesuffix(f":{version}")
        for _, _, image in images(series)
        if VERSIONED.fullmatch(version := image.rpartition(":")[2])
        and version not in PUBLISHED.get(image.rpartition(":")[0], ())
    }
    assert missing == {one for one in NOT_BUILT if f"`{one}`" in DEFECTS}


def test_jobs_speak_to_the_broker_by_its_own_version(series: str) -> None:
    broker = tags_of(series, "rabbitmq")["rabbitmq"]
    others = [
        f"{chart} {tag}: {image}"
        for chart, tag, image in images(series)
        if image.startswith(BROKER) and image.removesuffix("-management") != broker
    ]
    assert others == []


def test_tags_of_versions_are_those_of_charts(series: str) -> None:
    unknown = [f"{chart} {tag}" for chart, tag, _ in images(series) if tag not in CHARTS[chart]]
    assert unknown == []


def test_gnocchi_has_no_image_of_a_version() -> None:
    own = {image for tag, image in CHARTS["gnocchi"].items() if tag.startswith("gnocchi_")}
    assert not any(VERSIONED.fullmatch(image.rpartition(":")[2]) for image in own)
    assert not any("gnocchi" in image for image in PUBLISHED)
    assert "ubuntu-source-gnocchi-api:3.0.3`" in DEFECTS


@pytest.mark.slow
def test_a_region_is_rendered_with_its_versions_images() -> None:
    release = render(core_spec(openstackVersion="2025.1", preset="compute")).release("keystone")
    assert release is not None
    tags = release.spec.values["images"]["tags"]
    assert tags["keystone_api"] == "quay.io/airshipit/keystone:2025.1-ubuntu_noble"
    assert tags["rabbit_init"] == "docker.io/rabbitmq:3.13-management"


def test_the_database_of_gnocchi_is_made_by_an_image_that_is_published(series: str) -> None:
    assert tags_of(series, "gnocchi")["db_init"] == tags_of(series, "gnocchi")["ks_user"]
    gone = {tag for tag, image in tags_of(series, "gnocchi").items() if ":3.0.3" in image}
    assert gone == {tag for tag in gone if tag == "db_sync" or tag.startswith("gnocchi_")}, (
        "check gnocchi-image-gone"
    )
