"""Killed at any write, a process leaves one server with one set of ports, and nothing of a deleted one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from controller.domain.servers.cloud_resources import Kind
from controller.ports.kubernetes import SERVER
from tests.reconcile.servers.server_world import NAMESPACE, Killed, ServerWorld

pytestmark = pytest.mark.slow

SPEC: dict[str, Any] = {
    "ports": [{"network": {"filter": {"name": "net0"}}}, {"network": {"filter": {"name": "net0"}}}],
    "trunk": True,
    "rootVolume": {"sizeGiB": 5},
    "floatingIP": {"pool": "public"},
}
WHOLE = {Kind.PORT: 2, Kind.TRUNK: 2, Kind.VOLUME: 1, Kind.SERVER: 1, Kind.FLOATING_IP: 1}


class Death:
    """Kills at the so manieth moment before or after a write, in Kubernetes or in the cloud."""

    def __init__(self, world: ServerWorld, at: int) -> None:
        self.at = at
        self.count = 0
        world.cloud.before = world.cloud.after = self.moment
        world.kube.before_write = world.kube.after_write = self.moment

    def moment(self, *_: Any) -> None:
        self.count += 1
        if self.at and self.count >= self.at:
            raise Killed


def _revive(world: ServerWorld) -> None:
    """The next process, some seconds later."""
    Death(world, 0)
    world.restart()
    world.clock.advance(5.0)
    world.cloud.pass_time()


def _run(at: int, then: Callable[[ServerWorld], None] = lambda _: None) -> tuple[ServerWorld, int]:
    world = ServerWorld()
    world.create(**SPEC)
    death = Death(world, at)
    try:
        world.settle()
        then(world)
    except Killed:
        pass
    count = death.count
    _revive(world)
    return world, count


MOMENTS = _run(0)[1]


def test_there_are_moments_to_be_killed_at() -> None:
    assert MOMENTS > 30


@pytest.mark.parametrize("at", range(1, MOMENTS + 1))
def test_one_set_of_everything_comes_of_it_whenever_the_process_is_killed(at: int) -> None:
    world, _ = _run(at)
    world.settle()
    assert world.reason() == "ServerReady"
    assert {kind: len(found) for kind, found in world.things().items()} == WHOLE
    assert world.status()["instanceID"] == world.only(Kind.SERVER).id


@pytest.mark.parametrize("at", range(1, MOMENTS + 1))
def test_nothing_is_left_whenever_the_object_is_deleted(at: int) -> None:
    world, _ = _run(at)
    world.delete()
    world.settle()
    assert world.cloud.things == {}
    assert world.kube.get(SERVER, "bastion", NAMESPACE) is None


def _delete(world: ServerWorld) -> None:
    world.delete()
    world.settle()


@pytest.mark.parametrize("after", range(1, 45))
def test_nothing_is_left_when_the_process_is_killed_while_it_deletes(after: int) -> None:
    world, _ = _run(MOMENTS + after, _delete)
    if world.kube.get(SERVER, "bastion", NAMESPACE) is not None:
        if not world.live()["metadata"].get("deletionTimestamp"):
            world.delete()
        world.settle()
    assert world.cloud.things == {}
    assert world.kube.get(SERVER, "bastion", NAMESPACE) is None


@pytest.mark.parametrize("at", range(1, MOMENTS + 1, 3))
def test_a_replacement_that_is_killed_ends_with_one_set_and_the_same_address(at: int) -> None:
    world = ServerWorld()
    world.create(**SPEC, update="Replace")
    world.settle()
    floating = world.only(Kind.FLOATING_IP).id
    world.edit(sshKeyName="mine")
    Death(world, at)
    with contextlib.suppress(Killed):
        world.settle()
    _revive(world)
    world.settle()
    assert {kind: len(found) for kind, found in world.things().items()} == WHOLE
    assert world.only(Kind.FLOATING_IP).id == floating
    server = world.cloud.bodies[world.only(Kind.SERVER).id]["server"]
    assert server["key_name"] == "mine"


def test_a_request_that_is_carried_out_after_its_process_is_gone_is_not_sent_again() -> None:
    world = ServerWorld()
    world.create()
    create = world.cloud.create
    late: list[tuple[Kind, Any]] = []

    def hold(kind: Kind, body: Any) -> Any:
        if kind == Kind.SERVER and not late:
            late.append((kind, body))
            raise Killed
        return create(kind, body)

    world.cloud.create = hold  # type: ignore[method-assign]
    with contextlib.suppress(Killed):
        world.settle()
    world.restart()
    for _ in range(3):
        world.step()
        world.clock.advance(10.0)
    create(*late[0])
    world.settle()
    assert world.reason() == "ServerReady"
    assert world.status()["instanceID"] == world.only(Kind.SERVER).id
