"""osctl restore: makes a restore, follows it, and says how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import controller.cli.commands.recovery.restore as commands
from controller.cli.cluster import Cluster
from controller.ports.kubernetes import RESTORE
from tests.cli.objects import osctl
from tests.world.restores.world import NAME, NAMESPACE, RESTORED, World, printed

pytestmark = pytest.mark.slow

ASKED = ("restore", RESTORED, "--secret", "restic")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The command finds this cluster; while it waits, the controller and all others do their work."""
    world = World()
    world.begin()
    monkeypatch.setattr(commands, "open_cluster", lambda *_: Cluster(world.kube, NAMESPACE))
    monkeypatch.setattr(commands.time, "sleep", lambda _: world.work())
    yield world


def test_it_makes_a_restore_and_shows_each_step_until_the_end(world: World) -> None:
    result = osctl(*ASKED)
    assert result.exit_code == 0, result.stderr
    assert "Loading: Load begins" in result.stderr
    assert f"{RESTORED}: restored from 20261126T020000Z-0a1b2c" in result.stdout
    assert world.loaded == 1
    again = osctl("restore", RESTORED, "-o", "json")
    assert json.loads(again.stdout)["status"]["phase"] == "Done"


def test_what_the_backup_does_not_know_is_shown(world: World) -> None:
    world.said = "count\tNotInBackup\tserver\t1\ndiffers\tNotInBackup\tserver\tits-id\tcmp7\tits-name"
    result = osctl(*ASKED)
    assert result.exit_code == 0, result.stderr
    assert "its-id" in result.stdout
    assert "cmp7" in result.stdout
    assert "1 server not in the backup" in " ".join(result.stdout.split())
    [found] = [line for line in result.stdout.splitlines() if "its-id" in line]
    assert "its-name" in found
    made = world.kube.get(RESTORE, RESTORED, NAMESPACE)
    assert made is not None
    assert made["status"]["differences"][0]["host"] == "cmp7"


def test_a_refused_restore_ends_with_its_reason(world: World) -> None:
    world.output = printed(damaged=True)
    result = osctl(*ASKED)
    assert result.exit_code == 6
    assert "cut, changed or missing" in result.stdout
    assert world.loaded == 0


def test_a_restore_that_takes_long_goes_on(world: World) -> None:
    result = osctl(*ASKED, "--timeout", "0s")
    assert result.exit_code == 4
    assert "it goes on" in result.stderr


def test_another_restore_of_that_name_is_not_followed(world: World) -> None:
    assert osctl(*ASKED, "--no-wait").exit_code == 0
    result = osctl(*ASKED, "--backup", "20200101T000000Z-000000")
    assert result.exit_code != 0
    assert "choose another name" in result.stderr


def test_without_a_secret_there_must_be_one(world: World) -> None:
    result = osctl("restore", RESTORED)
    assert result.exit_code != 0
    assert "name a --secret" in result.stderr


def test_the_region_s_own_backups_need_no_secret(world: World) -> None:
    osdpl = world.osdpl()
    osdpl["spec"]["features"] = {"backup": {"destination": {"claim": {}}}}
    world.kube.replace(osdpl)
    result = osctl("restore", RESTORED)
    assert result.exit_code == 0, result.stderr
    assert world.loaded == 1
    made = world.kube.get(RESTORE, RESTORED, NAMESPACE)
    assert made is not None
    assert made["spec"] == {"region": NAME, "backup": "latest"}
