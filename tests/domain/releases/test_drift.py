"""Differences as paths, rules, and who owns what: on objects as a cluster gives them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.bundle import DriftIgnore
from controller.domain.releases.drift.difference import (
    OBJECTS_SHOWN,
    PATHS_SHOWN,
    Change,
    Drift,
    Drifted,
    ObjectId,
    changed_keys,
    fingerprint,
    ignored_places,
    is_autoscaled,
    is_ignored,
    managers_of,
    pointer,
    with_live,
)

WEB = ObjectId("apps/v1", "Deployment", "openstack", "web")
CONTAINERS = ("spec", "template", "spec", "containers")


def changed(live: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    return [pointer(keys) for keys in changed_keys(live, wanted)]


def edited(obj: str = "web", *paths: str, by: tuple[str, ...] = ()) -> Drifted:
    return Drifted(ObjectId("apps/v1", "Deployment", "openstack", obj), Change.EDITED, paths, by)


@pytest.mark.parametrize(
    ("live", "wanted", "paths"),
    [
        ({"spec": {"replicas": 3}}, {"spec": {"replicas": 1}}, ["/spec/replicas"]),
        ({}, {"data": {"a": "1", "b/c": "2"}}, ["/data/a", "/data/b~1c"]),
        ({"data": {}}, {"data": {"a~b": "1"}}, ["/data/a~0b"]),
        ({"spec": [{"a": 1}, {"a": 2}]}, {"spec": [{"a": 1}, {"a": 3}]}, ["/spec/1/a"]),
        ({"spec": {"list": [1]}}, {"spec": {"list": [1, 2]}}, ["/spec/list"]),
        ({"spec": {"a": {}}}, {"spec": {}}, ["/spec/a"]),
        ({"status": {"a": 1}}, {"status": {"a": 2}}, []),
        ({"metadata": {"generation": 1}}, {"metadata": {"generation": 2, "managedFields": []}}, []),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}, ["/metadata/labels/a"]),
    ],
)  # fmt: skip
def test_differences_are_reported_by_paths(
    live: dict[str, Any], wanted: dict[str, Any], paths: list[str]
) -> None:
    assert changed(live, wanted) == paths


@pytest.mark.parametrize(
    ("rule", "covered"),
    [
        (DriftIgnore(paths=("/spec/replicas",)), True),
        (DriftIgnore(paths=("/spec",)), True),
        (DriftIgnore(paths=("/spec/",)), True),
        (DriftIgnore(paths=("/*/replicas",)), True),
        (DriftIgnore(paths=("/spec/replicas/below",)), False),
        (DriftIgnore(paths=("/spec/replica",)), False),
        (DriftIgnore(kind="Deployment", name="web", paths=("/spec/replicas",)), True),
        (DriftIgnore(kind="StatefulSet", paths=("/spec/replicas",)), False),
        (DriftIgnore(name="other", paths=("/spec/replicas",)), False),
    ],
)
def test_a_rule_covers_its_paths_and_what_is_below(rule: DriftIgnore, covered: bool) -> None:
    assert is_ignored(WEB, ("spec", "replicas"), [rule]) is covered


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("ValidatingWebhookConfiguration", ("webhooks", 0, "clientConfig", "caBundle")),
        ("MutatingWebhookConfiguration", ("webhooks", 3, "clientConfig", "caBundle")),
        ("APIService", ("spec", "caBundle")),
        ("CustomResourceDefinition", ("spec", "conversion", "webhook", "clientConfig", "caBundle")),
    ],
)
def test_injected_certificates_are_no_mistake(kind: str, keys: tuple[str | int, ...]) -> None:
    assert is_ignored(ObjectId("v1", kind, "", "x"), keys, [])
    assert not is_ignored(ObjectId("v1", "Deployment", "", "x"), keys, [])


def managed(manager: str, fields: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    entry = {"manager": manager, "operation": "Update", "fieldsV1": fields}
    return {**entry, "subresource": subresource} if subresource else entry


# As the API server tells it of a Deployment that was edited in several ways.
LIVE: dict[str, Any] = {
    "metadata": {
        "labels": {"app": "web"},
        "managedFields": [
            managed("helm", {"f:spec": {"f:replicas": {}}}),
            managed("kubectl", {"f:spec": {"f:replicas": {}}}, "scale"),
            managed("kubectl-edit", {"f:metadata": {"f:labels": {"f:app": {}}}}),
            managed(
                "kubectl-set",
                {
                    "f:spec": {
                        "f:template": {
                            "f:spec": {
                                "f:containers": {
                                    'k:{"name":"a"}': {"f:image": {}, "f:args": {}},
                                    'k:{"name":"b"}': {".": {}, "f:name": {}},
                                }
                            }
                        }
                    }
                },
            ),
            managed("controller", {"f:metadata": {"f:finalizers": {".": {}, 'v:"keep"': {}}}}),
        ],
        "finalizers": ["keep"],
    },
    "spec": {
        "replicas": 3,
        "template": {
            "spec": {"containers": [{"name": "b"}, {"name": "a", "image": "x", "args": ["1", "2"]}]}
        },
    },
}


@pytest.mark.parametrize(
    ("keys", "managers"),
    [
        (("spec", "replicas"), ("kubectl (scale)",)),
        (("metadata", "labels", "app"), ("kubectl-edit",)),
        ((*CONTAINERS, 1, "image"), ("kubectl-set",)),
        ((*CONTAINERS, 1, "args", 0), ("kubectl-set",)),
        ((*CONTAINERS, 0, "image"), ()),
        (("metadata", "finalizers", 0), ("controller",)),
        (("spec", "paused"), ()),
    ],
)
def test_who_changed_a_field_is_read_from_the_object(
    keys: tuple[str | int, ...], managers: tuple[str, ...]
) -> None:
    assert managers_of(LIVE, keys) == managers


@pytest.mark.parametrize(
    ("manager", "subresource", "autoscaled"),
    [
        ("kube-controller-manager", "scale", True),
        ("keda-operator", "scale", True),
        ("kubectl", "scale", False),
        ("kubectl-edit", "", False),
        ("kube-controller-manager", "", False),
    ],
)
def test_autoscalers_are_distinguished_from_people(manager: str, subresource: str, autoscaled: bool) -> None:
    live = {
        "metadata": {"managedFields": [managed(manager, {"f:spec": {"f:replicas": {}}}, subresource)]},
        "spec": {"replicas": 3},
    }
    assert is_autoscaled(live) is autoscaled


def test_ignored_fields_are_sent_as_they_are() -> None:
    wanted = {"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "image": "one"}]}}}}
    held = with_live(wanted, LIVE, [("spec", "replicas"), (*CONTAINERS, 1, "image")])
    assert held == {
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "a", "image": "x"}]}}}
    }
    assert wanted["spec"]["replicas"] == 1


def test_an_ignored_field_that_others_took_away_is_not_sent() -> None:
    assert with_live({"data": {"a": "1", "b": "2"}}, {"data": {"b": "2"}}, [("data", "a")]) == {
        "data": {"b": "2"}
    }


def test_an_ignored_field_that_the_manifest_does_not_set_is_none_of_ours() -> None:
    assert with_live({"data": {}}, {"data": {"a": "1"}}, [("data", "a")]) == {"data": {}}


@pytest.mark.parametrize(
    ("wanted", "live", "place"),
    [
        ({"stringData": {"a": "1"}}, {"data": {"a": "MQ=="}}, ("data", "a")),
        ({"spec": {"list": [{"x": 1}]}}, {"spec": {"list": [{"x": 2}]}}, ("spec", "list", 0, "x")),
        ({"spec": "text"}, {"spec": {"a": 1}}, ("spec", "a")),
    ],
)
def test_where_an_ignored_field_cannot_be_distinguished_nothing_is_sent(
    wanted: dict[str, Any], live: dict[str, Any], place: tuple[str | int, ...]
) -> None:
    assert with_live(wanted, live, [place]) is None


def test_the_places_of_a_rule_are_those_of_the_object_at_hand() -> None:
    rule = DriftIgnore(kind="Deployment", paths=("/spec/template/spec/containers/*/image", "/spec/none"))
    assert ignored_places(WEB, LIVE, [rule]) == [(*CONTAINERS, 1, "image")]
    assert ignored_places(ObjectId("v1", "Service", "", "web"), LIVE, [rule]) == []


def test_a_print_changes_with_what_can_be_applied_and_not_with_the_status() -> None:
    counted = {"uid": "1", "generation": 3, "resourceVersion": "10", "labels": {"a": "b"}}
    assert fingerprint(counted) == fingerprint({**counted, "resourceVersion": "11"})
    assert fingerprint(counted) != fingerprint({**counted, "generation": 4})
    assert fingerprint(counted) != fingerprint({**counted, "labels": {"a": "c"}})
    assert fingerprint(counted) != fingerprint({**counted, "uid": "2"})
    plain = {"uid": "1", "resourceVersion": "10"}
    assert fingerprint(plain) != fingerprint({**plain, "resourceVersion": "11"})


def test_a_sentence_names_objects_paths_and_who() -> None:
    drift = Drift((edited("web", "/spec/replicas", by=("kubectl (scale)",)), Drifted(WEB, Change.DELETED)))
    assert str(drift) == (
        "Deployment/web was changed by kubectl (scale) (/spec/replicas); Deployment/web is missing"
    )


def test_what_is_shown_is_bounded() -> None:
    many = tuple(edited(f"web-{n}", *(f"/data/{'x' * 400}{m}" for m in range(50))) for n in range(600))
    entries = Drift(many).entries()
    assert len(entries) == OBJECTS_SHOWN
    assert all(len(entry["paths"]) == PATHS_SHOWN for entry in entries)
    assert all(len(path) <= 256 for entry in entries for path in entry["paths"])
    assert len(str(Drift(many))) < 7000
