"""osctl server: what it shows, and how it waits for a deletion."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import controller.cli.commands.server as commands
from controller.cli.cluster import Cluster
from controller.domain.servers.server_conditions import Aspect
from controller.ports.kubernetes import SERVER
from tests.cli.objects import osctl
from tests.reconcile.servers.server_world import NAMESPACE, ServerWorld, ready

pytestmark = pytest.mark.slow


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
    """The commands find this cluster; while they wait, the servers container does its work."""
    world = ready()

    def work(_: float) -> None:
        world.step()
        world.clock.advance(2.0)
        world.cloud.pass_time()

    monkeypatch.setattr(commands, "open_cluster", lambda *_: Cluster(world.kube, NAMESPACE))
    monkeypatch.setattr(commands.time, "sleep", work)
    yield world


def test_the_list_has_a_line_for_each_server(world: ServerWorld) -> None:
    lines = osctl("server", "list").stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "READY", "STATE", "ADDRESSES", "REASON"]
    assert lines[1].split() == ["openstack", "bastion", "True", "ACTIVE", "10.10.0.7", "ServerReady"]


def test_a_description_has_conditions_and_ids(world: ServerWorld) -> None:
    text = osctl("server", "describe", "bastion").stdout
    assert "FloatingIPReady" in text and str(world.status()["instanceID"]) in text
    shown = json.loads(osctl("server", "describe", "bastion", "-o", "json").stdout)
    assert shown["status"] == world.status()


def test_a_deletion_that_is_waited_for_ends_when_nothing_is_left(world: ServerWorld) -> None:
    result = osctl("server", "delete", "bastion", "--wait")
    assert (result.exit_code, result.stdout) == (0, "bastion: deleted\n")
    assert world.cloud.things == {} and world.kube.get(SERVER, "bastion", NAMESPACE) is None


def test_a_deletion_that_takes_too_long_says_what_is_still_there(world: ServerWorld) -> None:
    world.cloud.hidden = {str(world.status()["instanceID"])}
    result = osctl("server", "delete", "bastion", "--wait", "--timeout", "0s")
    assert result.exit_code == 4
    assert "bastion: not deleted after 0 s" in result.stderr
    assert result.stdout == ""


def test_conditions_are_reported_in_the_order_in_which_they_come_true(world: ServerWorld) -> None:
    lines = osctl("server", "describe", "bastion").stdout.splitlines()
    words = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    told = words[words.index("CONDITION") + 1 : words.index("RESOURCE")]
    assert told == ["Ready", *map(str, Aspect), "Paused", "Deleting"]


def test_one_that_is_not_there_is_said_to_be_missing(world: ServerWorld) -> None:
    result = osctl("server", "delete", "other")
    assert result.exit_code == 6
    assert 'there is no OpenStackServer "other" in namespace "openstack"' in result.stderr
