"""HelmBundles: written, read back, and refused when they are broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.releases.bundle import BundleSpec, ChartRef, PlannedSpec, ReleaseSpec
from controller.domain.releases.bundle_object import bundle_object, parse_bundle
from controller.domain.shared.durations import format_duration, parse_duration
from controller.errors import SpecInvalid
from tests.api.definitions import SCHEMAS, bundle

SCHEMA = SCHEMAS["HelmBundle"]
SPEC = BundleSpec(
    releases=(
        ReleaseSpec(
            name="keystone",
            namespace="openstack",
            chart=ChartRef("keystone", path="keystone", omit_templates=("templates/certificates.yaml",)),
            values={"a": {"$secretRef": {"name": "identity-credentials", "key": "b"}}, "n": None},
            depends_on=("mariadb", "rabbitmq"),
            timeout=5400,
            drift="Warn",
            suspend=True,
        ),
        ReleaseSpec(
            name="glance",
            namespace="openstack",
            chart=ChartRef("glance", "1.2.3", repository="oci://r.example.org/x", ca_secret="ca"),
        ),
    ),
    mode="Plan",
    volumes="Delete",
)


def _written(spec: BundleSpec = SPEC) -> dict[str, Any]:
    return bundle_object(
        name="identity",
        namespace="openstack",
        spec=spec,
        labels={"osctl.dev/service": "identity"},
    )


def _problems(obj: Any) -> dict[str, str]:
    with pytest.raises(SpecInvalid) as caught:
        parse_bundle(obj)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_what_is_written_is_read_back() -> None:
    assert parse_bundle(_written()).spec == SPEC


PLANNED = replace(SPEC, planned=PlannedSpec((replace(SPEC.releases[0], timeout=60),), "Retain"))


def test_a_wish_beside_what_is_applied_is_read_back_and_fits_the_definition() -> None:
    written = _written(PLANNED)
    assert parse_bundle(written).spec == PLANNED
    assert SCHEMA.problems(written) == []


def test_a_broken_wish_is_refused_with_its_path() -> None:
    written = _written(PLANNED)
    written["spec"]["planned"]["releases"][0]["chart"] = {"name": "keystone"}
    assert list(_problems(written)) == ["spec.planned.releases[0].chart"]


def test_what_is_written_fits_the_definition() -> None:
    obj = _written()
    assert SCHEMA.problems(SCHEMA.defaulted(obj)) == []


def test_its_labels_name_the_owner_and_no_owner_reference_does() -> None:
    assert _written()["metadata"] == {
        "name": "identity",
        "namespace": "openstack",
        "labels": {"app.kubernetes.io/managed-by": "openstack-controller", "osctl.dev/service": "identity"},
    }


def test_what_is_written_shares_nothing_with_the_spec() -> None:
    values: dict[str, Any] = {"a": [1]}
    spec = BundleSpec((ReleaseSpec("r", "n", ChartRef("c", path="c"), values),))
    obj = _written(spec)
    values["a"].append(2)
    assert obj["spec"]["releases"][0]["values"] == {"a": [1]}


def test_the_least_that_can_be_said_gets_the_defaults_of_the_definition() -> None:
    obj = bundle()
    read = parse_bundle(obj).spec
    assert read == parse_bundle(SCHEMA.defaulted(obj)).spec
    [release] = read.releases
    assert (read.mode, read.volumes) == ("Apply", "Retain")
    assert (release.namespace, release.timeout, release.drift, release.suspend) == (
        "openstack",
        1800,
        "Correct",
        False,
    )


def test_a_key_of_a_newer_version_does_not_stop_us() -> None:
    obj = bundle()
    obj["spec"]["releases"][0]["tomorrow"] = True
    assert parse_bundle(obj).spec.releases[0].name == "keystone"


@pytest.mark.parametrize(
    ("release", "path"),
    [
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"name": 5}, "name"),
        ({"chart": None}, "chart"),
        ({"chart": {"name": "a"}}, "chart"),
        ({"chart": {"name": "a", "path": "a", "repository": "oci://x", "version": "1"}}, "chart"),
        ({"chart": {"name": "a", "repository": "oci://x"}}, "chart.version"),
        ({"chart": {"name": "a", "path": "a", "omitTemplates": "templates/a.yaml"}}, "chart.omitTemplates"),
        ({"chart": {"name": "a", "path": "a", "omitTemplates": ["values.yaml"]}}, "chart.omitTemplates"),
        ({"chart": {"name": "a", "path": "a", "omitTemplates": [1]}}, "chart.omitTemplates"),
        ({"values": []}, "values"),
        ({"dependsOn": "a"}, "dependsOn"),
        ({"dependsOn": [1]}, "dependsOn"),
        ({"dependsOn": ["keystone"]}, "dependsOn"),
        ({"timeout": 30}, "timeout"),
        ({"timeout": "30"}, "timeout"),
        ({"timeout": "9s"}, "timeout"),
        ({"timeout": "25h"}, "timeout"),
        ({"drift": "Maybe"}, "drift"),
        ({"suspend": "yes"}, "suspend"),
        ({"namespace": []}, "namespace"),
    ],
)
def test_a_broken_release_is_refused_with_its_path(release: dict[str, Any], path: str) -> None:
    assert f"spec.releases[0].{path}" in _problems(bundle(**release))


@pytest.mark.parametrize(
    "spec", [None, [], "x", {}, {"releases": None}, {"releases": {}}, {"releases": [None]}]
)
def test_a_broken_spec_is_refused(spec: Any) -> None:
    assert all(path.startswith("spec") for path in _problems({**bundle(), "spec": spec}))


def test_two_releases_of_one_name_are_refused() -> None:
    obj = bundle()
    obj["spec"]["releases"] *= 2
    assert _problems(obj) == {"spec.releases": 'release "keystone" is listed more than once'}


def test_a_release_in_another_namespace_is_refused_with_what_to_do() -> None:
    with pytest.raises(SpecInvalid) as caught:
        parse_bundle(bundle(namespace="elsewhere"))
    [problem] = caught.value.problems
    assert problem.path == "spec.releases[0].namespace"
    assert problem.message == (
        'a release must be in the namespace of its bundle, "openstack", not in "elsewhere"'
    )
    assert problem.remedy == 'omit it, or move the bundle to "elsewhere"'


def test_the_namespace_of_the_bundle_can_be_written_out() -> None:
    assert parse_bundle(bundle(namespace="openstack")).spec.releases[0].namespace == "openstack"


def _waiting(**depends_on: list[str]) -> dict[str, Any]:
    """A bundle of releases by name with what each depends on."""
    obj = bundle()
    [release] = obj["spec"]["releases"]
    obj["spec"]["releases"] = [
        {**release, "name": name, "dependsOn": desired} for name, desired in depends_on.items()
    ]
    return obj


@pytest.mark.parametrize(
    ("depends_on", "place", "circle"),
    [
        ({"a": ["b"], "b": ["a"]}, 0, "a → b → a"),
        ({"b": ["a"], "a": ["b"]}, 0, "b → a → b"),
        ({"z": ["c"], "c": ["b"], "a": ["c"], "b": ["a", "x"]}, 1, "c → b → a → c"),
    ],
)
def test_dependencies_in_a_circle_are_refused_by_its_names(
    depends_on: dict[str, list[str]], place: int, circle: str
) -> None:
    assert _problems(_waiting(**depends_on)) == {
        f"spec.releases[{place}].dependsOn": f"the dependencies form a circle: {circle}"
    }


def test_a_release_that_depends_on_itself_is_reported_once() -> None:
    assert _problems(_waiting(a=["a"], b=["a"])) == {
        "spec.releases[0].dependsOn": "a release cannot depend on itself"
    }


def test_dependencies_that_meet_again_are_no_circle() -> None:
    obj = _waiting(d=["b", "c"], b=["a"], c=["a"], a=["mariadb"])
    assert [release.name for release in parse_bundle(obj).spec.releases] == ["d", "b", "c", "a"]


def test_every_problem_is_reported_at_once() -> None:
    obj = bundle(timeout="x", drift="y")
    obj["spec"]["mode"] = "z"
    assert sorted(_problems(obj)) == ["spec.mode", "spec.releases[0].drift", "spec.releases[0].timeout"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("1h30m", 5400), ("45s", 45), ("1h1m1s", 3661), ("0s", 0)]
)
def test_a_duration_is_read_and_written(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    "text", ["", "30", "m", "1.5h", "-1m", "1d", "1h 30m", "30m\n", "٣m", "1ms", "100000s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 1h30m"):
        parse_duration(text)
