"""500 computes behind HTTP: time to plan, requests a minute, memory, with the real adapter and real shapes.

The answering side is in the same process: times and memory are those of both together.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.openstack.client import OpenStackClouds
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.shared.cloud_facts import Agent
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from tests.fakes.cloud_server import CloudServer, served
from tests.reconcile.node_world import NodeWorld

HOSTS = [f"cmp{number:03}" for number in range(500)]
SERVERS, NETWORKS, ROUTERS = 30, 3, 2
MAINTENANCES = 10
# Of a move: as often as it is seen to get on.
MOVES_EVERY = 5.0
# Lists of a pass: services, hypervisors (in three pages of 200), agents, volumes, aggregates.
LISTS = 7
AT_REST = LISTS * 60 / 10 * 1.2
WITH_MAINTENANCES = 1200


class Region:
    """A world whose OpenStack answers over HTTP. Every host has a DHCP agent and an agent of Open vSwitch."""

    def __init__(self, server: CloudServer, world: NodeWorld) -> None:
        self.server = server
        self.world = world
        cloud = world.cloud
        for number, host in enumerate(HOSTS):
            cloud.boot(SERVERS if number < MAINTENANCES else 8, host)
            for short, kind in (("dhcp", "DHCP agent"), ("ovs", "Open vSwitch agent")):
                cloud.agents[f"{short}-{host}"] = Agent(f"{short}-{host}", host, kind, alive=True)
            cloud.on_agents[f"dhcp-{host}"] = [f"net-{host}-{one}" for one in range(NETWORKS)]
        for host in HOSTS[:20]:
            cloud.agents[f"l3-{host}"] = Agent(f"l3-{host}", host, "L3 agent", alive=True)
            cloud.on_agents[f"l3-{host}"] = [f"router-{host}-{one}" for one in range(ROUTERS)]
        world.give_credentials(server.clouds())
        clouds: Any = OpenStackClouds(world.clock, SystemRandomness())
        world.clouds = clouds
        world.restart()

    def reconcile(self) -> None:
        self.world.clock.advance(10)
        self.world.watch()
        self.world.hosts.reconcile()

    def a_minute(self) -> Counter[str]:
        """Every request of one minute, by method and kind, with looks as often as the container has them."""
        world, clock = self.world, self.world.clock
        self.server.requests.clear()
        end, hosts, works, moves = clock.monotonic() + 60, 0.0, 0.0, 0.0
        while clock.monotonic() < end:
            now = clock.monotonic()
            if now >= moves:
                world.cloud.pass_time()
                moves = now + MOVES_EVERY
            if now >= works:
                pause = world.maintenances.reconcile()
                works = now + (60.0 if pause is None else pause)
            if now >= hosts:
                world.watch()
                hosts = now + world.hosts.reconcile()
            clock.advance(0.5)
        return Counter(f"{method} /{path.split('/')[1]}" for method, path in self.server.requests)


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    world = NodeWorld(*HOSTS)
    with served(world.cloud) as server:
        server.page = 200
        yield Region(server, world)


def resident() -> float:
    """MiB of this process that are in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def reported(text: str) -> None:
    sys.stderr.write(f"\n{len(HOSTS)} hosts, over HTTP: {text}\n")


@pytest.mark.slow
def test_looks_cost_memory_only_once(region: Region) -> None:
    before = resident()
    region.reconcile()
    first = resident() - before
    for _ in range(5):
        region.reconcile()
    more = resident() - before - first
    reported(f"{first:.0f} MiB with the first pass, {more:.0f} MiB with five more")
    assert first < 120
    assert more < 30


@pytest.mark.slow
def test_a_dry_run_takes_seconds_and_asks_a_few_questions(region: Region) -> None:
    region.reconcile()
    # What that look found is too old for the plan, which takes one of its own.
    region.world.clock.advance(10)
    region.world.maintain("plan", HOSTS[0], dryRun=True)
    region.server.requests.clear()
    began, busy = time.monotonic(), time.process_time()
    region.world.maintenances.reconcile()
    wall, busy = time.monotonic() - began, time.process_time() - busy
    status, asked = region.world.maintenance("plan"), len(region.server.requests)
    region.world.kube.delete(COMPUTE_MAINTENANCE, "plan")
    reported(f"a plan of {SERVERS} servers: {busy:.2f} s of a core, {wall:.2f} s, {asked} requests")
    assert status["phase"] == "Planned"
    assert (len(status["servers"]), len(status["network"])) == (SERVERS, NETWORKS + ROUTERS)
    # Besides a pass: its servers, with its cell before and after, and its two agents.
    assert asked <= LISTS + 5
    assert busy < 5


@pytest.mark.slow
def test_at_rest_a_minute_costs_few_requests(region: Region) -> None:
    region.reconcile()
    asked = region.a_minute()
    reported(f"at rest {sum(asked.values())} requests a minute: {dict(asked)}")
    assert sum(asked.values()) <= AT_REST
    assert {one.split()[0] for one in asked} == {"GET"}


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_ten_maintenances_cost_a_bounded_number_of_requests(region: Region) -> None:
    for host in HOSTS[:MAINTENANCES]:
        region.world.maintain(f"work-{host}", host, budgets={"nodesPerAggregate": MAINTENANCES})
    for minute in range(2):
        asked = region.a_minute()
        reported(f"ten maintenances, minute {minute + 1}: {sum(asked.values())} requests: {dict(asked)}")
        assert sum(asked.values()) <= WITH_MAINTENANCES
