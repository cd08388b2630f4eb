"""Metadata of objects in files: what an API server would refuse is reported where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.metadata_rules import metadata_problems


def paths(**metadata: Any) -> list[str]:
    return [problem.path for problem in metadata_problems({"metadata": {"name": "region-one", **metadata}})]


@pytest.mark.parametrize("name", ["Region", "a_b", "-a", "a-", "a..b", "a b", "é", "a\n", "a" * 254])
def test_a_name_that_kubernetes_refuses_is_reported(name: str) -> None:
    assert paths(name=name) == ["metadata.name"]


@pytest.mark.parametrize("namespace", ["OpenStack", "a.b", "a b", "a" * 64])
def test_a_namespace_that_kubernetes_refuses_is_reported(namespace: str) -> None:
    assert paths(namespace=namespace) == ["metadata.namespace"]


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        ({"a": 1}, "metadata.labels.a"),
        ({"a": True}, "metadata.labels.a"),
        ({"a": None}, "metadata.labels.a"),
        ({"a": "b c"}, "metadata.labels.a"),
        ({"a": "x" * 64}, "metadata.labels.a"),
        ({"a b": "c"}, 'metadata.labels["a b"]'),
        ({"x/y/z": "c"}, 'metadata.labels["x/y/z"]'),
    ],
)
def test_labels_are_short_strings_by_qualified_names(labels: dict[str, Any], path: str) -> None:
    assert paths(labels=labels) == [path]


def test_annotations_are_strings_of_any_text() -> None:
    assert paths(annotations={"example.org/note": "any text, at\nlength" * 100}) == []
    assert paths(annotations={"since": 2026}) == ["metadata.annotations.since"]


def test_an_unknown_field_is_reported_with_the_one_meant() -> None:
    (problem,) = metadata_problems({"metadata": {"name": "a", "nmaespace": "b"}})
    assert (problem.path, problem.remedy) == ("metadata.nmaespace", 'did you mean "namespace"?')


def test_a_name_to_be_generated_is_no_name() -> None:
    (problem,) = metadata_problems({"metadata": {"generateName": "region-"}})
    assert problem.path == "metadata.name"
    assert problem.message == "required, and not set"
    assert "generateName" in problem.remedy


def test_what_a_cluster_adds_is_known() -> None:
    added = {"uid": "1", "managedFields": [], "creationTimestamp": "2026-03-01T09:00:00Z", "generation": 1}
    assert paths(**added, labels={"app.kubernetes.io/name": ""}, finalizers=[]) == []
