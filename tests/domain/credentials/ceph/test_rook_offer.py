"""What Rook keeps of its cluster is read as it is, or refused with the object that is wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from controller.domain.credentials.ceph.offer import CephOffer
from controller.domain.credentials.ceph.rook_offer import parse_rook_offer
from tests.domain.credentials.ceph.samples import (
    ADMIN_KEY,
    FSID,
    KEYS,
    ROOK_CLIENTS,
    ROOK_CLUSTER,
    ROOK_MONITORS,
    key_of,
    rook_client,
)


def read(
    cluster: Mapping[str, str] | None = ROOK_CLUSTER,
    monitors: Mapping[str, str] | None = ROOK_MONITORS,
    **clients: Mapping[str, str] | None,
) -> CephOffer:
    return parse_rook_offer(cluster, monitors, clients or ROOK_CLIENTS)


def told(offer: CephOffer) -> list[str]:
    return [f"{one.place.kind} {one.place.name}: {one.message}" for one in offer.problems]


def test_all_of_it_is_read() -> None:
    offer = read()
    assert offer.fsid == FSID and not offer.problems
    assert [str(monitor) for monitor in offer.monitors] == [
        "[v2:10.96.1.1:3300,v1:10.96.1.1:6789]",
        "[v2:10.96.1.2:3300,v1:10.96.1.2:6789]",
        "[v2:10.96.1.3:3300]",
    ]
    assert {user: client.key for user, client in offer.clients.items()} == KEYS


def test_monitors_in_another_order_and_another_quorum_are_the_same() -> None:
    moved = {**ROOK_MONITORS, "data": "c=10.96.1.3:3300,a=10.96.1.1:6789,b=10.96.1.2:6789", "outOfQuorum": ""}
    assert read(monitors=moved) == read()


def test_monitors_have_addresses_of_the_sixth_version_too() -> None:
    offer = read(monitors={"data": "a=[2001:db8::1]:6789"})
    assert str(offer.monitors[0]) == "[v2:[2001:db8::1]:3300,v1:[2001:db8::1]:6789]"


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        (None, "the object does not exist; check that this is the namespace of a CephCluster"),
        ({}, 'the Secret has no "fsid"'),
        ({"fsid": "8b1a"}, 'its "fsid" is no UUID'),
    ],
)
def test_without_the_clusters_id_nothing_is_known_of_it(
    cluster: Mapping[str, str] | None, problem: str
) -> None:
    offer = read(cluster=cluster)
    assert told(offer) == [f"Secret rook-ceph-mon: {problem}"]
    assert not offer.monitors


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no monitor"),
        ("a", "does not have the form NAME=ADDRESS:PORT,…"),
        ("a=10.0.0.1:6789,", "does not have the form NAME=ADDRESS:PORT,…"),
        ("a=10.0.0.1:6789,a=10.0.0.2:6789", 'monitor 2 in its "data" repeats a name'),
        ("a=10.0.0.1:6789,b=10.0.0.1:6789", 'monitor 2 in its "data" repeats an address'),
        ("a=10.0.0.1:6789,b=10.0.0.2", 'monitor 2 in its "data" is not an address with a port'),
        ("a=10.0.0.1", "is not an address with a port"),
        ("a=127.0.0.1:6789", "is an address that other machines cannot reach"),
        ("a=0.0.0.0:3300", "is an address that other machines cannot reach"),
        ("a=10.0.0.1:0", "has no port from 1 to 65535"),
        ("a=10.0.0.1:65536", "has no port from 1 to 65535"),
        ("a=10.0.0.1:6789]\nkeyring", "has no port from 1 to 65535"),
        ("a=mon.example.org:6789", "is not an address with a port"),
        ("a=::1:6789", "is not an address with a port"),
        ("a=[fe80::1%eth0]:6789", "is not an address with a port"),
    ],
)
def test_monitors_that_cannot_be_read_leave_nothing_known(text: str, problem: str) -> None:
    offer = read(monitors={"data": text})
    assert len(told(offer)) == 1 and told(offer)[0].startswith("ConfigMap rook-ceph-mon-endpoints: ")
    assert told(offer)[0].endswith(problem) and not offer.monitors and not offer.fsid


def test_no_monitors_at_all_are_reported() -> None:
    assert told(read(monitors=None))[0].startswith(
        "ConfigMap rook-ceph-mon-endpoints: the object does not exist"
    )


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (None, "the Secret does not exist; create CephClient glance"),
        ({}, 'the Secret has neither "glance" nor "userKey"'),
        ({"glance": "", "userKey": ""}, 'the Secret has neither "glance" nor "userKey"'),
        (
            {"glance": key_of("glance"), "userKey": key_of("other")},
            'its "glance" and "userKey" differ',
        ),
        ({"glance": "not a key"}, "its key for glance is not a key of Ceph"),
        ({"glance": key_of("glance")[:-4]}, "its key for glance is only a part of a key of Ceph"),
        ({"glance": "AAAA"}, "its key for glance is not a key of Ceph"),
        ({"glance": "A" * 100_000}, "its key for glance is not a key of Ceph"),
    ],
)
def test_a_client_that_cannot_be_read_is_a_problem_of_its_own(
    texts: Mapping[str, str] | None, problem: str
) -> None:
    offer = read(glance=texts, cinder=ROOK_CLIENTS["cinder"])
    assert told(offer)[0].startswith(f"Secret rook-ceph-client-glance: {problem}")
    assert offer.monitors and offer.clients.keys() == {"cinder"}


def test_secrets_of_older_versions_without_user_key_are_read() -> None:
    assert read(glance={"glance": KEYS["glance"] + "\n"}).clients["glance"].key == KEYS["glance"]


def test_the_administrators_key_is_not_taken() -> None:
    assert ADMIN_KEY not in repr(read()) + str(read().clients)


@pytest.mark.parametrize("entry", ["ceph-secret", "mon-secret", "admin-secret"])
def test_a_client_with_a_key_of_the_administrator_is_refused(entry: str) -> None:
    cluster = {**ROOK_CLUSTER, entry: f"{KEYS['cinder']}\n"}
    offer = read(cluster=cluster)
    assert told(offer) == [
        (
            "Secret rook-ceph-client-cinder: its key for cinder belongs to Ceph's administrator; create a "
            "CephClient"
        )
    ]
    assert "cinder" not in offer.clients and "glance" in offer.clients


def test_a_key_of_two_clients_is_taken_of_neither() -> None:
    offer = read(
        glance={"glance": KEYS["cinder"]}, cinder=ROOK_CLIENTS["cinder"], manila=ROOK_CLIENTS["manila"]
    )
    assert [one.client for one in offer.problems] == ["cinder", "glance"]
    assert "has the same key as another client" in told(offer)[0] and offer.clients.keys() == {"manila"}


def test_no_message_quotes_what_was_read() -> None:
    drawn = random.Random(1)
    for _ in range(300):
        secret = "".join(drawn.choices("AQ=+/:,[]{}\n\"' xyz09", k=drawn.randrange(1, 60)))
        text = f"s3cr3t{secret}"
        offer = read({"fsid": text}, {"data": f"{text}={text}"}, glance={"glance": text})
        assert "s3cr3t" not in "".join(told(offer)) + repr(offer)


def test_a_new_key_is_another_offer_and_the_same_texts_are_the_same() -> None:
    assert read(glance=rook_client("glance")) == read(glance=dict(rook_client("glance")))
    assert read(glance=rook_client("glance")) != read(glance=rook_client("glance", 2))
