"""The end of an action is asked to those bundles whom it may concern, and to no one else."""

from __future__ import annotations

from controller.reconcile.releases.waiting_bundles import WaitingBundles
from tests.reconcile.bundles import Bench

KEYSTONE = ("openstack", "identity")
GLANCE = ("openstack", "image")


def test_who_waits_for_a_release_is_woken_by_its_end_alone() -> None:
    waiting = WaitingBundles()
    with waiting.observe(GLANCE) as names:
        names.add("keystone")
    assert waiting.woken_by("openstack", "keystone") == {GLANCE}
    assert waiting.woken_by("openstack", "mariadb") == set()
    assert waiting.woken_by("elsewhere", "keystone") == set()


def test_who_waits_no_more_is_woken_no_more() -> None:
    waiting = WaitingBundles()
    with waiting.observe(GLANCE) as names:
        names.add("keystone")
    with waiting.observe(GLANCE):
        pass
    assert waiting.woken_by("openstack", "keystone") == set()


def test_a_look_under_way_is_repeated_whatever_it_will_wait_for() -> None:
    waiting = WaitingBundles()
    with waiting.observe(KEYSTONE):
        assert waiting.woken_by("openstack", "mariadb") == {KEYSTONE}
    assert waiting.woken_by("openstack", "mariadb") == set()


def test_an_ended_action_has_only_its_own_bundle_and_those_that_wait_for_it_looked_at() -> None:
    bench = Bench()
    bench.bundle("identity", "keystone")
    bench.bundle("image", {"name": "glance", "dependsOn": ["keystone"]})
    bench.bundle("web", "horizon")
    bench.reconcile("web")
    bench.wait(bench._is_idle, "horizon is installed")
    bench.reconcile("web", "image")
    bench.asked.clear()
    bench.reconcile("identity")
    bench.wait(bench._is_idle, "keystone is installed")
    assert bench.asked == {KEYSTONE, GLANCE}


def test_one_slot_and_many_bundles_end_with_all_deployed_each_reported_in_its_turn() -> None:
    bench = Bench(size=1)
    names = [f"bundle{number}" for number in range(12)]
    for name in names:
        bench.bundle(name, f"{name}-release")
    bench.reconcile()
    looks = 0
    while not all(bench.release(name, f"{name}-release").get("state") == "Deployed" for name in names):
        bench.wait(lambda: bench.asked, "somebody is told")
        asked = bench.take_asked()
        for _, name in asked:
            looks += 1
            bench.reconcile(name)
    assert looks <= 5 * len(names)
