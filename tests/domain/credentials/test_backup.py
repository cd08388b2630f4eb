"""Which Secrets a backup has, and what restoring it does to those that are there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.credentials.backup import (
    Fate,
    backup_of,
    document_of,
    is_kept,
    parse_backup,
    plan_restore,
)
from controller.errors import BackupUnusable

OURS = {"app.kubernetes.io/managed-by": "openstack-controller"}
AMPHORA = {"osctl.dev/amphora-certificate": "authority", "osctl.dev/service": "load-balancer"}


def secret(name: str = "a", type_: str = "Opaque", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "type": type_, "data": {"key": "dGV4dA=="}}


@pytest.mark.parametrize(
    "kept",
    [
        secret("identity-credentials", labels={**OURS, "osctl.dev/service": "identity"}),
        secret("somebodys"),
        secret("osctl-digest-key", labels=OURS),
        secret(
            "osctl-authority", "osctl.dev/authority", labels={**OURS, "osctl.dev/certificate": "authority"}
        ),
        secret("octavia-client-authority", "osctl.dev/authority", labels={**OURS, **AMPHORA}),
        secret(
            "keystone-credential-keys",
            annotations={"helm.sh/hook": "pre-install", "helm.sh/resource-policy": "keep"},
        ),
        secret("openstack-clouds"),
    ],
    ids=lambda one: one["metadata"]["name"],
)
def test_what_nothing_makes_again_is_kept(kept: dict[str, Any]) -> None:
    assert is_kept(kept)


@pytest.mark.parametrize(
    "other",
    [
        secret("sh.helm.release.v1.nova.v1", "helm.sh/release.v1"),
        secret("default-token", "kubernetes.io/service-account-token"),
        secret("nova-etc", labels={"app.kubernetes.io/managed-by": "Helm"}),
        secret("nova-db-init", annotations={"helm.sh/hook": "post-install"}),
        secret("from-a-store", ownerReferences=[{"kind": "ExternalSecret"}]),
        secret("ceph-consumers", labels={**OURS, "osctl.dev/exchange": "ceph"}),
        secret("nova-tls-api", labels={**OURS, "osctl.dev/certificate": "leaf"}),
        secret("octavia-amphora-certs", "osctl.dev/authority", labels={**OURS, **AMPHORA}),
        secret("openstack-clouds", labels=OURS),
        secret("openstack-reader", labels=OURS),
        secret("of-another-namespace", annotations={"osctl.dev/copied-from": "a/b"}),
        secret("going", deletionTimestamp="2026-03-01T09:00:00Z"),
    ],
    ids=lambda one: one["metadata"]["name"],
)
def test_what_is_made_again_is_not(other: dict[str, Any]) -> None:
    assert not is_kept(other)


def test_what_was_written_is_read() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "all of it", "mine": "yes"}
    there = {
        **secret("b", annotations=applied, labels={"l": "1"}, uid="u", resourceVersion="5"),
        "immutable": True,
    }
    taken = backup_of("openstack", "2026-03-01T09:00:00Z", [there, secret("a")])
    assert parse_backup(document_of(taken)) == taken
    first, second = taken.secrets
    assert (first.name, second.name) == ("a", "b")
    assert second.body("other") == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "b", "namespace": "other", "labels": {"l": "1"}, "annotations": {"mine": "yes"}},
        "type": "Opaque",
        "data": {"key": "dGV4dA=="},
        "immutable": True,
    }


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b'{"namespace": "a", "taken": "b", "secrets": [5]}',
        json.dumps(
            {"namespace": "a", "taken": "b", "secrets": [{"name": "planted", "data": {"a": 5}}]}
        ).encode(),
    ],
)
def test_another_document_is_refused_and_not_quoted(document: bytes) -> None:
    with pytest.raises(BackupUnusable) as refused:
        parse_backup(document)
    assert "planted" not in str(refused.value)


def live(**data: str) -> dict[str, Any]:
    return {**secret(), "data": data}


@pytest.mark.parametrize(
    ("there", "overwrite", "fate", "keys"),
    [
        (None, (), Fate.CREATED, ("one", "two")),
        (live(one="MQ==", two="Mg=="), (), Fate.SAME, ()),
        (live(one="MQ==", two="Mg==", more="Mw=="), (), Fate.SAME, ()),
        (live(one="MQ=="), (), Fate.COMPLETED, ("two",)),
        (live(one="MQ==", two=""), (), Fate.COMPLETED, ("two",)),
        (live(one="MQ==", two="Mw=="), (), Fate.DIFFERS, ("two",)),
        (live(two="Mw=="), ("a",), Fate.OVERWRITTEN, ("one", "two")),
        (live(two="Mw=="), ("b",), Fate.DIFFERS, ("two",)),
        ({**live(one="MQ==", two="Mg=="), "type": "kubernetes.io/tls"}, ("a",), Fate.DIFFERS, ("one", "two")),
    ],
)
def test_what_differs_stays_unless_it_is_named(
    there: dict[str, Any] | None, overwrite: tuple[str, ...], fate: Fate, keys: tuple[str, ...]
) -> None:
    kept = backup_of("openstack", "", [live(one="MQ==", two="Mg==")]).secrets
    (step,) = plan_restore(kept, {"a": there} if there else {}, overwrite)
    assert (step.fate, step.keys) == (fate, keys)


@pytest.mark.parametrize(
    ("there", "overwrite", "fate", "keys"),
    [
        ({"one": "MQ=="}, (), Fate.SAME, ()),
        ({"one": "Mg=="}, (), Fate.DIFFERS, ("account-suffix", "one")),
        ({"one": "Mg=="}, ("a",), Fate.OVERWRITTEN, ("account-suffix", "one")),
        ({}, (), Fate.DIFFERS, ("account-suffix",)),
        ({}, ("a",), Fate.OVERWRITTEN, ("account-suffix", "one")),
    ],
)
def test_passwords_from_before_a_rotation_come_with_the_names_that_they_are_for(
    there: dict[str, str], overwrite: tuple[str, ...], fate: Fate, keys: tuple[str, ...]
) -> None:
    """A Secret that was never rotated has no account-suffix, which is as if it were empty."""
    kept = backup_of("openstack", "", [live(one="MQ==")]).secrets
    now = live(**{"account-suffix": "LTI=", **there})
    (step,) = plan_restore(kept, {"a": now}, overwrite)
    assert (step.fate, step.keys) == (fate, keys)
    assert fate == Fate.SAME or step.secret.data["account-suffix"] == ""


def test_what_was_never_rotated_gets_no_account_suffix() -> None:
    kept = backup_of("openstack", "", [live(one="MQ==")]).secrets
    (step,) = plan_restore(kept, {"a": live(one="Mg==")}, ("a",))
    assert step.keys == ("one",)
