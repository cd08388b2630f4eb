"""The fencing service is asked for a few nodes at a time, with its own credentials, and in turn."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from controller.ports.kubernetes import SECRET
from controller.reconcile.hosts.fencing import ASKED, WITHIN
from tests.reconcile.node_world import NAMESPACE, NodeWorld

HOSTS = [f"cmp{number}" for number in range(8)]


def lost(**fencing: Any) -> NodeWorld:
    """All hosts are lost, and wait for fencing."""
    features = {
        "evacuation": "Auto",
        "maxUnhealthy": "100%",
        "fencing": {"url": "https://fencing", **fencing},
    }
    world = NodeWorld(*HOSTS, nodes=features)
    for host in HOSTS:
        world.cloud.boot(1, host, local_disk=False)
    world.reconcile(2)
    for host in HOSTS:
        world.set_ready(host, False)
        world.cloud.die(host)
    world.reconcile(14, after=10)
    world.fencing.asked.clear()
    return world


@pytest.mark.slow
def test_a_few_are_asked_for_in_each_look_and_all_in_turn() -> None:
    world = lost()
    world.reconcile(1)
    assert len(world.fencing.asked) == ASKED
    world.reconcile(2)
    assert set(world.fencing.asked) == set(HOSTS)


def test_a_slow_service_is_asked_once_in_a_look() -> None:
    world = lost()
    quick = world.fencing.confirm

    def slow(url: str, **more: Any) -> bool:
        world.clock.advance(WITHIN + 1)
        return quick(url, **more)

    world.fencing.confirm = slow  # type: ignore[method-assign]
    world.reconcile(1)
    assert len(world.fencing.asked) == 1


@pytest.mark.slow
def test_an_answer_to_an_absence_that_is_over_is_none() -> None:
    world = lost()
    quick = world.fencing.confirm

    def slow(url: str, *, node: str, **more: Any) -> bool:
        world.set_ready(node, True)
        world.set_ready(node, False)
        return quick(url, node=node, **more)

    world.fencing.confirm = slow  # type: ignore[method-assign]
    world.fencing.off |= set(HOSTS)
    world.reconcile(1)
    assert all("fenced" not in world.notes(host) for host in HOSTS)


def put_secret(world: NodeWorld) -> None:
    data = {"token": b"s3\n", "ca.crt": b"CERTIFICATE"}
    meta = {"name": "fencing", "namespace": NAMESPACE}
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    world.kube.create({"apiVersion": "v1", "kind": SECRET.kind, "metadata": meta, "data": encoded})


@pytest.mark.slow
def test_its_token_and_authority_come_from_secrets() -> None:
    world = lost(
        tokenFrom={"name": "fencing", "key": "token"}, authorityFrom={"name": "fencing", "key": "ca.crt"}
    )
    put_secret(world)
    world.reconcile(1)
    assert set(world.fencing.tokens) == {"s3"}
    assert set(world.fencing.authorities) == {b"CERTIFICATE"}


@pytest.mark.slow
@pytest.mark.parametrize("key", ["token", "another"])
def test_without_its_token_the_service_is_not_asked(key: str) -> None:
    world = lost(tokenFrom={"name": "fencing", "key": key})
    if key == "another":
        put_secret(world)
    world.reconcile(3)
    assert world.fencing.asked == []
    reported = {world.status(host)["message"] for host in HOSTS}
    assert any(f'the Secret "fencing" has no key "{key}"' in one for one in reported)
