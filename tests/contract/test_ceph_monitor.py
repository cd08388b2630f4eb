"""A real monitor of Ceph takes the clients, capabilities and keyrings that are asked for and made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controller.domain.credentials.ceph.offer import Place
from controller.domain.credentials.ceph.own_offer import parse_own_offer
from controller.domain.credentials.ceph.region_objects import CephObjects, plan_objects
from controller.domain.credentials.ceph.request import request_document
from sandbox.ceph import Monitor, ensure_ceph, running_monitor
from sandbox.errors import SandboxError
from tests.domain.credentials.ceph.samples import FSID, everything
from tests.sweeps import swept

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("ceph-monitor")]

NEEDS = everything(source="Secret")
PLACE = Place("Secret", "openstack-ceph")
ADDRESS, LOOPBACK = "192.0.2.1", "127.0.0.1"


@pytest.fixture(scope="module")
def monitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    try:
        programs = ensure_ceph(print)
    except SandboxError as error:
        pytest.skip(str(error))
    with running_monitor(programs, tmp_path_factory.mktemp("ceph"), FSID) as monitor:
        create_clients(monitor)
        yield monitor


def create_clients(monitor: Monitor) -> None:
    """What whoever runs Ceph does with the request."""
    request = yaml.safe_load(request_document(NEEDS, "openstack/region-one", None))
    for user, entry in request["clients"].items():
        caps = [word for pair in entry["caps"].items() for word in pair]
        monitor.ceph("auth", "get-or-create", f"client.{user}", *caps)


@pytest.fixture(scope="module")
def offered(monitor: Monitor) -> CephObjects:
    """What the region makes of the offer of that cluster."""
    clients = {client.name: {"key": key_of(monitor, client.name)} for client in NEEDS.clients}
    # Of a machine that others reach: one on loopback is no offer.
    places = [{"v2": monitor.v2.replace(LOOPBACK, ADDRESS), "v1": monitor.v1.replace(LOOPBACK, ADDRESS)}]
    document = yaml.safe_dump({"fsid": monitor.ceph("fsid").strip(), "monitors": places, "clients": clients})
    offer = parse_own_offer(PLACE, {"ceph.yaml": document})
    planned = plan_objects(
        NEEDS, offer, PLACE, lambda texts: hashlib.sha256(repr(texts).encode()).hexdigest()
    )
    assert planned.gaps == () and planned.conf
    return planned


def key_of(monitor: Monitor, user: str) -> str:
    return monitor.ceph("auth", "get-key", f"client.{user}").strip()


def files_of(offered: CephObjects, secret: str, directory: Path) -> tuple[Path, Path]:
    """The two files as a pod mounts them."""
    conf, keyring = directory / "ceph.conf", directory / "keyring"
    conf.write_text((offered.conf or "").replace(ADDRESS, LOOPBACK))
    keyring.write_text(offered.keys[secret]["keyring"])
    return conf, keyring


def test_every_capability_that_is_asked_for_is_kept_as_it_is(monitor: Monitor) -> None:
    for client in NEEDS.clients:
        [found] = json.loads(monitor.ceph("auth", "get", f"client.{client.name}", "-f", "json"))
        assert found["caps"] == dict(client.capabilities)


def test_capabilities_that_are_none_are_refused(monitor: Monitor) -> None:
    with pytest.raises(SandboxError, match="EINVAL"):
        monitor.ceph("auth", "get-or-create", "client.wrong", "mon", "profil rbd")


@pytest.mark.parametrize("secret", swept(NEEDS.key_secrets, daily=list(NEEDS.key_secrets)[:1]))
def test_each_keyring_and_the_file_beside_it_open_the_cluster(
    monitor: Monitor, offered: CephObjects, secret: str, tmp_path: Path
) -> None:
    conf, keyring = files_of(offered, secret, tmp_path)
    user = NEEDS.key_secrets[secret]
    found = json.loads(monitor.ceph("mon", "dump", "-f", "json", conf=conf, user=user, keyring=keyring))
    assert found["fsid"] == FSID


@pytest.mark.parametrize("secret", swept(NEEDS.key_secrets, daily=list(NEEDS.key_secrets)[:1]))
def test_with_none_of_them_keys_can_be_read_or_made(
    monitor: Monitor, offered: CephObjects, secret: str, tmp_path: Path
) -> None:
    conf, keyring = files_of(offered, secret, tmp_path)
    user = NEEDS.key_secrets[secret]
    for command in (
        ("auth", "get", "client.admin"),
        ("auth", "get-or-create", "client.own", "mon", "allow *"),
    ):
        with pytest.raises(SandboxError, match="EACCES"):
            monitor.ceph(*command, conf=conf, user=user, keyring=keyring)


def test_an_older_key_is_refused_and_the_new_one_is_taken(monitor: Monitor, tmp_path: Path) -> None:
    """What the exchange brings after whoever runs Ceph has replaced a key."""
    before = key_of(monitor, "manila")
    monitor.ceph("auth", "rm", "client.manila")
    create_clients(monitor)
    after = key_of(monitor, "manila")
    assert before != after
    for key, taken in ((before, False), (after, True)):
        keyring = tmp_path / "keyring"
        keyring.write_text(f"[client.manila]\n    key = {key}\n")
        try:
            monitor.ceph("mon", "dump", user="manila", keyring=keyring)
        except SandboxError:
            assert not taken
        else:
            assert taken
