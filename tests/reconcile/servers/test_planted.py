"""Another project may write our mark into its own things: none is waited for, deleted or used."""

from __future__ import annotations

import pytest

from controller.domain.servers.cloud_resources import CloudResource, Kind, mark_of
from controller.errors import CloudRefused
from controller.ports.kubernetes import SERVER
from tests.reconcile.servers.server_world import NAMESPACE, ServerWorld, ready

PLANTED = "planted"


def plant(world: ServerWorld, kind: Kind = Kind.PORT, name: str = "x") -> None:
    """Of a stranger, and such that its deletion is refused: Neutron says so of the port of a router."""
    mark = frozenset({mark_of(world.live()["metadata"]["uid"])})
    created = "2020-01-01T00:00:00Z"
    world.cloud.things[PLANTED] = CloudResource(
        kind, PLANTED, name=name, status="ACTIVE", marks=mark, created=created, project="stranger"
    )
    world.cloud.bodies[PLANTED] = {"trunk": {"port_id": "of the stranger"}}
    delete = world.cloud.delete

    def refuse(one: CloudResource) -> None:
        if one.id == PLANTED:
            raise CloudRefused("it cannot be deleted directly", 409)
        delete(one)

    world.cloud.delete = refuse  # type: ignore[method-assign]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_deletion_ends_whatever_a_stranger_has_marked(kind: Kind) -> None:
    world = ready(floatingIP={"pool": "public"}, trunk=True, rootVolume={"sizeGiB": 1})
    plant(world, kind)
    world.delete()
    world.settle()
    assert world.kube.get(SERVER, "bastion", NAMESPACE) is None
    assert list(world.cloud.things) == [PLANTED]


def test_a_replacement_ends_whatever_a_stranger_has_marked() -> None:
    world = ready(update="Replace")
    before = world.status()["instanceID"]
    plant(world)
    world.edit(sshKeyName="other")
    world.settle()
    assert world.reason() == "ServerReady" and world.status()["instanceID"] != before
    assert PLANTED in world.cloud.things


@pytest.mark.parametrize("kind", [Kind.PORT, Kind.VOLUME, Kind.TRUNK, Kind.FLOATING_IP])
def test_nothing_of_a_stranger_is_taken_up(kind: Kind) -> None:
    world = ServerWorld()
    world.create(floatingIP={"pool": "public"}, trunk=True, rootVolume={"sizeGiB": 1})
    name = {Kind.VOLUME: "bastion-root", Kind.FLOATING_IP: ""}.get(kind, "bastion-0")
    plant(world, kind, name)
    world.settle()
    assert world.reason() == "ServerReady"
    used = [one["id"] for listed in world.status()["resources"].values() for one in listed]
    assert len(used) == 5 and PLANTED not in used


def test_a_volume_that_was_handed_to_another_project_is_no_longer_ours() -> None:
    world = ready(rootVolume={"sizeGiB": 1})
    volume = world.only(Kind.VOLUME)
    world.cloud.change(volume.id, project="stranger", used_by="", status="available")
    world.delete()
    world.settle()
    assert list(world.cloud.things) == [volume.id]


def test_a_port_is_of_the_credentials_project_whatever_its_further_fields_say() -> None:
    more = [
        {"name": "a", "key": "project_id", "value": "stranger"},
        {"name": "b", "key": "dns_name", "value": "x"},
    ]
    world = ready(ports=[{"network": {"filter": {"name": "net0"}}, "valueSpecs": more}])
    port = world.cloud.bodies[world.only(Kind.PORT).id]["port"]
    assert "project_id" not in port and port["dns_name"] == "x"
