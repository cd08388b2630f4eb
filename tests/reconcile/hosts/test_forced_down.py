"""What we forced down is let up again, whatever a person did to the service meanwhile; nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.shared.cloud_facts import ComputeService
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, CONFIGMAP, NODE
from tests.reconcile.node_world import NAMESPACE, NodeWorld

pytestmark = pytest.mark.slow


class Killed(BaseException):
    """The process ends in the middle."""


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", nodes={"evacuation": "Auto"})
    world.cloud.boot(2, "cmp1", local_disk=False)
    world.reconcile(2)
    return world


@pytest.fixture
def away(world: NodeWorld) -> NodeWorld:
    """cmp1 is lost, forced down and evacuated."""
    lose(world)
    world.fence("cmp1")
    world.reconcile(15)
    assert service(world).forced_down and remembered(world) == ["cmp1"]
    return world


def lose(world: NodeWorld) -> None:
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(14, after=10)


def service(world: NodeWorld) -> ComputeService:
    return world.cloud.services["cmp1"]


def remembered(world: NodeWorld) -> list[str]:
    return sorted((world.kube.get(CONFIGMAP, "osctl-forced-down-hosts", NAMESPACE) or {}).get("data") or {})


def disable(world: NodeWorld) -> None:
    world.cloud.set_compute_service("service-cmp1", enabled=False, reason="rma 17")


def enable(world: NodeWorld) -> None:
    world.cloud.set_compute_service("service-cmp1", enabled=True)


def force_down(world: NodeWorld) -> None:
    """By a person, with the command's own words."""
    world.cloud.services["cmp1"] = replace(service(world), forced_down=True, up=False)


def come_back(world: NodeWorld) -> None:
    world.set_ready("cmp1", True)
    for _ in ("it cleans up", "it is held down no more", "it reports"):
        world.cloud.restart("cmp1")
        world.reconcile(4, after=10)


@pytest.mark.slow
def test_what_a_person_disabled_meanwhile_is_let_up_and_stays_disabled(away: NodeWorld) -> None:
    disable(away)
    away.reconcile(3)
    come_back(away)
    assert (service(away).forced_down, service(away).enabled) == (False, False)
    assert service(away).reason == "rma 17"
    enable(away)
    away.reconcile(2)
    assert away.status("cmp1")["reason"] == "InService"


@pytest.mark.slow
@pytest.mark.parametrize("evacuating", [True, False])
def test_what_a_person_enabled_meanwhile_serves_again(away: NodeWorld, evacuating: bool) -> None:
    if not evacuating:
        [maintenance] = away.kube.objects("ComputeMaintenance")
        away.kube.delete(COMPUTE_MAINTENANCE, maintenance["metadata"]["name"])
        away.reconcile(3)
    enable(away)
    away.reconcile(3)
    assert not service(away).enabled
    come_back(away)
    assert (service(away).forced_down, service(away).enabled) == (False, True)


def test_it_serves_again_though_a_person_enabled_it_right_before_its_return(away: NodeWorld) -> None:
    enable(away)
    come_back(away)
    assert (service(away).forced_down, service(away).enabled) == (False, True)


@pytest.mark.parametrize("after", [True, False])
def test_it_is_known_to_a_new_process_wherever_the_old_one_was_killed(world: NodeWorld, after: bool) -> None:
    def killed(name: str, host: str) -> None:
        if name == "force_down":
            raise Killed

    lose(world)
    world.fence("cmp1")
    usual = world.cloud.before
    setattr(world.cloud, "after" if after else "before", killed)
    with pytest.raises(Killed):
        world.reconcile(10)
    world.cloud.before = world.cloud.after = usual
    assert service(world).forced_down == after
    disable(world)
    world.clock.advance(3600)
    world.restart()
    world.reconcile(10)
    come_back(world)
    assert (service(world).forced_down, service(world).reason) == (False, "rma 17")


@pytest.mark.slow
def test_it_is_known_though_the_node_object_is_gone(away: NodeWorld) -> None:
    away.cloud.boot(1, "cmp1")
    away.kube.delete(NODE, "cmp1")
    away.restart()
    away.reconcile(80, after=10)
    assert service(away).forced_down and remembered(away) == ["cmp1"]


@pytest.mark.slow
def test_what_a_person_forces_down_after_the_return_stays_down(away: NodeWorld) -> None:
    come_back(away)
    assert service(away).enabled and remembered(away) == []
    force_down(away)
    away.reconcile(10, after=60)
    assert service(away).forced_down


@pytest.mark.slow
def test_so_does_what_a_person_forces_down_while_the_node_is_still_cordoned(away: NodeWorld) -> None:
    away.cordon("cmp1")
    come_back(away)
    assert (service(away).forced_down, service(away).enabled) == (False, False)
    force_down(away)
    away.cordon("cmp1", False)
    away.reconcile(10, after=60)
    assert service(away).forced_down


@pytest.mark.slow
def test_what_a_person_let_up_is_forgotten_and_a_persons_when_forced_down_again(away: NodeWorld) -> None:
    [maintenance] = away.kube.objects("ComputeMaintenance")
    away.kube.delete(COMPUTE_MAINTENANCE, maintenance["metadata"]["name"])
    away.reconcile(3)
    away.cloud.services["cmp1"] = replace(service(away), forced_down=False, reason="rma 17")
    away.reconcile(8, after=60)
    assert remembered(away) == []
    force_down(away)
    come_back(away)
    assert service(away).forced_down


def test_another_service_of_that_host_is_not_the_one_that_we_forced_down(away: NodeWorld) -> None:
    again = replace(service(away), id="another", reason="rma 17")
    away.cloud.services["cmp1"] = again
    come_back(away)
    assert service(away).forced_down


@pytest.mark.slow
def test_what_a_person_had_forced_down_before_its_evacuation_stays_down(world: NodeWorld) -> None:
    force_down(world)
    lose(world)
    world.fence("cmp1")
    world.reconcile(15)
    assert remembered(world) == []
    come_back(world)
    assert service(world).forced_down
