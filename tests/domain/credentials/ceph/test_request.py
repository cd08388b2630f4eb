"""What a region asks of Ceph is what it needs, in the form of whoever is asked."""

from __future__ import annotations

import pytest
import yaml

from controller.domain.credentials.ceph.offer import Place
from controller.domain.credentials.ceph.request import (
    GatewayUser,
    gateway_texts,
    request_document,
    requested_clients,
    rook_objects,
)
from tests.domain.credentials.ceph.samples import everything

USER = GatewayUser("https://identity.example.org", "swift", "pa: ss'word", "service", "service")


def test_rook_is_asked_for_pools_before_clients() -> None:
    objects = rook_objects(everything())
    assert [(one.place.kind, one.place.name) for one in objects] == [
        ("CephBlockPool", "images"),
        ("CephBlockPool", "volumes"),
        ("CephBlockPool", "backups"),
        ("CephBlockPool", "vms"),
        ("CephBlockPool", "gnocchi.metrics"),
        ("CephClient", "cinder"),
        ("CephClient", "cinderbackup"),
        ("CephClient", "glance"),
        ("CephClient", "gnocchi"),
        ("CephClient", "manila"),
    ]


def test_a_pool_is_asked_for_as_the_spec_wants_pools() -> None:
    pools = {"replicas": 1, "failureDomain": "rack", "deviceClass": "ssd"}
    [first, *_] = rook_objects(everything(pools=pools))
    assert dict(first.spec) == {
        "failureDomain": "rack",
        "replicated": {"size": 1, "requireSafeReplicaSize": False},
        "deviceClass": "ssd",
    }


def test_a_client_is_asked_for_with_the_least_capabilities() -> None:
    specs = {one.place: one.spec for one in rook_objects(everything())}
    caps = {"mon": "profile rbd", "osd": "profile rbd pool=images", "mgr": "profile rbd pool=images"}
    assert specs[Place("CephClient", "glance")] == {"caps": caps}


def test_a_document_has_everything_that_any_cluster_needs_to_know() -> None:
    text = request_document(everything(), "openstack/region-one", USER)
    assert text.startswith("# Written by the OpenStack Controller: what openstack/region-one needs")
    document = yaml.safe_load(text)
    assert document["pools"]["volumes"] == {
        "role": "volumes",
        "volumeType": "fast",
        "application": "rbd",
        "replicas": 3,
        "failureDomain": "host",
    }
    assert document["pools"]["gnocchi.metrics"]["application"] == "gnocchi"
    assert document["clients"]["manila"] == {"caps": {"mon": "allow r", "mgr": "allow rw"}}
    assert document["filesystems"] == {"shared": {"role": "shares"}}
    assert document["rgw"]["url"] == "https://rgw.example.org"
    assert document["rgw"]["keystone"] == {
        "url": "https://identity.example.org",
        "user": "swift",
        "password": "pa: ss'word",
        "project": "service",
        "domain": "service",
        "acceptedRoles": ["admin", "member"],
    }


def test_the_same_needs_give_the_same_document() -> None:
    assert request_document(everything(), "a/b", USER) == request_document(everything(), "a/b", USER)


def test_rooks_gateway_reads_the_user_in_names_of_its_own() -> None:
    texts = gateway_texts(USER)
    assert (texts["OS_USERNAME"], texts["OS_PASSWORD"]) == ("swift", "pa: ss'word")
    assert texts["OS_USER_DOMAIN_NAME"] == texts["OS_PROJECT_DOMAIN_NAME"] == "service"


def test_the_users_password_is_not_shown() -> None:
    assert "ss'word" not in repr(USER)


def test_what_was_asked_before_is_read_back_from_the_document() -> None:
    needs = everything()
    asked = requested_clients(request_document(needs, "a/b", None))
    assert asked == {one.name: dict(one.capabilities) for one in needs.clients}
    assert request_document(needs, "a/b", None, asked) == request_document(needs, "a/b", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "- a",
        "clients: [a]",
        "clients: {a: {caps: [x]}, b: {caps: {osd: 7}}, c: null}",
        "clients: {a: {caps: {mon: allow *}}}",
    ],
)
def test_of_a_document_that_others_edited_only_what_can_be_used_is_read(text: str) -> None:
    assert requested_clients(text) == {}
