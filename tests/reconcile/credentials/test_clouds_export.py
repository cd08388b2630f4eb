"""The region's clouds.yaml is exported, follows the credentials, and an operator's own is left alone."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from controller.ports.kubernetes import HELMBUNDLE, OSDPL, SECRET
from tests.reconcile.credentials.test_secrets import NS, REGION, Bed

CLOUDS = "openstack-clouds"
REFERENCE = {"$secretRef": {"name": "identity-credentials", "key": "admin-password"}}


def put_keystone(bed: Bed, **values: Any) -> None:
    identity = {"auth": {"admin": {"region_name": "RegionOne", "password": REFERENCE}}, **values}
    release = {
        "name": "keystone",
        "chart": {"name": "keystone"},
        "values": {"endpoints": {"identity": identity}, "secrets": {"tls": {"ca": "region-ca"}}},
    }
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "identity"}
    meta = {"name": "identity", "namespace": NS, "labels": labels}
    body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
    bed.kube.create({**body, "spec": {"releases": [release]}})


def cloud(bed: Bed) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(bed.texts(CLOUDS)["clouds.yaml"])["clouds"]["default"]
    return found


@pytest.fixture
def bed() -> Bed:
    bed = Bed()
    put_keystone(bed)
    bed.reconcile()
    return bed


def test_it_has_the_password_that_was_made_and_no_owner(bed: Bed) -> None:
    assert cloud(bed)["auth"]["password"] == bed.texts("identity-credentials")["admin-password"]
    secret = bed.secret(CLOUDS)
    assert secret and "ownerReferences" not in secret["metadata"]


def test_it_has_a_password_as_the_values_have_it_without_the_end_of_its_line(bed: Bed) -> None:
    secret = bed.secret("identity-credentials") or {}
    text = base64.b64encode(b"from an editor\n").decode()
    bed.kube.replace({**secret, "data": {**secret["data"], "admin-password": text}})
    bed.reconcile()
    assert cloud(bed)["auth"]["password"] == "from an editor"


def test_an_owner_of_an_earlier_version_is_taken_off(bed: Bed) -> None:
    """With a region that is lost it would be collected, and no one could reach OpenStack until it is back."""
    owner = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "name": REGION, "uid": "1"}
    patch = {"metadata": {"ownerReferences": [owner]}}
    bed.kube.merge_patch(SECRET, CLOUDS, NS, patch)
    bed.edit(mode="Paused")
    bed.reconcile()
    secret = bed.secret(CLOUDS)
    assert secret and "ownerReferences" not in secret["metadata"]


def test_it_goes_with_the_region_once_its_bundles_have_gone(bed: Bed) -> None:
    bed.kube.merge_patch(OSDPL, REGION, NS, {"metadata": {"finalizers": ["core.osctl.dev/finalizer"]}})
    bed.kube.delete(OSDPL, REGION, NS)
    bed.reconcile()
    assert bed.secret(CLOUDS)
    bed.kube.delete(HELMBUNDLE, "identity", NS)
    bed.reconcile()
    assert bed.secret(CLOUDS) is None


def test_the_status_keeps_what_is_there_while_a_plan_waits(bed: Bed) -> None:
    """Also what is exported, and what people have made; a Secret that comes later has no entry yet."""
    own = {"identity": {"database-password": {"name": "mine", "key": "password"}}}
    bed.put_secret("mine", {"password": "of mine"})
    bed.edit(features={"credentials": own}, **{"with": ["identity"]})
    bed.reconcile()
    before = bed.region()["status"]["secrets"]
    assert before.keys() == {"identity-credentials", "database-credentials", "mine", CLOUDS}
    bed.kube.delete(SECRET, "database-credentials", NS)
    bed.reconcile()
    bed.edit(mode="Plan", **{"with": ["database", "identity"]})
    bed.reconcile()
    assert bed.condition()["message"].startswith("2 of 3 Secrets are in place")
    there = {name: before[name] for name in ("identity-credentials", "mine", CLOUDS)}
    assert bed.region()["status"]["secrets"] == there


def test_nothing_is_exported_before_keystone_is_asked_for() -> None:
    bed = Bed()
    bed.reconcile()
    assert bed.secret(CLOUDS) is None


def test_a_second_look_writes_nothing(bed: Bed) -> None:
    bed.kube.forget_requests()
    bed.restarted().reconcile((NS, REGION))
    assert not bed.kube.writes


def test_it_follows_a_rotated_password_and_says_when(bed: Bed) -> None:
    before = bed.region()["status"]["secrets"][CLOUDS]
    secret = bed.secret("identity-credentials")
    assert secret
    bed.kube.replace({**secret, "data": {**secret["data"], "admin-password": "YW5vdGhlcg=="}})
    bed.clock.advance(60)
    bed.reconcile()
    after = bed.region()["status"]["secrets"][CLOUDS]
    assert cloud(bed)["auth"]["password"] == "another"
    assert after["digest"] != before["digest"] and after["rotated"] != before["rotated"]
    assert "another" not in str(after)


def test_an_operators_own_is_used_and_not_touched() -> None:
    bed = Bed()
    bed.put_secret(CLOUDS, {"clouds.yaml": "mine"})
    put_keystone(bed)
    bed.reconcile()
    assert bed.texts(CLOUDS) == {"clouds.yaml": "mine"}
    assert bed.region()["status"]["secrets"][CLOUDS]["keys"] == ["clouds.yaml"]


def test_an_encrypted_keystone_waits_for_its_authority_and_brings_it_along() -> None:
    bed = Bed()
    put_keystone(bed, scheme={"default": "https"})
    bed.reconcile()
    assert bed.secret(CLOUDS) is None
    assert 'the Secret waits for ca.crt of Secret "region-ca"' in bed.condition()["message"]
    bed.put_secret("region-ca", {"ca.crt": "-----BEGIN CERTIFICATE-----"})
    bed.reconcile()
    assert bed.texts(CLOUDS)["ca.crt"] == "-----BEGIN CERTIFICATE-----"
    assert cloud(bed)["cacert"] == "/etc/openstack/ca.crt"
    assert bed.condition()["status"] == "True"


def test_deleted_by_hand_it_comes_back(bed: Bed) -> None:
    bed.kube.delete(SECRET, CLOUDS, NS)
    bed.reconcile()
    assert cloud(bed)["region_name"] == "RegionOne"


def test_a_spec_that_is_only_planned_exports_nothing() -> None:
    bed = Bed(mode="Plan")
    bed.put_secret("identity-credentials", {"admin-password": "there already"})
    put_keystone(bed)
    bed.reconcile()
    assert bed.secret(CLOUDS) is None
