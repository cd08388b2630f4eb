"""A confirmation that a machine is off is void for good once anything shows that it was on since."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.domain.hosts.fencing_confirmation import Confirmation, machine_of
from controller.errors import CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, POD
from controller.reconcile.maintenance.compute_silence import QUIET
from tests.reconcile.node_world import COMPUTE, NodeWorld, fail

pytestmark = pytest.mark.slow


@pytest.fixture
def world() -> NodeWorld:
    """The machine of cmp1 is lost, and the first of its 12 servers are being evacuated on a person's word."""
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", compute={"images": {"backend": "ceph"}})
    world.cloud.boot(12, "cmp1", local_disk=False)
    world.set_condition("cmp1", "True", boot="first")
    world.reconcile(2)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.cloud.die("cmp1")
    world.reconcile(3)
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.reconcile(6)
    assert 0 < evacuations(world) < 12
    return world


def evacuations(world: NodeWorld) -> int:
    return sum(name == "evacuate" for name, _ in world.cloud.writes)


def reason(world: NodeWorld) -> str:
    return str(world.maintenance("work")["conditions"][0]["reason"])


def boots(world: NodeWorld) -> None:
    world.set_condition("cmp1", "False", boot="second")


def boots_before_it_was_missed(world: NodeWorld) -> None:
    """Its kubelet speaks again before Kubernetes has noticed that it was silent."""
    status = world.node("cmp1")["status"]
    status = {**status, "nodeInfo": {"bootID": "second"}}
    world.kube.replace({**world.node("cmp1"), "status": status}, subresource="status")


def speaks(world: NodeWorld) -> None:
    world.set_condition("cmp1", "False", boot="first")


def speaks_with_a_clock_far_behind(world: NodeWorld) -> None:
    then = "1970-01-01T00:01:00Z"
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": then, "lastHeartbeatTime": then}]
    status = {**world.node("cmp1")["status"], "conditions": conditions}
    world.kube.replace({**world.node("cmp1"), "status": status}, subresource="status")


def was_ready_and_is_lost_again(world: NodeWorld) -> None:
    world.set_condition("cmp1", "True", boot="first")
    world.clock.advance(1)
    world.set_condition("cmp1", "Unknown", boot="first")


def joins_anew(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.reconcile()
    world.add_node("cmp1")
    world.set_condition("cmp1", "False")


def boots_without_its_role(world: NodeWorld) -> None:
    world.edit_node("cmp1", {"metadata": {"labels": {COMPUTE: None}}})
    boots(world)


def ran_under_another_name(world: NodeWorld) -> None:
    world.clock.advance(10)
    world.add_node("renamed1", **{"kubernetes.io/hostname": "cmp1"})
    world.set_condition("renamed1", "False")


PROOFS = (
    boots,
    boots_before_it_was_missed,
    speaks,
    speaks_with_a_clock_far_behind,
    was_ready_and_is_lost_again,
    joins_anew,
    boots_without_its_role,
    ran_under_another_name,
)


@pytest.mark.parametrize("proof", PROOFS)
def test_no_further_server_is_evacuated_once_the_machine_shows_that_it_was_on(
    world: NodeWorld, proof: Callable[[NodeWorld], None]
) -> None:
    proof(world)
    begun = evacuations(world)
    world.reconcile(30)
    assert evacuations(world) == begun
    assert reason(world) == "FencingAwaited"


def test_the_word_lives_on_in_a_new_process(world: NodeWorld) -> None:
    world.restart()
    boots(world)
    begun = evacuations(world)
    world.reconcile(30)
    assert evacuations(world) == begun


@pytest.mark.slow
@pytest.mark.parametrize("again", ["osctl node fenced", "spec.fenced"])
def test_a_word_on_the_new_absence_lets_it_go_on(world: NodeWorld, again: str) -> None:
    boots(world)
    world.reconcile(10)
    world.set_condition("cmp1", "Unknown", boot="second")
    world.reconcile(2)
    if again == "spec.fenced":
        patch = {"spec": {"fenced": world.confirmed("cmp1")}}
        world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, patch)
    else:
        world.fence("cmp1")
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


@pytest.mark.slow
def test_a_node_that_only_falls_silent_or_is_removed_is_still_off(world: NodeWorld) -> None:
    world.kube.delete(NODE, "cmp1")
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


@pytest.mark.slow
def test_what_said_false_when_the_word_was_given_may_fall_silent() -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3", compute={"images": {"backend": "ceph"}})
    world.cloud.boot(12, "cmp1", local_disk=False)
    world.set_condition("cmp1", "False", boot="first")
    world.cloud.die("cmp1")
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.reconcile(5)
    world.set_condition("cmp1", "Unknown", boot="first")
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


# -- whole stories


def lost(**features: Any) -> NodeWorld:
    """cmp1 with 3 servers is lost: its machine is silent, and no one knows why."""
    features = {"nodes": {"evacuation": "Auto"}, "compute": {"images": {"backend": "ceph"}}, **features}
    world = NodeWorld("cmp1", "cmp2", "cmp3", "cmp4", **features)
    world.cloud.boot(3, "cmp1", local_disk=False)
    world.set_condition("cmp1", "True", boot="first")
    world.reconcile(2)
    falls_silent(world)
    return world


def falls_silent(world: NodeWorld) -> None:
    world.set_condition("cmp1", "Unknown")
    world.cloud.die("cmp1")


def confirm(world: NodeWorld, by: str) -> None:
    if by == "maintenance":
        world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    else:
        world.fence("cmp1")


def harm(world: NodeWorld) -> int:
    return sum(name in ("evacuate", "force_down") for name, _ in world.cloud.writes)


WORDS = ("maintenance", "node")


@pytest.mark.slow
@pytest.mark.parametrize("by", WORDS)
@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("boot", ["second", "first"])
def test_a_confirmation_is_not_for_a_later_absence(by: str, watched: bool, boot: str) -> None:
    """It was given while OpenStack was away; the machine came back, was started again or not, and is lost."""
    world = lost()
    world.cloud.before = fail()
    confirm(world, by)
    world.reconcile(5)
    world.cloud.before = lambda *_: None
    world.set_condition("cmp1", "True", boot=boot)
    world.cloud.report("cmp1")
    world.clock.advance(7200)
    if watched:
        world.reconcile(20)
    falls_silent(world)
    world.restart()
    world.reconcile(60, after=10)
    assert harm(world) == 0
    assert world.status("cmp1")["reason"] in ("FencingAwaited", "InMaintenance")
    assert "fenced" not in world.notes("cmp1")


@pytest.mark.slow
@pytest.mark.parametrize("by", WORDS)
@pytest.mark.parametrize("watched", [True, False])
def test_a_confirmation_is_void_once_the_compute_reported(by: str, watched: bool) -> None:
    """Its kubelet is broken, and no one hears it; its servers run."""
    world = lost(nodes={"evacuation": "Auto", "holdDown": "1h"})
    world.cloud.report("cmp1")
    world.reconcile(1)
    confirm(world, by)
    world.reconcile(2)
    world.cloud.report("cmp1")
    if watched:
        world.reconcile(5)
    world.cloud.die("cmp1")
    world.restart()
    world.reconcile(60, after=100)
    assert harm(world) == 0


@pytest.mark.slow
@pytest.mark.parametrize("by", WORDS)
def test_a_compute_that_reports_while_it_is_held_down_ends_its_evacuation(by: str) -> None:
    world = lost()
    world.cloud.boot(20, "cmp1", local_disk=False)
    confirm(world, by)
    while not evacuations(world):
        world.reconcile(1, after=10)
    world.reconcile(3)
    begun = evacuations(world)
    assert begun < 23
    for _ in range(10):
        # Nova calls one that is forced down so, whatever it reports.
        world.cloud.report("cmp1")
        world.reconcile(4)
    assert evacuations(world) <= begun + 2


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"reason": "being checked"}, {"forced_down": False}], ids=repr)
def test_anothers_change_of_a_compute_that_is_held_down_hides_no_report(
    world: NodeWorld, change: dict[str, Any]
) -> None:
    """Between the same two passes: Nova's notes tell only that something was written."""
    begun = evacuations(world)
    world.cloud.report("cmp1")
    service = world.cloud.services["cmp1"]
    world.cloud.services["cmp1"] = replace(service, up=False, **change)
    world.reconcile(20)
    assert evacuations(world) == begun
    assert "has changed since then, and may have reported" in reported(world)


@pytest.mark.slow
@pytest.mark.parametrize("by", WORDS)
def test_a_confirmation_given_before_nova_has_noticed_holds(by: str) -> None:
    """Nova calls a compute up for a minute after its last report; we disable it meanwhile."""
    world = lost()
    world.cloud.services["cmp1"] = replace(world.cloud.services["cmp1"], up=True)
    confirm(world, by)
    world.reconcile(15, after=10)
    assert harm(world) == 0
    world.cloud.die("cmp1")
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


@pytest.mark.slow
def test_no_clock_decides_whether_a_machine_was_on() -> None:
    """It was fenced, and booted with its clock far behind; pods that hang there are left, too."""
    world = lost()
    world.reconcile(20, after=10)
    world.fence("cmp1")
    then = "2020-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": then, "lastHeartbeatTime": then}
    status = {"conditions": [ready], "nodeInfo": {"bootID": "second"}}
    world.kube.replace({**world.node("cmp1"), "status": status}, subresource="status")
    meta = {"name": "mariadb-0", "namespace": "openstack", "finalizers": ["x/y"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": "cmp1"}}
    world.kube.create(pod)
    world.kube.delete(POD, "mariadb-0", "openstack")
    world.kube.requests.clear()
    world.reconcile(60, after=10)
    assert harm(world) == 0
    assert not [one for one in world.kube.requests if (one.verb, one.name) == ("delete", "mariadb-0")]


@pytest.mark.slow
def test_a_confirmation_for_a_node_that_was_ready_is_void() -> None:
    """With its kubelet's last word unchanged: the network broke a moment later, and no one looked."""
    world = lost()
    world.set_condition("cmp1", "True")
    world.cloud.report("cmp1")
    named = world.confirmed("cmp1")
    falls_silent(world)
    world.annotate("cmp1", fenced="/".join(list(named.values())[:4]))
    world.reconcile(60, after=10)
    assert harm(world) == 0 and world.status("cmp1")["reason"] == "FencingAwaited"


@pytest.mark.slow
def test_what_was_void_stays_so_when_it_is_written_again() -> None:
    """As by a tool that keeps a cluster as its files say."""
    world = lost()
    confirm(world, "maintenance")
    given = (world.kube.get(COMPUTE_MAINTENANCE, "work") or {})["spec"]["fenced"]
    world.reconcile(1)
    world.cloud.report("cmp1")
    world.reconcile(3)
    world.cloud.die("cmp1")
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": given, "retries": 5}})
    world.restart()
    world.reconcile(30)
    assert evacuations(world) <= 2
    assert "no longer valid: the compute service has reported" in reported(world)


def reported(world: NodeWorld) -> str:
    return str(world.maintenance("work")["conditions"][0]["message"])


def test_a_node_that_appears_while_openstack_is_away_makes_a_confirmation_void() -> None:
    world = lost()
    world.kube.delete(NODE, "cmp1")
    world.reconcile(5)
    world.cloud.before = fail()
    confirm(world, "maintenance")
    world.reconcile(2)
    world.add_node("cmp1")
    world.reconcile(5, after=20)
    world.kube.delete(NODE, "cmp1")
    world.restart()
    world.cloud.before = lambda *_: None
    world.reconcile(30)
    assert evacuations(world) == 0 and "a Node has had that name" in reported(world)


@pytest.mark.slow
@pytest.mark.parametrize("by", WORDS)
def test_a_report_while_the_controller_was_down_makes_a_confirmation_void(by: str) -> None:
    """Whatever is looked at first afterwards, its host or its maintenance."""
    world = lost(nodes={"evacuation": "Auto", "holdDown": "1h"})
    world.reconcile(2)
    confirm(world, by)
    world.cloud.report("cmp1")
    world.cloud.die("cmp1")
    world.restart()
    world.reconcile(50, after=100)
    assert harm(world) == 0


@pytest.mark.slow
@pytest.mark.parametrize("meanwhile", ["none", "another", "no maintenance"])
def test_what_was_void_stays_so_when_it_is_given_again(meanwhile: str) -> None:
    """As by a tool that goes back to an earlier file."""
    world = lost(nodes={"evacuation": "Never"})
    world.reconcile(2)
    confirm(world, "maintenance")
    given = (world.kube.get(COMPUTE_MAINTENANCE, "work") or {})["spec"]["fenced"]
    world.cloud.report("cmp1")
    world.reconcile(2)
    assert "void" in world.maintenance("work")["fenced"]
    if meanwhile == "no maintenance":
        world.kube.delete(COMPUTE_MAINTENANCE, "work")
    else:
        other = world.confirmed("cmp1") if meanwhile == "another" else None
        world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": other}})
        world.cloud.report("cmp1")
    world.reconcile(3)
    world.cloud.die("cmp1")
    if meanwhile == "no maintenance":
        world.maintain("work", "cmp1", mode="Evacuate", fenced=given)
    else:
        world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": given}})
    world.restart()
    world.reconcile(30)
    assert harm(world) == 0


@pytest.mark.slow
def test_what_was_void_stays_so_although_we_changed_the_service_ourselves_meanwhile() -> None:
    """A disable and a force-down of ours hide the report from whoever compares what Nova has written."""
    world = lost(nodes={"evacuation": "Never"})
    world.reconcile(2)
    confirm(world, "maintenance")
    given = (world.kube.get(COMPUTE_MAINTENANCE, "work") or {})["spec"]["fenced"]
    assert given["lastReport"]
    while evacuations(world) == 0:
        world.reconcile()
    world.cloud.report("cmp1")
    world.reconcile(3)
    begun = evacuations(world)
    assert "void" in world.maintenance("work")["fenced"]
    world.kube.delete(COMPUTE_MAINTENANCE, "work")
    world.reconcile(3)
    world.maintain("work", "cmp1", mode="Evacuate", fenced=given)
    world.restart()
    world.reconcile(30)
    assert evacuations(world) == begun


@pytest.mark.slow
def test_a_report_after_our_own_force_down_makes_a_confirmation_on_the_node_void() -> None:
    """It was given while OpenStack was away; what the Node says of its compute is from before that change."""
    world = lost(nodes={"evacuation": "Never"})
    world.cloud.boot(20, "cmp1", local_disk=False)
    world.reconcile(2)
    confirm(world, "maintenance")
    while not any(name == "force_down" for name, _ in world.cloud.writes):
        world.reconcile()
    begun = harm(world)
    world.cloud.before = fail()
    boots(world)
    falls_silent(world)
    world.fence("cmp1")
    world.reconcile(3)
    world.cloud.report("cmp1")
    world.cloud.die("cmp1")
    world.cloud.before = lambda *_: None
    world.reconcile(30, after=10)
    assert harm(world) == begun
    assert "fenced" not in world.notes("cmp1")


@pytest.mark.parametrize("by", WORDS)
def test_one_that_was_given_before_anything_was_noted_of_the_compute_is_void(by: str) -> None:
    """It may have reported between that and the first look. Given again, there is something to compare."""
    world = lost()
    if by == "node":
        world.fence("cmp1", noted=False)
    else:
        given = world.confirmed("cmp1")
        assert "lastReport" not in given
        world.maintain("work", "cmp1", mode="Evacuate", fenced=given)
    world.cloud.report("cmp1")
    world.cloud.die("cmp1")
    world.reconcile(60)
    assert harm(world) == 0
    assert by == "node" or "the compute service was not known" in reported(world)
    if by == "node":
        world.fence("cmp1")
    else:
        patch = {"spec": {"fenced": world.confirmed("cmp1")}}
        world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, patch)
    world.reconcile(60)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


def test_one_on_the_node_is_of_the_report_that_was_noted_at_a_look() -> None:
    """It is written later: the compute has reported meanwhile, which is noted by then."""
    world = lost()
    world.reconcile(2)
    looked = world.notes("cmp1")["last-compute-report"]
    machine = machine_of(world.node("cmp1"))
    world.cloud.report("cmp1")
    world.reconcile(2)
    world.cloud.die("cmp1")
    world.annotate("cmp1", fenced=Confirmation(machine, report=looked).written())
    world.reconcile(60, after=10)
    assert harm(world) == 0 and "fenced" not in world.notes("cmp1")


@pytest.mark.slow
def test_one_that_was_taken_back_while_the_compute_reported_is_void_when_it_is_given_again() -> None:
    world = lost(nodes={"evacuation": "Never"})
    confirm(world, "maintenance")
    given = (world.kube.get(COMPUTE_MAINTENANCE, "work") or {})["spec"]["fenced"]
    world.cloud.services["cmp1"] = replace(world.cloud.services["cmp1"], up=True)
    world.reconcile(1)
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": None}})
    world.reconcile(2)
    world.cloud.report("cmp1")
    world.reconcile(2)
    world.cloud.die("cmp1")
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, {"spec": {"fenced": given}})
    world.restart()
    world.reconcile(30)
    assert harm(world) == 0


def test_no_pod_is_freed_on_the_word_of_a_watch_that_is_late() -> None:
    """The machine is back, and the watch has not reported that yet."""
    world = lost()
    world.reconcile(20, after=10)
    world.fence("cmp1")
    world.reconcile(3)
    meta = {"name": "mariadb-0", "namespace": "openstack", "finalizers": ["x/y"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": "cmp1"}}
    world.kube.create(pod)
    world.kube.delete(POD, "mariadb-0", "openstack")
    world.clock.advance(100)
    world.watch()
    world.set_condition("cmp1", "True", boot="second")
    world.kube.requests.clear()
    world.hosts.reconcile()
    assert not [one for one in world.kube.requests if (one.verb, one.name) == ("delete", "mariadb-0")]


@pytest.mark.slow
def test_a_machine_whose_node_is_gone_is_evacuated_once_that_is_confirmed() -> None:
    world = lost()
    world.reconcile(3)
    world.kube.delete(NODE, "cmp1")
    world.reconcile(5)
    confirm(world, "maintenance")
    world.reconcile(5)
    # Nothing was known of its compute then, and now the maintenance tells.
    assert "the compute service was not known" in reported(world)
    patch = {"spec": {"fenced": world.confirmed("cmp1")}}
    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, patch)
    world.reconcile(40)
    assert all(one.host != "cmp1" for one in world.cloud.hosted.values())


# -- our own changes, and what they might hide


@pytest.mark.parametrize("by", WORDS)
def test_a_report_after_our_own_change_and_before_the_next_pass_makes_a_confirmation_void(by: str) -> None:
    world = lost(quiet=QUIET)
    confirm(world, by)
    while not world.cloud.services["cmp1"].forced_down:
        world.reconcile(1)
    world.cloud.report("cmp1")
    world.restart()
    world.reconcile(40)
    assert evacuations(world) == 0


@pytest.mark.parametrize("by", WORDS)
def test_a_kill_after_a_change_of_ours_leaves_a_void_confirmation(by: str) -> None:
    """The service was not read back: no one knows whether it reported."""
    world = lost()
    confirm(world, by)

    def dies() -> None:
        world.cloud.before = fail()

    while not world.cloud.services["cmp1"].forced_down:
        world.cloud.after = lambda name, _: dies() if name == "force_down" else None
        world.reconcile(1)
    world.cloud.before = lambda *_: None
    world.restart()
    world.reconcile(30)
    assert evacuations(world) == 0


@pytest.mark.parametrize("by", WORDS)
def test_a_change_of_ours_that_took_long_hides_no_report(by: str) -> None:
    world = lost()
    confirm(world, by)
    world.cloud.after = lambda name, _: world.clock.advance(60) if name == "force_down" else None
    while not world.cloud.services["cmp1"].forced_down:
        world.reconcile(1)
    world.reconcile(30)
    assert evacuations(world) == 0


@pytest.mark.parametrize("by", WORDS)
def test_a_report_in_the_second_of_our_own_change_shows_with_the_next_one(by: str) -> None:
    """Nova notes whole seconds: nothing is evacuated before one that runs would have reported again."""
    world = lost(quiet=QUIET)
    confirm(world, by)
    while not world.cloud.services["cmp1"].forced_down:
        world.reconcile(1)
    world.reconcile(2, after=5)
    world.cloud.report("cmp1")
    world.reconcile(40)
    assert evacuations(world) == 0


@pytest.mark.parametrize("by", WORDS)
def test_a_machine_that_stays_silent_is_evacuated_after_it_was_watched(by: str) -> None:
    world = lost(quiet=QUIET)
    confirm(world, by)
    while not world.cloud.services["cmp1"].forced_down:
        world.reconcile(1)
    forced = world.clock.monotonic()
    while not evacuations(world):
        assert world.clock.monotonic() - forced < 2 * QUIET
        world.reconcile(1)
    assert world.clock.monotonic() - forced >= QUIET


def test_a_new_process_watches_again(world: NodeWorld) -> None:
    """It has not seen itself that the compute is silent."""
    world.quiet = QUIET
    world.restart()
    begun = evacuations(world)
    world.reconcile(5)
    assert evacuations(world) == begun
    world.reconcile(20)
    assert evacuations(world) > begun


# -- by chance


# Of the first few, half come to an evacuation. 84: a confirmation on the Node, and a report after our own
# force-down, while OpenStack is away. The next eight: a report between our own change of the compute service
# and the next pass. The last four: a confirmation from before anything was noted of its compute.
FEW = (*range(12), 84, 206, 281, 466, 536, 854, 857, 975, 1068, 169, 272, 606, 1081)
MORE = [pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1500) if seed not in FEW]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*FEW, *MORE])
def test_nothing_is_evacuated_from_a_machine_that_was_on_since_it_was_confirmed_to_be_off(seed: int) -> None:
    draw = random.Random(seed)
    world = lost(quiet=QUIET)
    off = False

    def check(name: str, _: str) -> None:
        if away:
            raise CloudUnavailable("503")
        assert off or name not in ("evacuate", "force_down"), " ".join(done)

    away, done = False, []
    world.cloud.before = check
    for _ in range(40):
        event = draw.choice(
            (
                "look",
                "look",
                "look",
                "word",
                "maintain",
                "return",
                "boot",
                "speak",
                "report",
                "lose",
                "away",
                "restart",
            )
        )
        done.append(event)
        if event == "look":
            world.reconcile(draw.choice((1, 3, 15)), after=draw.choice((3, 30)))
        elif event == "away":
            away = not away
        elif event == "restart":
            world.restart()
        elif event == "lose":
            falls_silent(world)
        elif event in ("word", "maintain"):
            # Whoever says so has looked; who looks does not say so of one that is there.
            if machine_of(world.node("cmp1")).ready != "True":
                world.cloud.die("cmp1")
                off = True
                if event == "word":
                    world.fence("cmp1", noted=False)
                elif world.kube.get(COMPUTE_MAINTENANCE, "work") is None:
                    world.maintain("work", "cmp1", mode="Evacuate", fenced=world.confirmed("cmp1"))
                else:
                    patch = {"spec": {"fenced": world.confirmed("cmp1")}}
                    world.kube.merge_patch(COMPUTE_MAINTENANCE, "work", None, patch)
        else:
            off = False
            if event == "report":
                world.cloud.report("cmp1")
            else:
                ready = "True" if event == "return" else "False"
                world.set_condition("cmp1", ready, boot=f"{len(done)}" if event == "boot" else None)
