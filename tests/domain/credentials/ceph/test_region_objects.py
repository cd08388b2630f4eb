"""Objects of the region are made of a whole offer; what lacks something waits, and nothing else does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller.domain.credentials.ceph.capabilities import is_administrator, lacking
from controller.domain.credentials.ceph.offer import CephOffer, OfferedClient, OfferedPool, Place
from controller.domain.credentials.ceph.region_objects import CephObjects, plan_objects, wider_clients
from controller.domain.credentials.ceph.rook_offer import CLUSTER, parse_rook_offer
from controller.domain.values.ceph_needs import ClientNeed
from tests.domain.credentials.ceph.samples import (
    FSID,
    KEYS,
    ROOK_CLIENTS,
    ROOK_CLUSTER,
    ROOK_MONITORS,
    everything,
    rook_client,
)

NEEDS = everything()


def digest(texts: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def offer(**clients: Mapping[str, str] | None) -> CephOffer:
    return parse_rook_offer(ROOK_CLUSTER, ROOK_MONITORS, {**ROOK_CLIENTS, **clients})


def planned(what: CephOffer, source: Place = CLUSTER) -> CephObjects:
    return plan_objects(NEEDS, what, source, digest)


def test_the_file_names_the_cluster_and_its_monitors() -> None:
    assert planned(offer()).conf == (
        f"[global]\nfsid = {FSID}\nmon_host = [v2:10.96.1.1:3300,v1:10.96.1.1:6789],"
        "[v2:10.96.1.2:3300,v1:10.96.1.2:6789],[v2:10.96.1.3:3300]\n"
    )


def test_each_secret_has_the_bare_key_and_the_keyring() -> None:
    assert planned(offer()).keys["images-rbd-keyring"] == {
        "key": KEYS["glance"],
        "keyring": f"[client.glance]\n    key = {KEYS['glance']}\n",
    }
    assert planned(offer()).keys.keys() == NEEDS.key_secrets.keys()


def test_the_same_offer_gives_the_same_objects() -> None:
    assert planned(offer()) == planned(offer())


def changed(after: CephObjects) -> set[str]:
    before = planned(offer()).digests
    return {consumer for consumer in before if before[consumer] != after.digests.get(consumer)}


def test_a_new_key_concerns_those_who_use_it() -> None:
    assert changed(planned(offer(glance=rook_client("glance", 2)))) == {"glance"}
    assert changed(planned(offer(cinder=rook_client("cinder", 2)))) == {
        "cinder-volume",
        "cinder-backup",
        "libvirt",
        "nova-compute",
    }


def test_a_new_monitor_concerns_all_clients() -> None:
    more = {**ROOK_MONITORS, "data": f"{ROOK_MONITORS['data']},d=10.96.1.4:6789"}
    after = planned(parse_rook_offer(ROOK_CLUSTER, more, ROOK_CLIENTS))
    assert changed(after) == NEEDS.consumers.keys()


def test_who_lacks_a_key_waits_alone() -> None:
    after = planned(offer(cinderbackup=None))
    assert changed(after) == {"cinder-backup"} and "cinder-backup" not in after.digests
    assert "cinder-backup-rbd-keyring" not in after.keys and "cinder-volume-rbd-keyring" in after.keys
    assert [(gap.place.name, gap.secrets) for gap in after.gaps] == [
        ("rook-ceph-client-cinderbackup", frozenset(("cinder-backup-rbd-keyring",)))
    ]


def test_without_monitors_all_wait_and_nothing_is_made() -> None:
    after = planned(parse_rook_offer(ROOK_CLUSTER, {"data": ""}, ROOK_CLIENTS))
    assert (after.conf, after.keys, after.digests) == (None, {}, {})
    assert after.gaps[0].secrets >= {"ceph-consumers", *NEEDS.key_secrets}


def test_an_unneeded_client_may_be_wrong() -> None:
    needs = everything(shares={})
    after = plan_objects(needs, offer(manila={"manila": "no key"}), CLUSTER, digest)
    assert not after.gaps


def with_client(name: str, **capabilities: str) -> list[str]:
    whole = offer()
    clients = {**whole.clients, name: OfferedClient(KEYS[name], capabilities)}
    return [gap.message for gap in planned(replace(whole, clients=clients)).gaps]


def test_an_administrators_key_is_refused() -> None:
    [message] = with_client("cinder", mon="allow *", osd="allow *", mgr="allow *", mds="allow *")
    assert message.startswith(
        "client cinder is an administrator; give it mon 'profile rbd', osd 'profile rbd"
    )


def test_a_client_by_its_whole_name_is_distinguished_from_one_that_is_missing() -> None:
    whole = offer()
    others = {name: client for name, client in whole.clients.items() if name != "glance"}
    assert [gap.message for gap in planned(replace(whole, clients=others)).gaps] == [
        "the offer has no client glance"
    ]
    named = replace(whole, clients={**others, "client.glance": whole.clients["glance"]})
    assert [gap.message for gap in planned(named).gaps] == [
        "the offer has no client glance; leave out client. before its name"
    ]


def wider(name: str, **capabilities: str) -> tuple[str, ...]:
    whole = offer()
    clients = {**whole.clients, name: OfferedClient(KEYS[name], capabilities)}
    return wider_clients(NEEDS, replace(whole, clients=clients))


def test_a_client_that_may_do_more_than_is_needed_is_reported_and_serves() -> None:
    assert with_client("glance", mon="profile rbd", osd="profile rbd") == []
    assert wider("glance", mon="profile rbd", osd="profile rbd") == (
        (
            "client glance has more capabilities than necessary; the client needs mon 'profile "
            "rbd', osd 'profile "
            "rbd pool=images', mgr 'profile rbd pool=images'"
        ),
    )
    assert wider("glance", mon="profile rbd", osd="profile rbd pool=images") == ()
    assert wider("glance") == () and wider("glance", mon="allow *") == ()


def test_capabilities_that_lack_something_are_reported_with_those_that_serve() -> None:
    [message] = with_client("glance", mon="profile rbd", osd="profile rbd pool=other", mgr="profile rbd")
    assert message == (
        "client glance lacks capabilities; the client needs mon 'profile rbd', osd 'profile rbd "
        "pool=images', mgr 'profile rbd pool=images'"
    )


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ((), "the spec names pool images for images, which the offer lacks"),
        ((OfferedPool("images", "vms"),), "pool images is for vms, and the spec uses it for images"),
    ],
)
def test_pools_that_differ_from_the_spec_are_reported(pools: tuple[OfferedPool, ...], message: str) -> None:
    found = [gap.message for gap in planned(replace(offer(), pools=pools)).gaps]
    assert message in found


def test_a_pool_of_another_volume_type_is_reported() -> None:
    pools = tuple(
        OfferedPool(need.name, need.role, "slow" if need.volume_type else "") for need in NEEDS.pools
    )
    assert [gap.message for gap in planned(replace(offer(), pools=pools)).gaps] == [
        "pool volumes is not for the volume type fast"
    ]


@pytest.mark.parametrize(
    ("offered", "enough"),
    [
        ({"osd": "profile rbd pool=a, profile rbd-read-only pool=b"}, True),
        ({"osd": "profile rbd pool=b; profile rbd pool=a"}, True),
        ({"osd": "allow profile rbd pool=a, profile rbd-read-only pool=b"}, True),
        ({"osd": "profile rbd"}, True),
        ({"osd": "profile rbd-read-only pool=a, profile rbd-read-only pool=b"}, False),
        ({"osd": "profile rbd pool=a namespace=x, profile rbd pool=b"}, False),
        ({"osd": "profile rbd pool=a"}, False),
        ({"mon": "profile rbd"}, False),
    ],
)
def test_clauses_are_compared_and_not_texts(offered: Mapping[str, str], enough: bool) -> None:
    needed = {"osd": "profile rbd pool=a, profile rbd-read-only pool=b"}
    assert lacking(needed, offered) is not enough


def test_of_a_manager_only_a_client_without_block_devices_has_to_be_allowed_anything() -> None:
    assert not lacking({"osd": "profile rbd pool=a", "mgr": "profile rbd pool=a"}, {"osd": "profile rbd"})
    assert lacking({"mon": "allow r", "mgr": "allow rw"}, {"mon": "allow r"})


def test_letters_are_compared_one_by_one() -> None:
    needed = {"mon": "allow r", "osd": "allow rwx pool=m"}
    assert not lacking(needed, {"mon": "allow rw", "osd": "allow rwx"})
    assert lacking(needed, {"mon": "allow r", "osd": "allow rw pool=m"})


def test_who_may_do_everything_to_any_daemon_is_an_administrator() -> None:
    assert is_administrator({"mon": "allow r", "osd": "allow *"})
    assert not is_administrator({"mon": "profile rbd", "osd": "profile rbd pool=*"})


@pytest.mark.parametrize("secret", sorted(NEEDS.key_secrets))
def test_an_administrators_key_is_taken_for_no_role(secret: str) -> None:
    needs = replace(
        NEEDS,
        key_secrets={**NEEDS.key_secrets, secret: "admin"},
        clients=(*NEEDS.clients, ClientNeed("admin", {"mon": "allow r"})),
    )
    given = offer(admin=rook_client("admin"))
    found = plan_objects(needs, given, CLUSTER, digest)
    assert secret not in found.keys and found.keys
    messages = [gap.message for gap in found.gaps if secret in gap.secrets]
    assert messages == ["client admin is Ceph's administrator; name another client in the spec"]
