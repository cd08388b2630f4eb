"""Claims that a release does not have any more outlive every change, with a SIGKILL at every write of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import KEPT_LABEL, ROLLBACK_RELEASE_PREFIX
from controller.domain.releases.kept_claims import is_kept
from controller.ports.kubernetes import HELMBUNDLE, PVC
from sandbox.cluster import Sandbox
from tests.chaos.test_kills import killed
from tests.chaos.world import BUNDLE, FIRST, World, chaos

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("kills")]

WITH = {**FIRST, "stateful": True}
WITHOUT = {**FIRST, "stateful": False}
CLAIM = "first-data"


@pytest.fixture
def world(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[World]:
    with chaos(sandbox, namespace, tmp_path) as world:
        set_release(world, WITH)
        world.wait_ready()
        yield world


def set_release(world: World, values: dict[str, Any], **more: Any) -> None:
    world.apply_releases([world.release("first", "red", values)], **more)


def metadata(world: World) -> dict[str, Any]:
    claim = world.kube.get(PVC, CLAIM, world.namespace)
    assert claim is not None, "the claim is gone, and its data with it"
    assert "deletionTimestamp" not in claim["metadata"]
    found: dict[str, Any] = claim["metadata"]
    return found


def label(world: World) -> str | None:
    found: str | None = (metadata(world).get("labels") or {}).get(KEPT_LABEL)
    return found


def reported(world: World) -> list[str]:
    [entry] = (world.bundle() or {})["status"]["releases"]
    return list(entry.get("kept") or [])


def assert_kept(world: World, uid: str) -> None:
    assert metadata(world)["uid"] == uid
    assert is_kept(metadata(world))
    assert label(world) == "first"
    world.wait("the status tells it", lambda: reported(world) == [CLAIM])


def assert_in_use(world: World, uid: str) -> None:
    assert metadata(world)["uid"] == uid
    world.wait("it is not known as kept any more", lambda: label(world) is None)
    world.wait("the status tells it", lambda: reported(world) == [])


@pytest.mark.exhaustive
def test_a_claim_that_the_chart_drops_is_kept_and_taken_up_again(world: World) -> None:
    uid = metadata(world)["uid"]
    set_release(world, WITHOUT)
    world.wait_ready()
    assert_kept(world, uid)
    set_release(world, WITH)
    world.wait_ready()
    assert_in_use(world, uid)


@pytest.mark.exhaustive
def test_a_rollback_to_before_the_claim_keeps_it(world: World) -> None:
    set_release(world, WITHOUT)
    world.wait_ready()
    set_release(world, WITH)
    world.wait_ready()
    uid = metadata(world)["uid"]
    before = max(version for version, _ in world.histories()["first"]) - 1
    note = {f"{ROLLBACK_RELEASE_PREFIX}/first": f"{before} once"}
    world.kube.merge_patch(HELMBUNDLE, BUNDLE, world.namespace, {"metadata": {"annotations": note}})
    world.wait("it is rolled back", lambda: world.histories()["first"][-1] == (before + 2, "deployed"))
    assert_kept(world, uid)


@pytest.mark.exhaustive
def test_with_volumes_delete_a_claim_goes_with_the_change(world: World) -> None:
    set_release(world, WITHOUT, volumes="Delete")
    world.wait("the claim is gone", lambda: world.kube.get(PVC, CLAIM, world.namespace) is None)


@pytest.mark.exhaustive
def test_a_kept_claim_outlives_the_release_and_a_new_volume_policy(world: World) -> None:
    uid = metadata(world)["uid"]
    set_release(world, WITHOUT)
    world.wait_ready()
    set_release(world, WITHOUT, volumes="Delete")
    world.wait_ready()
    world.delete()
    world.wait_gone()
    assert (metadata(world)["uid"], label(world)) == (uid, "first")


def test_a_wish_that_is_taken_back_after_a_kill_leaves_the_claim_in_use(world: World) -> None:
    uid = metadata(world)["uid"]
    stop = world.proxy.stop_at(
        1, counts=lambda request: request.method == "PATCH" and CLAIM in request.target
    )
    stop.after = True
    set_release(world, WITHOUT)
    world.wait("the claim is marked", lambda: stop.reached)
    set_release(world, WITH)
    world.kill()
    world.wait_ready()
    assert_in_use(world, uid)


def drop_and_take_up(world: World, uid: str, number: int, after: bool) -> bool:
    """Both changes, each killed at that write; whether there were such writes."""
    dropped = killed(world, number, after, lambda: set_release(world, WITHOUT), world.ready)
    assert_kept(world, uid)
    taken = killed(world, number, after, lambda: set_release(world, WITH), world.ready)
    assert_in_use(world, uid)
    return dropped or taken


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_a_sample_of_kills_loses_no_claim(world: World) -> None:
    chance, uid = random.Random(13), metadata(world)["uid"]
    for number in chance.sample(range(1, 13), 2):
        drop_and_take_up(world, uid, number, chance.random() < 0.5)
    assert world.kills > 1


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_every_write_loses_no_claim(world: World, after: bool) -> None:
    uid = metadata(world)["uid"]
    for number in count(1):
        if not drop_and_take_up(world, uid, number, after):
            break
    print(f"{world.kills} kills")
    assert world.kills > 20
