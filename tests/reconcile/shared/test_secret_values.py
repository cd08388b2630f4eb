"""What a spec may name of the Secrets in its namespace, and what it may not."""

from __future__ import annotations

import base64

import pytest

from controller.domain.values.secret_refs import find_references
from controller.errors import SecretReserved, SpecInvalid
from controller.reconcile.shared.secret_values import SecretValues
from tests.fakes.kube import FakeKube

NS = "openstack"


def values_of(name: str, type_: str) -> SecretValues:
    kube = FakeKube()
    kube.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": NS},
            "type": type_,
            "data": {"key": base64.b64encode(b"hidden").decode()},
        }
    )
    return SecretValues(kube, NS)


def test_a_secret_that_was_made_for_values_is_read() -> None:
    assert values_of("mine", "Opaque").lookup("mine", "key") == "hidden"


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("sh.helm.release.v1.keystone.v1", "helm.sh/release.v1"),
        ("another-name", "helm.sh/release.v1"),
        ("token", "kubernetes.io/service-account-token"),
        ("osctl-digest-key", "Opaque"),
    ],
)
def test_records_tokens_and_our_own_key_are_not(name: str, type_: str) -> None:
    secrets = values_of(name, type_)
    with pytest.raises(SecretReserved, match=name) as caught:
        secrets.lookup(name, "key")
    assert "hidden" not in str(caught.value)
    assert secrets.referenced({"a": {"$secretRef": {"name": name, "key": "key"}}}) == frozenset()


@pytest.mark.parametrize("name", ["sh.helm.release.v1.keystone.v1", "osctl-digest-key"])
def test_what_its_name_tells_is_refused_with_the_spec(name: str) -> None:
    with pytest.raises(SpecInvalid, match=r"a: Secret .*; name a Secret that was made for values"):
        find_references({"a": {"$secretRef": {"name": name, "key": "key"}}})
