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
def test_what_its_name_shows_is_refused_with_the_spec(name: str) -> None:
    with pytest.raises(SpecInvalid, match=r"a: Secret .*; name a Secret that is meant for values"):
        find_references({"a": {"$secretRef": {"name": name, "key": "key"}}})


def with_content(content: bytes) -> SecretValues:
    kube = FakeKube()
    meta = {"name": "mine", "namespace": NS}
    data = {"key": base64.b64encode(content).decode()}
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
    return SecretValues(kube, NS)


@pytest.mark.parametrize("content", [b"pass word", b"pass word\n", b"pass word\r\n"])
def test_the_end_that_an_editor_puts_after_one_line_is_no_part_of_it(content: bytes) -> None:
    secrets = with_content(content)
    assert secrets.lookup("mine", "key") == "pass word"
    assert secrets.of_no_release() == {"pass word", content.decode()}


@pytest.mark.parametrize("text", ["a\nb\n", "a\n\n", "a\rb\n", " a "])
def test_any_other_text_is_as_it_was_put_in(text: str) -> None:
    assert with_content(text.encode()).lookup("mine", "key") == text


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_nothing_and_what_is_no_text_count_as_missing(content: bytes) -> None:
    assert with_content(content).lookup("mine", "key") is None
