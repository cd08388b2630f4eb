"""Whatever happens during a restore, nothing is touched too early, and in peace it comes to its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.domain.api.names import BACKUP_LABEL
from controller.domain.restores.restore_state import Phase
from controller.ports.kubernetes import JOB
from tests.world.driver import fresh_seeds
from tests.world.restores.search import ENDS, EVENTS, PLAY
from tests.world.restores.world import NAMESPACE, World, printed

FEW, FRESH, PART, PARTS = 4, 4, 1000, 4


@pytest.mark.slow
def test_nothing_forbidden_happens() -> None:
    PLAY.search(range(FEW)).holds()


@pytest.mark.slow
def test_nothing_forbidden_happens_in_sequences_that_were_never_drawn() -> None:
    PLAY.search(fresh_seeds(FRESH)).holds()


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_forbidden_happens_in_four_thousand_sequences(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    report = PLAY.sweep(part, PARTS, PART, record_property)
    assert not report.never((*EVENTS, *ENDS, "core is killed"))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["restore", "region"])
def test_a_restore_goes_on_when_core_is_killed_between_any_two_writes(target: str) -> None:
    for at in range(4):
        world = World()
        world.begin()
        world.ask()
        for _ in range(60):
            world.dies_at = at
            world.core() if target == "restore" else world.region()
            world.work()
        world.judge_end()
        restore = world.restore()
        assert restore is not None
        assert restore.phase == Phase.DONE, (at, restore.message)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (printed(region="another"), "is of region openstack/another"),
        (printed(version="2024.1"), "has OpenStack 2024.1"),
        (printed(damaged=True), "cut, changed or missing: databases/keystone.sql"),
        (printed()[:-40], "use another backup"),
        ("no base64", "use another backup"),
    ],
)
def test_a_backup_that_does_not_fit_is_refused_and_nothing_is_touched(output: str, said: str) -> None:
    world = World()
    world.begin()
    world.output = output
    world.ask()
    for _ in range(10):
        world.work()
    restore = world.restore()
    assert restore is not None
    assert restore.phase == Phase.REFUSED
    assert said in restore.message
    assert world.loaded == 0
    world.judge_end()


def test_a_restore_that_is_deleted_before_it_loads_starts_the_services_again() -> None:
    world = World()
    world.begin()
    world.ask()
    while world.writing():
        world.work()
    world.take_back()
    for _ in range(10):
        world.work()
    assert world.restore() is None
    assert world.loaded == 0
    world.judge_end()


def test_a_restore_that_is_deleted_while_it_loads_goes_on_to_its_end() -> None:
    world = World()
    world.begin()
    world.ask()
    while not world.loaded:
        world.work()
    world.take_back()
    for _ in range(15):
        world.work()
    assert world.restore() is None
    assert world.loaded == 1
    world.judge_end()


def test_loading_that_fails_is_tried_again_by_another_job() -> None:
    world = World()
    world.begin()
    world.ask()
    while world.writing():
        world.work()
    world.job_fails = True
    for _ in range(12):
        world.work()
    assert world.met["restore-load- Failed"] > 1
    assert "tried again" in (found.message if (found := world.restore()) else "")
    assert not world.writing()
    world.job_fails = False
    for _ in range(40):
        world.work()
    world.judge_end()
    assert world.loaded == 1


def test_a_restore_waits_for_a_backup_that_runs() -> None:
    world = World()
    world.begin()
    meta = {"name": "region-backup-1", "namespace": NAMESPACE, "labels": {BACKUP_LABEL: "backup"}}
    job = world.kube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {}})
    world.ask()

    for _ in range(20):
        world.work()
    restore = world.restore()
    assert restore is not None and "backups until they end: region-backup-1" in restore.message
    assert world.writing() and not world.loaded
    world.kube.delete(JOB, job["metadata"]["name"], NAMESPACE)
    for _ in range(60):
        world.work()
    restore = world.restore()
    assert restore is not None and restore.phase == Phase.DONE
