"""Someone's own Helm at a release of ours, while we are at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.ports.helm import HelmRequest, RollbackRequest
from controller.ports.kubernetes import SECRET, KubeObject
from controller.reconcile.releases.kept_claims.keep_marks import VolumeKeeper
from tests.world.releases.events import own_helm
from tests.world.releases.process import Container
from tests.world.releases.region import NAMESPACE
from tests.world.releases.rest import unrest
from tests.world.releases.truth import Volume
from tests.world.releases.world import Setting, World

pytestmark = pytest.mark.slow

WITHOUT_IMAGE = {"features": {"services": {"disabled": ["image"]}}}


@pytest.fixture
def world() -> World:
    made = World(Setting(volumes="Retain"))
    made.begin()
    return made


def during(world: World, hook: str, happens: Callable[[], None]) -> None:
    """It happens while Helm waits for the hook, the first time that it does."""
    await_hook, once = world.await_hook, [happens]

    def awaited(container: Container, job: KubeObject, timeout: float, token: CancellationToken) -> str:
        if once and job["metadata"]["name"] == hook:
            once.pop()()
        return await_hook(container, job, timeout, token)

    world.await_hook = awaited  # type: ignore[method-assign]


@pytest.fixture
def claim(world: World) -> Volume:
    """Of glance, at its second revision. The first one has it too."""
    world.cluster.edit_region({"services": {"image": {"glance": {"values": {"colour": 1}}}}})
    world.live(60.0)
    found = world.cluster.volume("glance-images")
    assert found is not None
    return found


def roll_back(world: World) -> None:
    own_helm(world).rollback(RollbackRequest("glance", NAMESPACE, 1))


def test_a_claim_of_their_revision_stays_when_the_release_goes(world: World, claim: Volume) -> None:
    """What is marked to be kept is of the revision before theirs, and an uninstall goes by the newest one."""
    during(world, "glance-clean", lambda: roll_back(world))
    world.cluster.edit_region(WITHOUT_IMAGE)
    world.live(300.0)
    assert world.cluster.volume("glance-images") is claim
    assert unrest(world) == []


def lose_newest_record(world: World) -> None:
    """A person deletes Helm's newest record of glance by hand."""
    records = world.cluster.kube.list_metadata(SECRET, NAMESPACE, labels="owner=helm,name=glance")
    newest = max(records, key=lambda one: int(one["metadata"]["labels"]["version"]))
    world.cluster.kube.delete(SECRET, newest["metadata"]["name"], NAMESPACE)


def test_a_claim_stays_where_the_newest_record_is_deleted_while_a_hook_of_the_removal_runs(
    world: World, claim: Volume
) -> None:
    during(world, "glance-clean", lambda: lose_newest_record(world))
    world.cluster.edit_region(WITHOUT_IMAGE)
    world.live(300.0)
    assert world.cluster.volume("glance-images") is claim
    assert unrest(world) == []


def test_a_claim_stays_where_the_newest_record_is_deleted_right_before_the_release_goes(
    world: World, claim: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record is marked: whichever is the newest then."""
    insist, once = VolumeKeeper.insist_on_marks, [lambda: lose_newest_record(world)]

    def insisted(keeper: VolumeKeeper, release: str, *given: Any) -> None:
        insist(keeper, release, *given)
        if once and release == "glance":
            once.pop()()

    monkeypatch.setattr(VolumeKeeper, "insist_on_marks", insisted)
    world.cluster.edit_region(WITHOUT_IMAGE)
    world.live(300.0)
    assert world.cluster.volume("glance-images") is claim
    assert unrest(world) == []


def test_a_claim_stays_where_the_newest_record_is_deleted_before_an_upgrade(
    world: World, claim: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    once_marked(monkeypatch, "glance", lambda: lose_newest_record(world))
    world.cluster.edit_region({"services": {"image": {"glance": {"values": {"claim": False}}}}})
    world.live(300.0)
    assert world.cluster.volume("glance-images") is claim
    assert unrest(world) == []


def once_marked(monkeypatch: pytest.MonkeyPatch, release: str, happens: Callable[[], None]) -> None:
    """It happens once all is marked, and Helm is not called yet."""
    keep, once = VolumeKeeper.keep, [happens]

    def kept(keeper: VolumeKeeper, of: str, *given: Any, **more: Any) -> tuple[str, ...]:
        names = keep(keeper, of, *given, **more)
        if once and of == release:
            once.pop()()
        return names

    monkeypatch.setattr(VolumeKeeper, "keep", kept)


def test_a_claim_of_theirs_stays_where_they_come_right_before_the_release_goes(
    world: World, claim: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    once_marked(monkeypatch, "glance", lambda: roll_back(world))
    world.cluster.edit_region(WITHOUT_IMAGE)
    world.live(300.0)
    assert world.cluster.volume("glance-images") is claim
    assert unrest(world) == []


def test_a_claim_of_theirs_stays_where_they_come_right_before_our_upgrade(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"root": world.known["database-credentials", "root"], "dumps": True}

    def bring_dumps() -> None:
        own_helm(world).upgrade(HelmRequest("mariadb", NAMESPACE, "mariadb", values))
        world.cluster.check_claims()

    once_marked(monkeypatch, "mariadb", bring_dumps)
    world.cluster.edit_region({"services": {"database": {"mariadb": {"values": {"colour": 1}}}}})
    world.live(300.0)
    assert world.cluster.volume("mariadb-dumps") is not None
    assert unrest(world) == []
