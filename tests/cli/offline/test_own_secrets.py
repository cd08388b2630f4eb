"""Secrets that the controller reads because a region names them are asked for, and looked at."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.offline.input_files import InputObject
from controller.cli.offline.own_secrets import missing_secrets, secret_warnings
from controller.cli.offline.region import OfflineRegion
from controller.domain.credentials.x509.issued import new_authority
from controller.domain.validation.dangling import made_by
from controller.domain.validation.operator_secrets import LISTS, NAMES, REFERENCES
from tests.fakes.world import FakeRandomness
from tests.render.region import core_spec, deployment, render, schema

NOW, YEAR = 1_800_000_000.0, 365 * 86400.0
AUTHORITY = {"tls": {"internal": {"authoritySecret": "corporate-ca"}}}
FIELD = "spec.features.tls.internal.authoritySecret"
# Fields whose Secrets objects of releases refer to, so that these are found there.
OF_RELEASES = {
    "features.identity.federation.providers[].clientSecret",
    "features.identity.ldap.domains[].password",
    "features.identity.ldap.domains[].caSecret",
    "features.loadBalancer.certificatesSecret",
    "features.keyManager.vault.caSecret",
    "features.keyManager.vault.roleID",
    "features.keyManager.vault.secretID",
    "features.credentials.*.*",
}
# Of another namespace, with a warning of its own.
ELSEWHERE = {"features.ceph.secretName"}


def region(features: dict[str, Any], **more: Any) -> OfflineRegion:
    spec = core_spec(features=features, **more)
    return OfflineRegion(InputObject({"spec": spec}, "region.yaml"), deployment(spec), render(spec))


def authority(begin: float = NOW - YEAR, end: float = NOW + YEAR) -> dict[str, str]:
    made = new_authority("corporate", begin, end, FakeRandomness(1))
    return {"tls.crt": made.chain, "tls.key": made.key}


def told(texts: dict[str, str], type_: str | None = "osctl.dev/authority", **more: Any) -> list[str]:
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "stringData": texts}
    secret |= {"metadata": {"name": "corporate-ca", "namespace": "openstack", **more}}
    secret |= {"type": type_} if type_ else {}
    found = list(secret_warnings(region(AUTHORITY), [InputObject(secret, "region.yaml")], NOW))
    assert {problem.path for problem in found} <= {FIELD}
    assert all(problem.remedy for problem in found)
    return [problem.message for problem in found]


def test_an_authority_that_can_sign_is_not_reported() -> None:
    assert told(authority()) == []


@pytest.mark.parametrize("type_", [None, "kubernetes.io/tls"])
def test_an_authority_of_another_type_is_reported(type_: str | None) -> None:
    has = f"Secret corporate-ca has the type {type_ or 'Opaque'}, but must have osctl.dev/authority"
    assert told(authority(), type_) == [has]


def test_an_authority_without_its_key_is_reported() -> None:
    assert told({"tls.crt": authority()["tls.crt"]}) == ["Secret corporate-ca has no key tls.key"]


def test_an_authority_that_cannot_sign_is_reported() -> None:
    [message] = told(authority(end=NOW - 1))
    assert message.startswith("Secret corporate-ca cannot sign: ")
    assert "expired on" in message


def test_a_secret_of_another_namespace_is_another_one() -> None:
    assert told({}, namespace="elsewhere") == []


def missing(there: list[dict[str, Any]], features: dict[str, Any], **more: Any) -> dict[str, str]:
    found = missing_secrets(region(features, **more), made_by(there), ())
    return {problem.path: f"{problem.message}; {problem.remedy}" for problem in found}


def test_a_secret_that_only_the_controller_reads_is_asked_for_with_its_type() -> None:
    assert missing([], AUTHORITY) == {
        FIELD: (
            "Secret corporate-ca (type osctl.dev/authority, keys tls.crt, tls.key; and ca.crt with the "
            "root, unless tls.crt ends with it) is not created by a release, but the controller needs it; "
            "create it: kubectl -n openstack create secret generic corporate-ca "
            "--type=osctl.dev/authority --from-file=tls.crt --from-file=tls.key"
        )
    }
    fencing = {"url": "https://f.example.org/", "tokenFrom": {"name": "fencing", "key": "token"}}
    [(path, message)] = missing([], {"nodes": {"fencing": fencing}}).items()
    assert path == "spec.features.nodes.fencing.tokenFrom"
    assert message.startswith("Secret fencing (key token) is not created by a release")


@pytest.mark.parametrize(
    "made",
    [
        {"kind": "Secret", "metadata": {"name": "corporate-ca"}},
        {"kind": "ExternalSecret", "metadata": {"name": "x"}, "spec": {"target": {"name": "corporate-ca"}}},
        {"kind": "SealedSecret", "metadata": {"name": "corporate-ca"}, "spec": {"encryptedData": {}}},
    ],
    ids=lambda made: str(made["kind"]),
)
def test_a_secret_that_is_there_or_comes_from_a_store_is_not_asked_for(made: dict[str, Any]) -> None:
    assert missing([made], AUTHORITY) == {}


def test_each_field_that_names_a_secret_is_known() -> None:
    known = {".".join(map(str, path)) for path in (*NAMES, *LISTS, *REFERENCES)} | OF_RELEASES | ELSEWHERE
    assert set(_naming(schema().root["properties"]["spec"], ())) == known


def _naming(node: Any, path: tuple[str, ...]) -> list[str]:
    """The fields of a definition that name a Secret."""
    text = ".".join(path).replace(".[]", "[]")
    if node.get("required") == ["name", "key"]:
        return [text]
    last = path[-1] if path else ""
    says = str(node.get("description") or "").startswith("Name of a Secret in the region's namespace")
    if says and node.get("type") == "string":
        return [text]
    if node.get("type") in ("string", "array") and last.lower().endswith(("secret", "secretname", "secrets")):
        return [text]
    found = [one for key, sub in node.get("properties", {}).items() for one in _naming(sub, (*path, key))]
    for key, mark in (("items", "[]"), ("additionalProperties", "*")):
        if isinstance(node.get(key), dict):
            found += _naming(node[key], (*path, mark))
    return found
