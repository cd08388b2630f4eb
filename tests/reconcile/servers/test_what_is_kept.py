"""What may look like a thing of a server, and is someone's data or address, is neither taken nor deleted."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest

from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.errors import CloudRefused, CloudUnavailable, NotOffered
from controller.ports.kubernetes import SERVER
from tests.reconcile.servers.server_world import NAMESPACE, Killed, ServerWorld, ready

pytestmark = pytest.mark.slow

ROOT: dict[str, Any] = {"rootVolume": {"sizeGiB": 5}}


def _restore(world: ServerWorld) -> CloudResource:
    """A backup of the volume is restored: Cinder gives the new one the name and the metadata as well."""
    copy = replace(world.only(Kind.VOLUME), id="restored", used_by="", status="available", created="999999")
    world.cloud.things[copy.id] = copy
    return copy


def _is_gone(world: ServerWorld) -> bool:
    return world.kube.get(SERVER, "bastion", NAMESPACE) is None


def test_a_restored_backup_outlives_the_object_and_is_named() -> None:
    world = ready(**ROOT)
    _restore(world)
    world.delete()
    world.settle()
    assert _is_gone(world)
    assert list(world.cloud.things) == ["restored"]
    assert world.events.emitted[-1] == ("Warning", "VolumeKept")


def test_a_restored_backup_is_not_taken_for_a_volume_that_is_gone() -> None:
    world = ready(**ROOT)
    _restore(world)
    world.cloud.lose(world.status()["resources"]["volumes"][0]["id"])
    world.settle()
    assert world.status()["resources"]["volumes"][0]["id"] != "restored"
    assert world.cloud.things["restored"].used_by == ""


@pytest.mark.parametrize("change", [{"sshKeyName": "mine"}, {"enabled": False}], ids=["replaced", "disabled"])
@pytest.mark.parametrize("answered", [True, False], ids=["", "without an answer"])
def test_a_restored_backup_outlives_a_server_that_is_made_again(change: Any, answered: bool) -> None:
    world = ready(**ROOT, update="Replace")
    _restore(world)
    world.edit(**change)
    world.settle() if "enabled" in change else world.step()
    lost = [not answered]

    def lose(write: str) -> None:
        if write == "create volume" and lost.pop():
            lost.append(False)
            raise CloudUnavailable("block_storage: ReadTimeout")

    world.cloud.before = lose
    world.edit(enabled=True)
    world.settle()
    assert world.reason() == "ServerReady"
    assert len(world.cloud.of(Kind.VOLUME)) == 2
    assert world.cloud.things["restored"].used_by == ""


def test_a_volume_whose_answer_did_not_come_is_found_beside_a_restored_backup() -> None:
    world = ready(**ROOT, update="Replace")
    _restore(world)

    def die(write: str) -> None:
        if write == "create volume":
            raise Killed

    world.cloud.after = die
    world.edit(sshKeyName="mine")
    with contextlib.suppress(Killed):
        world.settle()
    world.cloud.after = lambda _: None
    world.restart()
    world.delete()
    world.settle()
    assert _is_gone(world)
    assert list(world.cloud.things) == ["restored"]


def test_the_older_one_is_the_servers_where_the_status_was_lost() -> None:
    world = ready(**ROOT)
    own = world.only(Kind.VOLUME).id
    _restore(world)
    world.wipe_status()
    world.settle()
    assert [one["id"] for one in world.status()["resources"]["volumes"]] == [own]
    world.wipe_status()
    world.delete()
    world.settle()
    assert _is_gone(world)
    assert list(world.cloud.things) == ["restored"]


def test_a_lost_status_is_looked_for_until_cinder_answers() -> None:
    world = ready(**ROOT)
    before = world.status()["resources"]
    world.wipe_status()
    marked = world.cloud.marked

    def away(kind: Kind, mark: str, name: str) -> Any:
        if kind == Kind.VOLUME:
            raise CloudUnavailable("block_storage: 503")
        return marked(kind, mark, name)

    world.cloud.marked = away  # type: ignore[method-assign]
    for _ in range(3):
        world.step()
    world.cloud.marked = marked  # type: ignore[method-assign]
    world.settle()
    assert world.status()["resources"] == before


def _absent(world: ServerWorld, *kinds: Kind, error: CloudRefused) -> None:
    marked = world.cloud.marked

    def look(kind: Kind, mark: str, name: str) -> Any:
        if kind in kinds:
            raise error
        return marked(kind, mark, name)

    world.cloud.marked = look  # type: ignore[method-assign]


NO_ENDPOINT = CloudRefused("the catalogue of RegionOne has no public endpoint of a service yet", 404)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_service_that_is_not_in_the_catalogue_is_not_taken_for_having_nothing(kind: Kind) -> None:
    world = ready(**ROOT, trunk=True, floatingIP={"pool": "public"})
    if kind != Kind.VOLUME:
        world.wipe_status()
    _absent(world, kind, error=NO_ENDPOINT)
    world.delete()
    for _ in range(12):
        world.step()
        world.clock.advance(70)
        world.cloud.pass_time()
    assert not _is_gone(world)
    assert world.cloud.of(kind)


def test_a_cloud_without_trunks_has_none_of_a_server() -> None:
    world = ready()
    _absent(world, Kind.TRUNK, error=NotOffered("Neutron of this cloud has no trunks", 404))
    world.delete()
    world.settle()
    assert _is_gone(world)
    assert world.cloud.things == {}


def test_a_cloud_without_block_storage_has_none_of_a_server_that_asks_for_none() -> None:
    world = ready()
    _absent(world, Kind.VOLUME, error=NO_ENDPOINT)
    world.delete()
    world.settle()
    assert _is_gone(world)


def test_a_floating_ip_whose_answer_did_not_come_goes_when_the_spec_has_none_any_more() -> None:
    world = ServerWorld()

    def lose(write: str) -> None:
        if write == "create floating IP":
            raise CloudUnavailable("network: ReadTimeout")

    world.cloud.after = lose
    world.create(floatingIP={"pool": "public"}, update="Replace")
    while not world.cloud.of(Kind.FLOATING_IP):
        world.step()
        world.cloud.pass_time()
    world.edit(floatingIP=None)
    world.settle()
    assert world.cloud.of(Kind.FLOATING_IP) == []
    assert world.reason() == "ServerReady"


RETAINED = {"floatingIP": {"pool": "public", "reclaim": "Retain"}}


@pytest.mark.parametrize("end", ["deleted", "disabled", "replaced"])
def test_a_floating_ip_to_be_kept_is_let_go_of_when_the_spec_has_none_any_more(end: str) -> None:
    world = ready(**RETAINED, update="Replace")
    kept = world.only(Kind.FLOATING_IP)
    world.edit(floatingIP=None)
    world.settle()
    assert world.only(Kind.FLOATING_IP).id == kept.id
    assert world.only(Kind.FLOATING_IP).used_by == ""
    assert world.reason("FloatingIPReady") == "NotRequired"
    if end == "deleted":
        world.delete()
    else:
        world.edit(**({"enabled": False} if end == "disabled" else {"sshKeyName": "mine"}))
        world.settle()
        assert [one.id for one in world.cloud.of(Kind.FLOATING_IP)] == [kept.id]
        world.delete()
    world.settle()
    assert list(world.cloud.things) == [kept.id]


def test_a_floating_ip_that_was_let_go_of_is_not_the_next_one() -> None:
    world = ready(**RETAINED, update="Replace")
    kept = world.only(Kind.FLOATING_IP)
    world.edit(floatingIP=None)
    world.settle()
    world.edit(floatingIP={"pool": "public", "reclaim": "Delete"})
    world.settle()
    assert len(world.cloud.of(Kind.FLOATING_IP)) == 2
    world.edit(floatingIP=None)
    world.settle()
    assert world.only(Kind.FLOATING_IP).id == kept.id
    world.delete()
    world.settle()
    assert list(world.cloud.things) == [kept.id]


def test_a_floating_ip_to_be_kept_is_kept_although_the_server_never_ran_again() -> None:
    world = ready(**RETAINED, update="Replace")
    world.cloud.change(world.only(Kind.SERVER).id, status="SHUTOFF")
    world.edit(floatingIP=None)
    world.settle()
    world.delete()
    world.settle()
    assert [one.kind for one in world.cloud.things.values()] == [Kind.FLOATING_IP]


def test_a_floating_ip_to_be_kept_whose_answer_did_not_come_is_let_go_of() -> None:
    world = ServerWorld()

    def lose(write: str) -> None:
        if write == "create floating IP":
            raise CloudUnavailable("network: ReadTimeout")

    world.cloud.after = lose
    world.create(**RETAINED, update="Replace")
    while not world.cloud.of(Kind.FLOATING_IP):
        world.step()
        world.cloud.pass_time()
    world.edit(floatingIP=None)
    world.settle()
    world.delete()
    world.settle()
    assert [one.kind for one in world.cloud.things.values()] == [Kind.FLOATING_IP]


def test_a_server_that_nova_refuses_keeps_its_reason_and_its_volumes_go_with_it() -> None:
    world = ServerWorld()
    large = {"name": "scratch", "sizeGiB": 50, "storage": {"type": "Local"}}
    world.create(**ROOT, additionalBlockDevices=[large])
    pauses = []
    for _ in range(12):
        pauses.append(world.step() or 1.0)
        world.clock.advance(pauses[-1])
        world.cloud.pass_time()
    assert world.reason() == "CloudRefused" and "Ephemeral disks" in world.condition()["message"]
    assert pauses[-1] > 30
    assert world.events.emitted.count(("Warning", "CloudRefused")) == 1
    world.cloud.ephemeral = 50
    world.settle()
    assert world.reason() == "ServerReady"
    world.delete()
    world.settle()
    assert world.cloud.things == {}


def test_volumes_that_a_refused_request_left_reserved_are_deleted() -> None:
    world = ServerWorld()
    world.cloud.ephemeral = 0
    world.create(**ROOT, additionalBlockDevices=[{"name": "a", "sizeGiB": 1, "storage": {"type": "Local"}}])
    while world.reason("InstanceReady") != "CloudRefused":
        world.step()
        world.cloud.pass_time()
    world.delete()
    world.settle()
    assert world.cloud.things == {} and _is_gone(world)
