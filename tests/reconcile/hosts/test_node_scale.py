"""500 computes: time to look and to plan, requests, memory."""

from __future__ import annotations

import sys
import time
import tracemalloc

import pytest

from tests.fakes.cloud import READS
from tests.reconcile.node_world import NodeWorld

HOSTS = 500
SERVERS = 10


@pytest.fixture(scope="module")
def world() -> NodeWorld:
    world = NodeWorld(*(f"cmp{number:03}" for number in range(HOSTS)))
    for host in world.cloud.services:
        world.cloud.boot(SERVERS, host)
    world.reconcile(2)
    return world


def requests_per_minute(world: NodeWorld) -> float:
    """Requests to OpenStack of a minute of passes."""
    world.cloud.calls.clear()
    began = world.clock.monotonic()
    while world.clock.monotonic() - began < 60:
        world.clock.advance(world.hosts.reconcile())
        world.maintenances.reconcile()
    return len(world.cloud.calls) / (world.clock.monotonic() - began) * 60


@pytest.mark.slow
def test_a_minute_of_looks_costs_few_requests_whatever_the_number_of_hosts(world: NodeWorld) -> None:
    rate = requests_per_minute(world)
    sys.stderr.write(f"{rate:.0f} requests a minute for {HOSTS} hosts\n")
    assert rate <= 40
    assert {name for name, _ in world.cloud.calls} <= READS


@pytest.mark.slow
def test_a_look_is_quick_and_small(world: NodeWorld) -> None:
    world.clock.advance(60)
    tracemalloc.start()
    began = time.process_time()
    world.hosts.reconcile()
    took = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    sys.stderr.write(f"a pass at {HOSTS} hosts: {took:.2f} s traced, {peak / 2**20:.1f} MiB at the peak\n")
    assert took < 10
    assert peak < 60 * 2**20


@pytest.mark.slow
def test_ten_maintenances_at_once_keep_to_the_budgets_and_to_few_requests(world: NodeWorld) -> None:
    for number in range(10):
        world.maintain(f"work{number}", f"cmp{number:03}", budgets={"nodesPerAggregate": 10})
    most = 0
    for _ in range(25):
        world.clock.advance(3)
        world.cloud.pass_time()
        world.cloud.calls.clear()
        world.maintenances.reconcile()
        # The looks at hosts, one list for each node, and a few for each server under way.
        assert len(world.cloud.calls) <= 5 + 10 + 3 * 8 + 3 * 8 + 60
        most = max(most, sum(bool(one.task) for one in world.cloud.hosted.values()))
    assert most == 8
