"""A region needs of Ceph the pools that its spec names, and clients with no more than serves."""

from __future__ import annotations

import pytest

from controller.domain.credentials.ceph.capabilities import lacking
from controller.domain.values.ceph_needs import CephNeeds, PoolNeed
from controller.errors import SpecInvalid
from tests.domain.credentials.ceph.samples import EVERYWHERE, everything, needs_of
from tests.render.region import core_spec, deployment

ROOK = {"source": "Rook", "namespace": "rook-ceph"}


def test_a_region_without_an_exchange_needs_nothing() -> None:
    assert needs_of(None, image={"backends": [{"name": "rbd", "type": "ceph"}]}) is None


def test_an_exchange_that_no_service_uses_needs_neither_pools_nor_clients() -> None:
    needs = needs_of(ROOK)
    assert needs and (needs.pools, needs.clients, needs.consumers) == ((), (), {})


def test_every_service_has_its_pool() -> None:
    assert everything().pools == (
        PoolNeed("images", "images"),
        PoolNeed("volumes", "volumes", "fast"),
        PoolNeed("backups", "backup"),
        PoolNeed("vms", "vms"),
        PoolNeed("gnocchi.metrics", "metrics"),
    )


def test_every_client_may_do_what_its_service_does_and_no_more() -> None:
    assert {client.name: dict(client.capabilities) for client in everything().clients} == {
        "cinder": {
            "mon": "profile rbd",
            "osd": "profile rbd pool=volumes, profile rbd pool=vms, profile rbd-read-only pool=images",
            "mgr": "profile rbd pool=volumes, profile rbd pool=vms",
        },
        "cinderbackup": {
            "mon": "profile rbd",
            "osd": "profile rbd pool=backups",
            "mgr": "profile rbd pool=backups",
        },
        "glance": {
            "mon": "profile rbd",
            "osd": "profile rbd pool=images",
            "mgr": "profile rbd pool=images",
        },
        "gnocchi": {"mon": "allow r", "osd": "allow rwx pool=gnocchi.metrics"},
        "manila": {"mon": "allow r", "mgr": "allow rw"},
    }


def test_a_hypervisor_has_the_key_of_volumes_and_never_an_administrators() -> None:
    needs = everything()
    assert needs.key_secrets["pvc-ceph-client-key"] == needs.key_secrets["cinder-volume-rbd-keyring"]
    assert "admin" not in needs.key_secrets.values()


def test_the_pods_of_a_consumer_are_made_from_the_keys_that_they_mount() -> None:
    assert everything().consumers == {
        "glance": ("images-rbd-keyring",),
        "cinder-volume": ("cinder-volume-rbd-keyring",),
        "cinder-backup": ("cinder-volume-rbd-keyring", "cinder-backup-rbd-keyring"),
        "libvirt": ("pvc-ceph-client-key",),
        "nova-compute": ("pvc-ceph-client-key",),
        "gnocchi": ("gnocchi-rbd-keyring",),
        "manila-share": ("manila-keyring",),
    }


def test_several_stores_in_ceph_are_pools_of_one_client() -> None:
    stores = [
        {"name": "fast", "type": "ceph", "ceph": {"pool": "ssd", "user": "disks"}},
        {"name": "slow", "type": "ceph", "ceph": {"pool": "hdd", "user": "disks"}},
    ]
    needs = needs_of(ROOK, blockStorage={"backends": stores})
    assert needs and [client.name for client in needs.clients] == ["disks"]
    assert needs.clients[0].capabilities["osd"] == "profile rbd pool=ssd, profile rbd pool=hdd"


def problems_of(**stores: str) -> str:
    backends = [{"name": name, "type": "ceph", "ceph": {"user": user}} for name, user in stores.items()]
    with pytest.raises(SpecInvalid) as refused:
        deployment(core_spec(features={"ceph": ROOK, "blockStorage": {"backends": backends}}))
    return str(refused.value)


def test_stores_of_two_users_are_refused_where_libvirt_knows_one_key() -> None:
    assert "spec.features.blockStorage.backends[1].ceph.user: all stores of a region share one user" in (
        problems_of(fast="one", slow="two")
    )


def test_the_administrator_is_refused_as_the_user_of_a_store() -> None:
    assert ("is Ceph's administrator, and the key of the administrator must not be in a pod") in problems_of(
        fast="admin"
    )


def test_shares_in_cephfs_without_an_exchange_are_refused() -> None:
    with pytest.raises(SpecInvalid, match="needs an exchange"):
        deployment(core_spec(features={"ceph": {"shares": {"filesystem": "shared"}}}))


OWN_ROLES = ("glance", "cinder", "cinderbackup", "gnocchi", "manila")


def users_of(backup: str = "cinderbackup", metrics: str = "gnocchi", volumes: str = "cinder") -> CephNeeds:
    storage = {
        "backends": [{"name": "fast", "type": "ceph", "ceph": {"pool": "volumes", "user": volumes}}],
        "backup": {"enabled": True, "driver": "ceph", "conf": {"backup_ceph_user": backup}},
    }
    features = {**EVERYWHERE, "blockStorage": storage, "metering": {"gnocchi": {"user": metrics}}}
    needs = needs_of({**ROOK, "shares": {"filesystem": "shared"}}, **features)
    assert needs
    return needs


@pytest.mark.parametrize(
    ("role", "other"),
    [(role, user) for role in ("backup", "metrics", "volumes") for user in OWN_ROLES],
)
def test_a_user_in_two_roles_may_do_what_both_need(role: str, other: str) -> None:
    alone = {client.name: client.capabilities for client in users_of().clients}
    own = {"backup": "cinderbackup", "metrics": "gnocchi", "volumes": "cinder"}[role]
    found = {client.name: client.capabilities for client in users_of(**{role: other}).clients}
    assert not lacking(alone[own], found[other]) and not lacking(alone[other], found[other])
    assert {**alone, **found}.keys() == alone.keys()
    for kind, text in found[other].items():
        assert set(text.split(", ")) == {
            clause for one in (own, other) for clause in alone[one].get(kind, "").split(", ") if clause
        }
