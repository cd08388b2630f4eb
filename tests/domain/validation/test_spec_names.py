"""A name, a key or a label in a spec that Kubernetes does not accept is refused with its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from controller.domain.validation.spec.spec_names import name_problems
from tests.render.region import ROOT

CRD = ROOT / "charts" / "openstack-controller" / "files" / "crds" / "openstackdeployments.yaml"


def told(spec: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    return [(one.path, one.rule) for one in name_problems(spec)]


def monitoring(**labels: str) -> dict[str, Any]:
    one = {"namespace": "monitoring", "podLabels": labels}
    return {"features": {"networkPolicies": {"enabled": True, "monitoring": [one]}}}


LABELS = "spec.features.networkPolicies.monitoring[0].podLabels"


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("app", "kube prometheus", "selected-value-form"),
        ("app", "-prometheus", "selected-value-form"),
        ("app name", "prometheus", "label-key-form"),
        ("a/b/c", "prometheus", "label-key-form"),
        ("Example.org/app", "prometheus", "label-key-form"),
        ("/app", "prometheus", "label-key-form"),
        ("a" * 64, "prometheus", "label-key-form"),
    ],
)
def test_a_label_of_pods_that_no_pod_can_have_is_refused(key: str, value: str, rule: str) -> None:
    [(path, found)] = told(monitoring(**{key: value}))
    assert path.startswith(LABELS)
    assert found == rule


def test_labels_that_pods_can_have_are_not_refused() -> None:
    assert told(monitoring(**{"app.kubernetes.io/name": "prometheus", "team": "", "A_b.c": "X-y_z.1"})) == []


def test_taints_and_labels_of_nodes_are_looked_at_wherever_they_are() -> None:
    one = {"key": "a b", "operator": "Equal", "value": "c d"}
    values = {
        "labels": {"api": {"node_selector_key": "role=api", "node_selector_value": "en abled"}},
        "pod": {"tolerations": {"nova": {"tolerations": [one]}}},
    }
    spec = {
        "upgrade": {"computes": {"byLabel": "zone=a"}},
        "features": {"pods": {"tolerations": [one]}, "compute": {"pods": {"tolerations": [one]}}},
        "services": {"compute": {"nova": {"values": values}}},
    }
    assert [rule for _, rule in told(spec)] == [
        "label-key-form",
        *["label-key-form", "selected-value-form"] * 2,
        "label-key-form",
        "selected-value-form",
        *["label-key-form", "selected-value-form"],
    ]


def test_references_in_values_and_options_are_looked_at_and_nothing_else_of_options() -> None:
    conf = {"caSecret": "A B", "x": {"$secretRef": {"name": "My_Secret", "key": "a b"}}}
    spec = {"services": {"image": {"glance": {"values": {"conf": {"glance": {"DEFAULT": conf}}}}}}}
    place = "spec.services.image.glance.values.conf.glance.DEFAULT.x.$secretRef"
    assert told(spec) == [(f"{place}.name", "object-name-form"), (f"{place}.key", "data-key-form")]


def test_an_address_of_a_provider_is_no_name_and_one_of_certificates_is() -> None:
    provider = {"name": "Corp_1", "issuer": "https://sso.example.org"}
    assert told({"features": {"identity": {"federation": {"providers": [provider]}}}}) == []
    assert told({"features": {"tls": {"public": {"issuer": "My Issuer"}}}}) == [
        ("spec.features.tls.public.issuer", "object-name-form")
    ]


def fields(node: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every field of a text that takes any, and its description."""
    if node.get("type") == "string" and "pattern" not in node and "enum" not in node:
        yield path, " ".join(node["description"].split())
    for key, below in (node.get("properties") or {}).items():
        yield from fields(below, (*path, key))
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), Mapping):
            yield from fields(node[key], (*path, "*" if key == "additionalProperties" else "[]"))


def nested(path: tuple[str, ...], text: str) -> Any:
    if not path:
        return text
    inner = nested(path[1:], text)
    return [inner] if path[0] == "[]" else {"one" if path[0] == "*" else path[0]: inner}


def test_every_field_of_the_definition_that_names_an_object_or_a_label_is_looked_at() -> None:
    spec = yaml.safe_load(CRD.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][
        "spec"
    ]
    words = (
        "secret",
        "storageclass",
        "clusterissuer",
        "of the taint",
        "of the label",
        "label of kubernetes nodes",
    )
    seen = 0
    for path, about in fields(spec):
        if not any(word in about.lower() for word in words) or "mount point" in about.lower():
            continue
        body = nested(path, "no name, no key")
        if path[-1] in ("name", "key") and path[-2:-1] not in (("tolerations", "[]"), ("[]",)):
            body = nested(path[:-1], "")
            body = nested(path[:-1], {"name": "a", "key": "b", path[-1]: "no name, no key"})  # type: ignore[arg-type]
        assert len(told(body)) == 1, path
        seen += 1
    assert seen >= 25
