"""Servers are evacuated where it is certain that others reach their disks, host by host."""

from __future__ import annotations

import json
import re

import pytest

from controller.errors import Forbidden
from controller.ports.kubernetes import CONFIGMAP, NODE, SECRET
from tests.reconcile.compute_pods import CEPH, LOCAL, configure, end, run
from tests.reconcile.node_world import NodeWorld

HOSTS = ("cmp1", "cmp2", "cmp3")
DEFAULT = "nova-compute-default"


@pytest.fixture
def world() -> NodeWorld:
    """A region on Ceph, by its spec and by what its hosts run with, which has looked at empty hosts."""
    images = {"backend": "ceph", "ceph": {"pool": "vms"}}
    world = NodeWorld(*HOSTS, nodes={"evacuation": "Auto"}, compute={"images": images})
    configure(world, DEFAULT, CEPH)
    for host in HOSTS:
        run(world, host)
    world.reconcile(2)
    return world


def lose(world: NodeWorld, host: str = "cmp1") -> None:
    world.set_ready(host, False)
    world.cloud.die(host)
    world.reconcile(14, after=10)
    world.fence(host)
    world.reconcile(10, after=5)


def evacuated(world: NodeWorld) -> list[str]:
    return [subject for name, subject in world.cloud.writes if name == "evacuate"]


def reported(world: NodeWorld) -> str:
    """What is said of the only server of the only maintenance."""
    [maintenance] = world.kube.objects("ComputeMaintenance")
    [server] = maintenance["status"]["servers"]
    assert (maintenance["status"]["phase"], server["state"]) == ("Blocked", "Blocked")
    return str(server["message"])


def token(world: NodeWorld) -> str:
    found = re.search(r"osctl node disks-shared cmp1 (\w+)$", reported(world))
    assert found is not None
    return found[1]


def override(world: NodeWorld, host: str, text: str) -> None:
    """A DaemonSet of its own for the nodes with one label, as spec.nodes makes one."""
    configure(world, "nova-compute-of-a-label", text)
    run(world, host, "nova-compute-of-a-label")


@pytest.mark.slow
def test_a_host_on_shared_storage_is_evacuated(world: NodeWorld) -> None:
    ids = world.cloud.boot(2, "cmp1", local_disk=True)
    lose(world)
    assert sorted(evacuated(world)) == sorted(ids)


@pytest.mark.slow
def test_a_host_whose_own_values_say_local_disks_is_not(world: NodeWorld) -> None:
    override(world, "cmp1", LOCAL)
    world.reconcile(2, after=10)
    world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == []
    assert "cmp1 keeps disks in qcow2:" in reported(world)


def test_a_maintenance_that_a_person_makes_is_judged_likewise(world: NodeWorld) -> None:
    override(world, "cmp1", LOCAL)
    world.reconcile(2, after=10)
    world.cloud.boot(1, "cmp1", local_disk=True)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.maintain("work", "cmp1", mode="Evacuate")
    world.reconcile(2)
    world.fence("cmp1")
    world.reconcile(6)
    assert evacuated(world) == [] and "keeps disks in qcow2:" in reported(world)


@pytest.mark.slow
def test_servers_on_volumes_leave_whatever_the_host_keeps_disks_in(world: NodeWorld) -> None:
    override(world, "cmp1", LOCAL)
    world.reconcile(2, after=10)
    [volume] = world.cloud.boot(1, "cmp1", local_disk=False)
    world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == [volume]


@pytest.mark.slow
def test_servers_that_were_made_before_a_change_stay(world: NodeWorld) -> None:
    override(world, "cmp1", LOCAL)
    world.reconcile(2, after=10)
    world.cloud.boot(1, "cmp1", local_disk=True)
    # The label is taken off: the host is on Ceph from here on, its server is not.
    run(world, "cmp1")
    world.reconcile(3, after=10)
    lose(world)
    assert evacuated(world) == []
    assert "for qcow2:$state_path/instances before" in reported(world)


@pytest.mark.slow
def test_a_host_that_was_emptied_after_a_change_is_certain_again(world: NodeWorld) -> None:
    override(world, "cmp1", LOCAL)
    world.reconcile(2, after=10)
    run(world, "cmp1")
    world.reconcile(3, after=10)
    ids = world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == ids


@pytest.mark.slow
def test_a_nova_compute_that_was_not_restarted_runs_with_what_it_began_with(world: NodeWorld) -> None:
    configure(world, "nova-compute-of-a-label", LOCAL)
    world.clock.advance(5)
    run(world, "cmp1", "nova-compute-of-a-label")
    world.reconcile(2, after=10)
    configure(world, "nova-compute-of-a-label", CEPH)
    world.reconcile(3, after=10)
    world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == [] and "started with rbd:vms:" in reported(world)


@pytest.mark.slow
def test_a_pod_that_is_older_than_its_configuration_is_in_doubt(world: NodeWorld) -> None:
    world.kube.delete(CONFIGMAP, "osctl-host-disks", world.namespace)
    world.clock.advance(60)
    configure(world, DEFAULT, CEPH)
    world.restart()
    world.reconcile(3, after=10)
    world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == []


@pytest.mark.slow
def test_hosts_with_servers_that_were_never_seen_before_are_in_doubt_until_a_person_says(
    world: NodeWorld,
) -> None:
    ids = world.cloud.boot(1, "cmp1", local_disk=True)
    world.kube.delete(CONFIGMAP, "osctl-host-disks", world.namespace)
    world.restart()
    world.reconcile(3, after=10)
    lose(world)
    assert evacuated(world) == [] and "already had servers" in reported(world)
    world.annotate("cmp1", disks_shared=token(world))
    world.reconcile(6, after=5)
    assert evacuated(world) == ids


@pytest.mark.slow
def test_a_confirmation_is_of_one_host_and_one_configuration(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", local_disk=True)
    world.kube.delete(CONFIGMAP, "osctl-host-disks", world.namespace)
    world.reconcile(3, after=10)
    lose(world)
    given = token(world)
    world.set_ready("cmp1", True)
    for _ in ("it cleans up", "it is held down no more", "it reports"):
        world.cloud.restart("cmp1")
        world.reconcile(4, after=10)
    world.annotate("cmp1", disks_shared=given)
    world.annotate("cmp2", disks_shared=given)
    # There and back: what was confirmed is not what there is.
    for text in (LOCAL, CEPH):
        configure(world, "nova-compute-of-a-label", text)
        run(world, "cmp1", "nova-compute-of-a-label")
        world.reconcile(3, after=10)
    lose(world)
    assert evacuated(world) == [] and token(world) != given


@pytest.mark.slow
def test_a_region_that_says_nothing_of_ceph_is_judged_by_its_hosts() -> None:
    world = NodeWorld(*HOSTS, nodes={"evacuation": "Auto"})
    configure(world, DEFAULT, CEPH)
    for host in HOSTS:
        run(world, host)
    world.reconcile(2)
    ids = world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == ids


@pytest.mark.slow
def test_a_host_that_would_make_the_disks_again_stops_it(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", local_disk=True)
    override(world, "cmp2", LOCAL)
    world.reconcile(2, after=10)
    lose(world)
    assert evacuated(world) == [] and "cmp2 may take its servers" in reported(world)
    world.cloud.set_compute_service("service-cmp2", enabled=False, reason="not this one")
    world.reconcile(6, after=5)
    assert len(evacuated(world)) == 1


def test_a_nova_compute_that_began_since_it_was_looked_at_takes_none_before_it_is(world: NodeWorld) -> None:
    """It may run with another configuration, and would make the disks again."""
    world.cloud.boot(1, "cmp1", local_disk=True)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    world.reconcile(2)
    world.maintain("work", "cmp1", mode="Evacuate", fenced=True)
    world.hosts.reconcile = lambda: None  # type: ignore[method-assign,assignment]
    override(world, "cmp2", LOCAL)
    world.reconcile(12, after=5)
    assert evacuated(world) == []
    assert "nova-compute of cmp2 was started" in json.dumps(world.maintenance("work"))


@pytest.mark.slow
def test_a_host_whose_nova_compute_is_being_replaced_takes_none(world: NodeWorld) -> None:
    world.cloud.boot(1, "cmp1", local_disk=True)
    end(world, "cmp3")
    world.reconcile(2, after=10)
    lose(world)
    assert evacuated(world) == [] and "cmp3 may take its servers" in reported(world)
    run(world, "cmp3")
    world.reconcile(6, after=5)
    assert len(evacuated(world)) == 1


def test_a_dead_host_is_judged_by_what_it_ran_with_when_its_pods_are_gone(world: NodeWorld) -> None:
    ids = world.cloud.boot(1, "cmp1", local_disk=True)
    world.set_ready("cmp1", False)
    world.cloud.die("cmp1")
    end(world, "cmp1")
    # What the next one would run with says nothing of it.
    world.restart()
    lose(world)
    assert evacuated(world) == ids


def test_without_a_nova_compute_of_ours_nothing_is_certain() -> None:
    world = NodeWorld(*HOSTS, nodes={"evacuation": "Auto"}, compute={"images": {"backend": "ceph"}})
    world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    assert evacuated(world) == [] and "the controller does not know where cmp1 keeps disks" in reported(world)


def test_what_may_not_be_read_is_not_known_again_and_holds_up_nothing(world: NodeWorld) -> None:
    refusing = world.kube.get

    def get(resource: object, name: str, namespace: str | None = None) -> object:
        if resource == SECRET and name == DEFAULT:
            raise Forbidden("secrets is forbidden")
        return refusing(resource, name, namespace)  # type: ignore[arg-type]

    world.kube.get = get  # type: ignore[method-assign,assignment]
    world.cordon("cmp1")
    world.reconcile(3, after=10)
    assert not world.cloud.services["cmp1"].enabled


@pytest.mark.slow
def test_no_secret_is_in_what_is_remembered_or_reported(world: NodeWorld) -> None:
    override(world, "cmp1", LOCAL)
    world.reconcile(2, after=10)
    world.cloud.boot(1, "cmp1", local_disk=True)
    lose(world)
    kept = world.kube.get(CONFIGMAP, "osctl-host-disks", world.namespace)
    assert kept is not None and "cmp1" in kept["data"]
    assert "of-the-broker" not in json.dumps([kept, *world.kube.objects("ComputeMaintenance")])


@pytest.mark.slow
def test_a_look_at_what_stays_writes_nothing_and_a_host_that_is_gone_is_forgotten(world: NodeWorld) -> None:
    world.reconcile(2, after=10)
    before = world.kube.get(CONFIGMAP, "osctl-host-disks", world.namespace)
    world.reconcile(5, after=10)
    assert world.kube.get(CONFIGMAP, "osctl-host-disks", world.namespace) == before
    assert before is not None and sorted(before["data"]) == list(HOSTS)
    end(world, "cmp3")
    world.kube.delete(NODE, "cmp3")
    world.cloud.die("cmp3")
    world.reconcile(20, after=10)
    after = world.kube.get(CONFIGMAP, "osctl-host-disks", world.namespace)
    assert after is not None and sorted(after["data"]) == ["cmp1", "cmp2"]


@pytest.mark.parametrize(
    ("restarts", "old"), [(0, False), (1, True), (2, True)], ids=["new pod", "one", "two"]
)
def test_only_another_pod_certainly_began_with_an_edit(world: NodeWorld, restarts: int, old: bool) -> None:
    """A container that is restarted in its pod may still read the file as it was before the edit."""
    configure(world, DEFAULT, LOCAL)
    world.reconcile(2, after=10)
    run(world, "cmp1", restarts=restarts)
    world.reconcile(2, after=10)
    kept = world.kube.get(CONFIGMAP, "osctl-host-disks", world.namespace)
    assert kept is not None
    assert [json.loads(kept["data"][host])["old"] for host in HOSTS] == [old, True, True]
