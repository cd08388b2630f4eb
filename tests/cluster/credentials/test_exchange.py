"""Secrets of stores and of other namespaces, in a region that runs with the rights that the chart grants."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pytest

from sandbox.errors import SandboxError
from tests.cluster.credentials.conftest import OFFERED, RESYNC, SHARED, STORE, Planted
from tests.cluster.region import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("planted"), pytest.mark.timeout(1800)]


def versions(planted: Planted) -> dict[str, int]:
    return {name: version for name, (version, _) in planted.region.revisions().items()}


def wait_upgraded(planted: Planted, before: Mapping[str, int], grown: set[str]) -> None:
    """Until these releases have one revision more, and then for as long as others would have had time."""
    wanted = {name: version + (name in grown) for name, version in before.items()}

    def upgraded() -> bool:
        # One look for both: between two, an upgrade begins, and its revision counts before it is deployed.
        found = planted.region.revisions()
        return all(found[name][0] >= wanted[name] and found[name][1] == "deployed" for name in wanted)

    wait_until(f"{grown} are upgraded", upgraded, 300.0, lambda: str(planted.region.revisions()))
    time.sleep(RESYNC * 3)
    assert planted.region.revisions() == {name: (version, "deployed") for name, version in wanted.items()}


def may(planted: Planted, verb: str, what: str) -> bool:
    region = planted.region
    account = f"--as=system:serviceaccount:{region.namespace}:osctl-{region.namespace}"
    try:
        return "yes" in region.sandbox.kubectl("auth", "can-i", verb, what, "-n", planted.directory, account)
    except SandboxError:
        return False  # kubectl ends with 1 when it says no


def test_a_secret_of_another_namespace_reaches_its_releases_once_for_each_text(planted: Planted) -> None:
    region, directory = planted.region, planted.directory
    offered = planted.texts_of(directory, "metadata")
    assert planted.texts_of(region.namespace, SHARED) == offered
    before = versions(planted)
    planted.offer(directory, "metadata", f"{region.namespace}/{SHARED}", offered)
    text = {"text": planted.plant(SHARED, "text")}
    planted.offer(directory, "metadata", f"{region.namespace}/{SHARED}", text)
    wait_upgraded(planted, before, {"neutron"})
    assert planted.texts_of(region.namespace, SHARED) == text


def test_what_the_region_offers_is_given_and_taken_back(planted: Planted) -> None:
    region, directory = planted.region, planted.directory
    text = {"account": planted.plant(OFFERED, "account")}
    planted.offer(region.namespace, OFFERED, f"{directory}/openstack", text)
    wait_until(
        "it is told that nobody asks",
        lambda: f"{directory}/openstack does not exist" in region.condition("SecretsExchanged")["message"],
    )
    planted.request(directory, "openstack", f"{region.namespace}/{OFFERED}")
    wait_until("it is given", lambda: planted.texts_of(directory, "openstack") == text)
    region.kubectl("delete", "secret", OFFERED)
    wait_until("it is taken back", lambda: planted.texts_of(directory, "openstack") == {})


def test_the_controller_has_the_named_secrets_of_the_other_namespace_and_no_others(planted: Planted) -> None:
    assert may(planted, "get", "secret/metadata") and may(planted, "update", "secret/openstack")
    assert not may(planted, "update", "secret/metadata")
    assert not may(planted, "get", "secret/another")
    assert not may(planted, "list", "secrets") and not may(planted, "create", "secrets")


def definition() -> str:
    """That of External Secrets, as far as its objects own Secrets."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "ExternalSecret", "plural": "externalsecrets", "singular": "externalsecret"}
    return json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "externalsecrets.external-secrets.io"},
            "spec": {
                "group": "external-secrets.io",
                "names": names,
                "scope": "Namespaced",
                "versions": [version],
            },
        }
    )


def test_a_secret_that_a_store_writes_again_changes_nothing_and_another_text_its_release_once(
    planted: Planted,
) -> None:
    region = planted.region
    region.sandbox.kubectl("apply", "-f", "-", input=definition())
    crd = "crd/externalsecrets.external-secrets.io"
    region.sandbox.kubectl("wait", "--for=condition=Established", "--timeout=500s", crd)
    head = {"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret"}
    body = json.dumps({**head, "metadata": {"name": STORE}, "spec": {}})
    owner = json.loads(region.kubectl("create", "-f", "-", "-o", "json", input=body))["metadata"]["uid"]
    owners = [{**head, "name": STORE, "uid": owner, "controller": True}]
    before, texts = versions(planted), planted.texts_of(region.namespace, STORE)

    def refreshed(content: Mapping[str, str], digest: str) -> None:
        notes = {"reconcile.external-secrets.io/data-hash": digest}
        planted.put(region.namespace, STORE, content, annotations=notes, ownerReferences=owners)

    refreshed(texts, "1")
    refreshed({**texts, "another-key": "text"}, "2")
    wait_upgraded(planted, before, set())
    refreshed({"password": planted.plant(STORE, "password")}, "3")
    wait_upgraded(planted, before, {"placement"})
