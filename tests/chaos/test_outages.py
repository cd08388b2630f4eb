"""What happens around the container: the API server goes, etcd's state goes back, a second pod comes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.etcd_copies import restore_etcd, save_etcd
from sandbox.fault_proxy import FaultProxy
from sandbox.take_down import take_down
from tests.chaos.world import CONTAINER, World, chaos, wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("outages")]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A control plane that may be broken at will."""
    if request.config.getoption("existing_cluster") is not None:
        pytest.skip("the test kills servers: not on an existing cluster")
    name = f"outages-{secrets.token_hex(3)}"
    directory = tmp_path_factory.mktemp("sandbox") / name
    try:
        yield Sandbox.up(name, directory, private=True, timeout=300)
    finally:
        take_down(name, directory)


@pytest.fixture
def world(box: Sandbox, tmp_path: Path) -> Iterator[World]:
    namespace = f"test-{secrets.token_hex(4)}"
    box.create_namespace(namespace, {})
    with chaos(box, namespace, tmp_path) as world:
        yield world


def away(box: Sandbox, seconds: float) -> None:
    """The API server is killed and comes back so many seconds later."""
    box.kill_component("apiserver")
    due = time.monotonic() + seconds
    wait_for("it is time", lambda: time.monotonic() >= due, seconds + 60, str)
    box.start_component("apiserver")


@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_an_api_server_that_was_away_finds_the_work_going_on(
    box: Sandbox, world: World, seconds: int
) -> None:
    world.apply("red")
    world.wait_ready()
    stop = world.proxy.stop_at(8)
    world.apply("blue")
    wait_for("the upgrade is in its middle", lambda: stop.reached, 240, world.show)
    world.proxy.resume()
    away(box, seconds)
    world.wait_ready()
    world.assert_whole("blue")
    world.apply("green")
    world.wait_ready()
    world.assert_whole("green")


def test_a_state_that_went_back_is_taken_for_what_it_is(box: Sandbox, world: World) -> None:
    """All that the container has seen since never happened, and what comes next is seen at once."""
    world.apply("red")
    world.wait_ready()
    save_etcd(box, "red")
    world.apply("blue")
    world.wait_ready()
    world.apply("green")
    world.wait_ready()
    restore_etcd(box, "red")
    world.proxy.break_connections()
    world.wait_ready()
    world.assert_whole("red")
    world.apply("blue")
    world.wait_ready()
    world.assert_whole("blue")


@pytest.mark.exhaustive
def test_a_state_from_the_middle_of_an_upgrade_comes_back_and_is_finished(box: Sandbox, world: World) -> None:
    world.apply("red")
    world.wait_ready()
    stop = world.proxy.stop_at(10)
    world.apply("blue")
    wait_for("the upgrade is in its middle", lambda: stop.reached, 240, world.show)
    save_etcd(box, "middle")
    world.proxy.resume()
    world.wait_ready()
    world.apply("green")
    world.wait_ready()
    restore_etcd(box, "middle")
    world.proxy.break_connections()
    world.wait_ready()
    world.assert_whole("blue")


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_a_second_pod_writes_nothing_until_the_first_is_gone(
    box: Sandbox, world: World, tmp_path: Path, seconds: int
) -> None:
    # Else the second may be the first that asks for the Lease.
    world.apply("white")
    world.wait_ready()
    with FaultProxy(box) as proxy, world.another_pod(proxy, tmp_path / "second") as second:
        # On a busy machine it takes its time to read its program.
        wait_for("the second pod asks", lambda: proxy.requests, 120, lambda: second.log(CONTAINER))
        due = time.monotonic() + seconds
        colours = _alternating()
        while time.monotonic() < due:
            world.apply(colours())
            world.wait_ready()
        assert proxy.writes() == [], f"the first pod: {world.controllers.log(CONTAINER)[-4000:]}"
        last = colours()
        world.controllers.kill(CONTAINER)
        world.apply(last)
        wait_for("the second pod has done it", world.ready, 240, lambda: second.log(CONTAINER))
        world.assert_whole(last)
        before = len(world.proxy.requests)
        world.controllers.start()
        world.apply("white")
        world.wait_ready()
        world.assert_whole("white")
        came_back = world.proxy.requests[before:]
        assert [str(one) for one in came_back if one.writes and not one.leases] == []


def _alternating() -> Callable[[], str]:
    colours = iter(["red", "blue", "green"] * 1000)
    return lambda: next(colours)
