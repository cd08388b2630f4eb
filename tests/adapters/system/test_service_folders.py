"""A service is one folder of values/services/, which is refused while it is incomplete."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.adapters.system.values_files import load_library
from controller.domain.values.catalogue import CatalogueInvalid
from tests.render.region import ROOT

pytestmark = pytest.mark.slow

Edit = Callable[[Path], object]


@pytest.fixture
def values(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "values", tmp_path / "values"))


def replaced(name: str, old: str, new: str) -> Edit:
    def edit(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return edit


WRONG: dict[str, tuple[Edit, str]] = {
    "a misspelt field": (
        replaced("service.yaml", "publicEndpoints:", "publicEndpoint:"),
        "values/services/instance-ha/service.yaml: Additional properties are not allowed "
        "('publicEndpoint' was unexpected)",
    ),
    "a field of another type": (
        replaced("service.yaml", "sources: [upstream]", "sources: upstream"),
        "charts.masakari.sources: 'upstream' is not of type 'array'",
    ),
    "no description": (
        replaced("service.yaml", "description: Masakari\n", ""),
        "values/services/instance-ha/service.yaml: 'description' is a required property",
    ),
    "a chart without a word about its files of options": (
        replaced("service.yaml", "    optionFiles: [masakari, masakarimonitors]\n", ""),
        "values/services/instance-ha/service.yaml: charts.masakari: 'optionFiles' is a required property",
    ),
    "a check that asks what there is not": (
        replaced("service.yaml", "needs: size(features", "needs: sizes(features"),
        "'sizes(features.compute.pods.tolerations) == 0' refers to sizes, which checks do not have",
    ),
    "a check without a remedy": (
        replaced(
            "service.yaml",
            "    remedy: remove the taints from hypervisors, or run without the monitors\n",
            "",
        ),
        "values/services/instance-ha/service.yaml: checks.1: 'remedy' is a required property",
    ),
    "a kind of credential that nothing generates": (
        replaced("service.yaml", "masakari-password: password", "masakari-password: passphrase"),
        "credentials.masakari-password: 'passphrase' is not one of base64-32, ",
    ),
    "a service that there is not": (
        replaced("service.yaml", "compute]", "computing]"),
        "values/services/instance-ha/service.yaml: requires: no service 'computing'",
    ),
    "no template": (lambda folder: (folder / "releases.yaml.j2").unlink(), "releases.yaml.j2"),
    "no sizes": (
        lambda folder: (folder / "sizes.yaml").unlink(),
        "values/services/instance-ha: sizes.yaml is missing",
    ),
    "a size without a value": (
        replaced("sizes.yaml", "tiny:", "small-ish:"),
        "values/services/instance-ha/sizes.yaml: lacks tiny",
    ),
    "a version without images": (
        replaced("versions.yaml", '"2025.2"', '"2025.3"'),
        "values/services/instance-ha/versions.yaml: lacks 2025.2",
    ),
    "values of a chart of another service": (
        replaced("versions.yaml", "  masakari:", "  nova:"),
        "values/services/instance-ha/versions.yaml: 2025.1: service instance-ha has no chart nova",
    ),
    "a file that nothing reads": (
        lambda folder: (folder / "size.yaml").write_text("{}"),
        "values/services/instance-ha/size.yaml: expected releases.yaml.j2, ",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_an_incomplete_folder_is_refused_with_its_file(mistake: str, values: Path) -> None:
    edit, message = WRONG[mistake]
    edit(values / "services" / "instance-ha")
    with pytest.raises(CatalogueInvalid) as refused:
        load_library(values)
    assert message in str(refused.value)


def test_a_folder_that_is_empty_is_refused(values: Path) -> None:
    (values / "services" / "clustering").mkdir()
    with pytest.raises(CatalogueInvalid, match=r"values/services/clustering: expected .*service\.yaml"):
        load_library(values)


def test_two_services_cannot_both_give_values_of_one_chart(values: Path) -> None:
    services = values / "services"
    chart = "  masakari: {sources: [upstream], optionFiles: []}\n"
    replaced("service.yaml", "charts:\n", f"charts:\n{chart}")(services / "cache")
    replaced("sizes.yaml", "tiny:\n", "tiny:\n  masakari: {}\n")(services / "cache")
    with pytest.raises(CatalogueInvalid, match=r"tiny: .*/cache/sizes\.yaml has values of masakari too"):
        load_library(values)


def test_services_are_listed_by_their_order_and_those_without_one_last() -> None:
    services = list(load_library(ROOT / "values").catalogue.services)
    assert services[:4] == ["database", "messaging", "cache", "gateway"]


def test_a_folder_without_an_order_is_listed_last(values: Path) -> None:
    replaced("service.yaml", "order: 10\n", "")(values / "services" / "database")
    assert list(load_library(values).catalogue.services)[-1] == "database"
