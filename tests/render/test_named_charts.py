"""Charts and services that main fields name: a slip is reported, and what nothing reads too."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem, SpecInvalid
from tests.render.region import UPSTREAM_REPOSITORY, core_spec, render

OVN = {"networking": {"backend": "ml2/ovn"}}


def upstream(**versions: str) -> dict[str, Any]:
    return {"charts": {"repository": UPSTREAM_REPOSITORY, "versions": versions}}


def problem(**more: Any) -> Problem:
    with pytest.raises(SpecInvalid) as refused:
        render(core_spec(**more))
    (found,) = refused.value.problems
    return found


def warned(**more: Any) -> dict[str, str]:
    return {one.path: one.message for one in render(core_spec(**more)).warnings}


def test_a_chart_that_does_not_exist_has_no_version():
    found = problem(**upstream(nvoa="1.0.0"))
    assert (found.path, found.remedy) == ("spec.charts.versions.nvoa", 'did you mean "nova"?')


def test_charts_that_are_shipped_have_no_versions_to_choose():
    found = problem(charts={"versions": {"nova": "1.0.0"}})
    assert found.path == "spec.charts.versions"
    assert "only be chosen for charts of a repository" in found.message


def test_a_chart_that_is_always_shipped_has_no_version():
    assert problem(**upstream(gateway="1.0.0")).path == "spec.charts.versions.gateway"


def test_the_version_of_a_chart_that_the_region_does_not_use_is_warned_about():
    assert list(warned(**upstream(cinder="1.0.0", nova="1.0.0"))) == ["spec.charts.versions.cinder"]


def test_a_class_for_no_service_is_refused():
    found = problem(storageClasses={"databse": "fast"})
    assert (found.path, found.remedy) == ("spec.storageClasses.databse", 'did you mean "database"?')


@pytest.mark.parametrize("service", ["identity", "block-storage"])
def test_a_class_for_a_service_without_a_volume_is_warned_about(service: str):
    found = warned(storageClasses={service: "fast", "database": "fast"})
    assert list(found) == [f"spec.storageClasses.{service}"]


@pytest.mark.slow
def test_a_class_for_ovn_depends_on_the_backend():
    classes = {"storageClasses": {"networking": "fast"}}
    assert list(warned(**classes)) == ["spec.storageClasses.networking"]
    assert "spec.storageClasses.networking" not in warned(**classes, features=OVN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "written",
    [
        {"services": {"networking": {"ovn": {"values": {"a": 1}}}}},
        {
            "nodes": {
                "a::b": {
                    "services": {"networking": {"ovn": {"controller": {"values": {"pod": {"probes": {}}}}}}}
                }
            }
        },
    ],
)
def test_values_for_a_chart_that_no_release_is_made_of_are_refused(written: dict[str, Any]):
    found = problem(**written)
    assert found.path.endswith("networking.ovn")
    assert "no release of this region uses chart ovn" in found.message
    assert render(core_spec(**written, features=OVN)).release("ovn") is not None
