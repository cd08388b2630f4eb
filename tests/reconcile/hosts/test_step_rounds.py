"""Who gets nowhere neither holds up others nor makes looks hot; what was removed may come back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.backoff import Pauses
from controller.domain.shared.cloud_facts import MARK, VolumeService
from controller.errors import CloudRefused
from controller.ports.kubernetes import COMPUTE_MAINTENANCE
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.hosts.step_rounds import STEPS_PER_PASS
from tests.fakes.world import FakeClock
from tests.reconcile.node_world import NodeWorld


def hold_down(world: NodeWorld, *hosts: str) -> None:
    """They were evacuated and are back, and their computes do not clean up: Nova keeps them forced down."""
    for host in hosts:
        service = replace(world.cloud.services[host], enabled=False, forced_down=True)
        world.cloud.services[host] = replace(service, reason=f"{MARK}forced down")
        world.cloud.uncleaned.add(host)


def tries(world: NodeWorld, seconds: float) -> tuple[int, int]:
    """Looks and tries to let a host up within so many seconds, as the container would look."""
    counted = {"looks": 0, "tries": 0}

    def count(name: str, subject: str) -> None:
        counted["tries"] += name == "unforce"

    world.cloud.before = count
    end = world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        world.watch()
        world.clock.advance(world.hosts.reconcile())
        counted["looks"] += 1
    return counted["looks"], counted["tries"]


def test_a_step_that_is_refused_again_and_again_is_tried_ever_more_seldom() -> None:
    world = NodeWorld("cmp1", "cmp2", nodes={"maxUnhealthy": "100%"})
    hold_down(world, "cmp1")
    looks, tried = tries(world, 600)
    assert looks <= 62
    assert 10 <= tried <= 25
    world.cloud.before = lambda *_: None
    world.reconcile(1)
    assert world.status("cmp1")["reason"] == "CleanupAwaited"


def test_a_host_that_is_let_up_at_last_is_enabled_within_a_minute() -> None:
    world = NodeWorld("cmp1", "cmp2", nodes={"maxUnhealthy": "100%"})
    hold_down(world, "cmp1")
    tries(world, 600)
    world.cloud.uncleaned.clear()
    world.cloud.services["cmp1"] = replace(world.cloud.services["cmp1"], up=True)
    world.reconcile(8, after=10)
    assert world.cloud.services["cmp1"].enabled


def test_hosts_that_get_nowhere_do_not_starve_one_that_is_cordoned() -> None:
    stuck = [f"a{number:02}" for number in range(2 * STEPS_PER_PASS)]
    world = NodeWorld(*stuck, "z1", nodes={"maxUnhealthy": "100%"})
    hold_down(world, *stuck)
    world.reconcile(1)
    world.cordon("z1")
    world.reconcile(1)
    assert not world.cloud.services["z1"].enabled


@pytest.mark.slow
def test_an_evacuation_that_was_taken_back_makes_no_haste() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3", nodes={"evacuation": "Auto"})
    world.cloud.boot(1, "cmp1", local_disk=True)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.reconcile(5)
    [maintenance] = world.kube.objects("ComputeMaintenance")
    world.kube.delete(COMPUTE_MAINTENANCE, maintenance["metadata"]["name"])
    world.reconcile(10)
    assert tries(world, 120)[0] <= 14
    world.reconcile(1)
    assert "automatic evacuation was deleted" in world.status("cmp1")["message"]


def test_pauses_grow_to_their_bound_and_end_with_success() -> None:
    clock = FakeClock()
    pauses = RetryPauses(clock, Pauses(5, 60))
    waited = []
    for _ in range(8):
        pauses.failed("a")
        began = clock.monotonic()
        while not pauses.over("a"):
            clock.advance(0.5)
        waited.append(clock.monotonic() - began)
    assert 2.5 <= waited[0] <= 5.5 and 30 <= waited[-1] <= 60.5
    pauses.failed("a")
    pauses.succeeded("a")
    assert pauses.over("a") and pauses.over("b")


# -- volume services of hosts that come back


@pytest.fixture
def came_back() -> NodeWorld:
    """cmp1 lost its role and was removed from OpenStack; it has its role and its compute again."""
    world = NodeWorld(*(f"cmp{number}" for number in range(1, 6)))
    world.cloud.volumes = {
        name: VolumeService("cinder-volume", name, enabled=True, up=False)
        for name in ("cmp1@lvm", "cmp2@lvm")
    }
    world.reconcile(2)
    world.edit_node("cmp1", {"metadata": {"labels": {"openstack-compute-node": None}}})
    world.cloud.die("cmp1")
    world.reconcile(8, after=10)
    assert world.cloud.volumes["cmp1@lvm"].reason == f"{MARK}node removed"
    world.edit_node("cmp1", {"metadata": {"labels": {"openstack-compute-node": "enabled"}}})
    world.cloud.add_host("cmp1")
    world.cloud.volumes = {name: replace(one, up=True) for name, one in world.cloud.volumes.items()}
    return world


def test_its_volume_service_is_enabled_again(came_back: NodeWorld) -> None:
    came_back.reconcile(3)
    assert came_back.status("cmp1")["reason"] == "InService"
    assert came_back.cloud.volumes["cmp1@lvm"].enabled


def test_one_that_others_disabled_stays_so(came_back: NodeWorld) -> None:
    volume = came_back.cloud.volumes["cmp2@lvm"]
    came_back.cloud.volumes["cmp2@lvm"] = replace(volume, enabled=False, reason="broken disk")
    came_back.reconcile(3)
    assert came_back.cloud.volumes["cmp2@lvm"].reason == "broken disk"


def test_it_waits_until_its_host_is_in_service(came_back: NodeWorld) -> None:
    came_back.cordon("cmp1")
    came_back.reconcile(3)
    assert not came_back.cloud.volumes["cmp1@lvm"].enabled
    came_back.cordon("cmp1", False)
    came_back.reconcile(3)
    assert came_back.cloud.volumes["cmp1@lvm"].enabled


def test_a_refusal_is_not_asked_for_in_every_look(came_back: NodeWorld) -> None:
    asked = []

    def refuse(name: str, subject: str) -> None:
        if name == "set_volume_service":
            asked.append(subject)
            raise CloudRefused("no", 400)

    came_back.cloud.before = refuse
    came_back.reconcile(30, after=10)
    assert 2 <= len(asked) <= 6
