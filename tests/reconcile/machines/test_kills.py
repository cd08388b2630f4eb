"""The process may end at every write: the next one finishes what was begun."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.domain.values.chart_values import copied
from controller.reconcile.machines.machine_sets import MIRROR, SOURCE
from tests.domain.machines.sources import NAMESPACE
from tests.reconcile.machines.mirrored_cluster import NAME, THERE, Killed, MirroredCluster, kill_at

Act = Callable[[MirroredCluster], None]
MOST_WRITES = 15


def _create(cluster: MirroredCluster) -> None:
    cluster.add(**{"provider.sshUserName": "core"})


def _mirrored(cluster: MirroredCluster) -> None:
    _create(cluster)
    cluster.settle()


def _edit(cluster: MirroredCluster) -> None:
    cluster.edit(**{"provider.flavor": "m1.small", "set.spec.replicas": 5, "set.metadata.labels": {"a": "b"}})
    cluster.say(replicas=4)


def _delete(cluster: MirroredCluster) -> None:
    cluster.kube.delete(SOURCE, NAME, NAMESPACE)


def _delete_mirror(cluster: MirroredCluster) -> None:
    cluster.kube.delete(MIRROR, NAME, THERE)


def _taken_over(cluster: MirroredCluster) -> None:
    _mirrored(cluster)
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI"})
    cluster.settle()


def _stand_still(cluster: MirroredCluster) -> None:
    cluster.say_paused("MachineAPI", paused=True)


def _in_charge(cluster: MirroredCluster) -> None:
    _taken_over(cluster)
    _stand_still(cluster)
    cluster.settle()


def _scale(cluster: MirroredCluster) -> None:
    cluster.change(cluster.there(), lambda obj: obj["spec"].update(replicas=8))


def _create_for_cluster_api(cluster: MirroredCluster) -> None:
    cluster.add(who="ClusterAPI")


SCENES: dict[str, tuple[Act, Act]] = {
    "a set is made": (lambda _: None, _create),
    "a set is edited": (_mirrored, _edit),
    "a set is deleted": (_mirrored, _delete),
    "a mirror is deleted": (_mirrored, _delete_mirror),
    "authority is handed over": (_taken_over, _stand_still),
    "a mirror is scaled": (_in_charge, _scale),
    "a source is deleted beside its mirror": (_in_charge, _delete),
    "a mirror is deleted that is in charge": (_in_charge, _delete_mirror),
    "a set begins with Cluster API": (lambda _: None, _create_for_cluster_api),
}


def _said(cluster: MirroredCluster) -> list[Any]:
    """All that is there, without what tells of when and how often."""
    found = []
    for obj in cluster.kube.objects():
        plain = copied(obj)
        for key in ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"):
            plain["metadata"].pop(key, None)
        for owner in plain["metadata"].get("ownerReferences") or ():
            owner.pop("uid")
        found.append(plain)
    return found


def _played(before: Act, act: Act, number: int = 0, *, ahead: bool = False) -> tuple[list[Any], bool]:
    """What there is in the end, and whether the process was killed."""
    cluster, killed = MirroredCluster(), False
    before(cluster)
    act(cluster)
    if number:
        kill_at(cluster.kube, number, before=ahead)
    try:
        cluster.reconciler().reconcile()
    except Killed:
        killed = True
    cluster.kube.before_write = cluster.kube.after_write = lambda _: None
    cluster.settle()
    return _said(cluster), killed


@pytest.mark.slow
@pytest.mark.parametrize("before, act", SCENES.values(), ids=SCENES)
@pytest.mark.parametrize("ahead", [True, False], ids=["before it is done", "before its answer is read"])
def test_a_process_that_ends_at_any_write_changes_nothing_of_the_end(
    before: Act, act: Act, ahead: bool
) -> None:
    expected, _ = _played(before, act)
    kills = 0
    for number in range(1, MOST_WRITES):
        found, killed = _played(before, act, number, ahead=ahead)
        assert found == expected
        kills += killed
    assert kills > 0
