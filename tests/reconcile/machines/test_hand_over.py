"""Authority goes from one API to the other and back, and at no moment are both unpaused."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller.domain.machines.authority import begin_hand_over, go_on_with_hand_over, is_asked_paused
from controller.domain.machines.metadata import PAUSED
from controller.domain.machines.writes import Part, Snapshot, Verb, Write
from controller.ports.kubernetes import Resource
from controller.reconcile.machines.machine_sets import MIRROR, SOURCE, after_write
from tests.domain.machines.sources import NAMESPACE
from tests.reconcile.machines.mirrored_cluster import NAME, THERE, MirroredCluster

# A cluster for each, twenty milliseconds: too many for the fast tests.
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster() -> MirroredCluster:
    made = MirroredCluster()
    made.add()
    made.settle()
    made.say_paused("ClusterAPI", paused=True)
    made.say_paused("MachineAPI", paused=False)
    made.settle()
    return made


@pytest.fixture
def handed_over(cluster: MirroredCluster) -> MirroredCluster:
    hand_over(cluster)
    return cluster


def who(cluster: MirroredCluster) -> Any:
    return cluster.here()["status"]["authoritativeAPI"]


def hand_over(cluster: MirroredCluster) -> None:
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI"})
    cluster.settle()
    cluster.say_paused("MachineAPI", paused=True)
    cluster.settle()
    cluster.say_paused("ClusterAPI", paused=False)
    observe(cluster)
    cluster.settle()


def observe(cluster: MirroredCluster, **status: Any) -> None:
    """Cluster API has looked at the newest mirror."""
    there = cluster.there()
    after = {**(there.get("status") or {}), **status, "observedGeneration": there["metadata"]["generation"]}
    cluster.kube.replace({**there, "status": after}, subresource="status")


def pause(cluster: MirroredCluster, value: str | None) -> None:
    """Someone writes the annotation, or takes it off."""

    def change(obj: Any) -> None:
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations.pop(PAUSED, None)
        if value is not None:
            annotations[PAUSED] = value

    cluster.change(cluster.there(), change)


def test_the_mirror_goes_on_only_once_the_machine_api_has_said_that_it_stands_still(
    cluster: MirroredCluster,
) -> None:
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI"})
    cluster.settle()
    assert who(cluster) == "Migrating"
    assert is_asked_paused(cluster.there())
    cluster.say_paused("MachineAPI", paused=True)
    cluster.settle()
    assert not is_asked_paused(cluster.there())
    assert who(cluster) == "Migrating"
    cluster.say_paused("ClusterAPI", paused=False)
    cluster.settle()
    assert who(cluster) == "ClusterAPI"
    assert cluster.synchronized()["status"] == "True"
    generation = cluster.there()["metadata"]["generation"]
    assert cluster.here()["status"]["synchronizedGeneration"] == generation


def test_nothing_is_handed_over_before_both_are_the_same(cluster: MirroredCluster) -> None:
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI", "machine.spec.taints": [{"key": "a"}]})
    cluster.settle()
    assert who(cluster) == "MachineAPI"
    cluster.edit(**{"machine.spec.taints": None})
    cluster.settle()
    assert who(cluster) == "Migrating"


def test_while_authority_is_handed_over_the_mirror_is_left(cluster: MirroredCluster) -> None:
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI"})
    cluster.settle()
    cluster.edit(**{"set.spec.replicas": 9})
    cluster.settle()
    assert cluster.there()["spec"]["replicas"] == 3


@pytest.mark.parametrize("replicas", [3, 9], ids=["as they were", "changed meanwhile"])
def test_replicas_that_are_changed_while_authority_is_handed_over_are_reported(
    cluster: MirroredCluster, replicas: int
) -> None:
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI"})
    cluster.settle()
    cluster.edit(**{"set.spec.replicas": replicas})
    cluster.say_paused("MachineAPI", paused=True)
    cluster.settle()
    cluster.say_paused("ClusterAPI", paused=False)
    cluster.settle()
    assert cluster.here()["spec"]["replicas"] == cluster.there()["spec"]["replicas"] == 3
    told = [message for reason, message in cluster.told.events if reason == "EditOverwritten"]
    expected = ["replicas 9, set during the hand-over of authority, are ignored: the mirror has 3"]
    assert told == (expected if replicas == 9 else [])


def test_it_goes_back_only_once_cluster_api_has_said_that_it_stands_still(
    handed_over: MirroredCluster,
) -> None:
    cluster = handed_over
    cluster.edit(**{"set.spec.authoritativeAPI": "MachineAPI"})
    cluster.settle()
    assert who(cluster) == "Migrating"
    assert is_asked_paused(cluster.there())
    cluster.say_paused("ClusterAPI", paused=True)
    cluster.settle()
    assert who(cluster) == "MachineAPI"


def test_a_hand_over_that_is_taken_back_at_once_ends_where_it_began(cluster: MirroredCluster) -> None:
    cluster.edit(**{"set.spec.authoritativeAPI": "ClusterAPI"})
    cluster.settle()
    cluster.edit(**{"set.spec.authoritativeAPI": "MachineAPI"})
    cluster.settle()
    assert who(cluster) == "MachineAPI"
    assert is_asked_paused(cluster.there())


def test_while_cluster_api_is_in_charge_the_source_follows(handed_over: MirroredCluster) -> None:
    cluster = handed_over
    provider = cluster.here()["spec"]["template"]["spec"]["providerSpec"]
    cluster.change(cluster.there(), lambda obj: obj["spec"].update(replicas=5))
    observe(cluster, replicas=4, readyReplicas=4)
    cluster.settle()
    here = cluster.here()
    assert here["spec"]["replicas"] == 5
    assert here["spec"]["authoritativeAPI"] == "ClusterAPI"
    assert here["spec"]["template"]["spec"]["providerSpec"] == provider
    assert (here["status"]["replicas"], here["status"]["readyReplicas"]) == (4, 4)


def test_at_rest_a_source_that_follows_is_not_written(handed_over: MirroredCluster) -> None:
    handed_over.kube.forget_requests()
    handed_over.settle()
    assert handed_over.kube.writes == []


def test_another_template_of_cluster_api_is_another_provider_spec(handed_over: MirroredCluster) -> None:
    cluster = handed_over
    [template] = cluster.templates()
    made = copy.deepcopy(template)
    made["metadata"] = {"name": "by-hand", "namespace": THERE}
    made["spec"]["template"]["spec"]["flavor"] = "m9.huge"
    cluster.kube.create(made)
    reference = {"name": "by-hand"}
    cluster.change(
        cluster.there(),
        lambda obj: obj["spec"]["template"]["spec"]["infrastructureRef"].update(reference),
    )
    cluster.settle()
    assert cluster.here()["spec"]["template"]["spec"]["providerSpec"]["value"]["flavor"] == "m9.huge"
    assert cluster.synchronized()["status"] == "True"


def test_what_the_machine_api_cannot_say_is_said_and_holds_authority_back(
    handed_over: MirroredCluster,
) -> None:
    cluster = handed_over
    cluster.change(cluster.there(), lambda obj: obj["spec"]["template"]["spec"].update(version="v1.33"))
    cluster.edit(**{"set.spec.authoritativeAPI": "MachineAPI"})
    cluster.settle()
    assert cluster.synchronized()["reason"] == "ConversionFailed"
    assert "spec.template.spec.version" in cluster.synchronized()["message"]
    assert who(cluster) == "ClusterAPI"


def test_a_template_that_is_missing_is_said(handed_over: MirroredCluster) -> None:
    cluster = handed_over
    reference = {"name": "none"}
    cluster.change(
        cluster.there(),
        lambda obj: obj["spec"]["template"]["spec"]["infrastructureRef"].update(reference),
    )
    cluster.settle()
    assert cluster.synchronized()["reason"] == "TemplateMissing"


def test_a_source_of_which_cluster_api_is_in_charge_leaves_its_mirror(handed_over: MirroredCluster) -> None:
    handed_over.kube.delete(SOURCE, NAME, NAMESPACE)
    handed_over.settle()
    assert handed_over.source() is None
    assert handed_over.there()["metadata"].get("finalizers") is None
    assert len(handed_over.templates()) == 1


def test_a_mirror_that_is_in_charge_takes_its_source_with_it_after_its_machines(
    handed_over: MirroredCluster,
) -> None:
    cluster = handed_over
    cluster.change(
        cluster.there(), lambda obj: obj["metadata"]["finalizers"].append("cluster.x-k8s.io/machineset")
    )
    cluster.kube.delete(MIRROR, NAME, THERE)
    cluster.settle()
    assert cluster.source() is not None
    cluster.change(
        cluster.there(), lambda obj: obj["metadata"]["finalizers"].remove("cluster.x-k8s.io/machineset")
    )
    cluster.settle()
    assert (cluster.source(), cluster.mirror(), cluster.templates()) == (None, None, [])


def test_a_set_that_is_cluster_apis_from_its_beginning_gets_a_whole_mirror_that_goes_on() -> None:
    cluster = MirroredCluster()
    cluster.add(who="ClusterAPI")
    cluster.kube.forget_requests()
    cluster.settle()
    assert PAUSED not in cluster.there()["metadata"].get("annotations", {})
    assert cluster.template_names() == {cluster.template_of()}
    order = [(one.verb, one.kind, one.namespace) for one in cluster.kube.changes if not one.subresource]
    assert order == [
        ("replace", "MachineSet", NAMESPACE),
        ("create", "MachineSet", THERE),
        ("create", "OpenStackMachineTemplate", THERE),
        ("replace", "MachineSet", THERE),
    ]


def test_the_pause_of_others_is_waited_out_and_said(handed_over: MirroredCluster) -> None:
    cluster = handed_over
    pause(cluster, "true")
    cluster.say_paused("ClusterAPI", paused=True)
    cluster.edit(**{"set.spec.authoritativeAPI": "MachineAPI"})
    cluster.settle()
    assert who(cluster) == "Migrating"
    assert (cluster.synchronized()["status"], cluster.synchronized()["reason"]) == ("False", "MirrorPaused")
    pause(cluster, None)
    cluster.settle()
    assert not is_asked_paused(cluster.there())
    cluster.say_paused("ClusterAPI", paused=False)
    cluster.settle()
    assert cluster.there()["metadata"]["annotations"][PAUSED] == "openstack-controller"
    cluster.say_paused("ClusterAPI", paused=True)
    cluster.settle()
    assert who(cluster) == "MachineAPI"


def test_a_pause_by_another_that_was_not_seen_yet_becomes_ours(
    handed_over: MirroredCluster,
) -> None:
    cluster = handed_over
    cluster.edit(**{"set.spec.authoritativeAPI": "MachineAPI"})
    pause(cluster, "true")
    cluster.settle()
    assert who(cluster) == "Migrating"
    assert cluster.there()["metadata"]["annotations"][PAUSED] == "openstack-controller"


@pytest.mark.parametrize("asked", ["MachineAPI", "ClusterAPI"])
def test_a_mirror_that_lost_its_finalizer_is_waited_for_and_said(
    cluster: MirroredCluster, asked: str
) -> None:
    if asked == "MachineAPI":
        hand_over(cluster)
    cluster.edit(**{"set.spec.authoritativeAPI": asked})
    cluster.settle()
    cluster.say_paused("MachineAPI", paused=True)
    kept = list(cluster.there()["metadata"]["finalizers"])
    cluster.change(cluster.there(), lambda obj: obj["metadata"].pop("finalizers"))
    cluster.settle()
    assert who(cluster) == "Migrating"
    assert (cluster.synchronized()["status"], cluster.synchronized()["reason"]) == ("False", "MirrorTaken")
    cluster.change(cluster.there(), lambda obj: obj["metadata"].update(finalizers=kept))
    cluster.say_paused("ClusterAPI", paused=asked == "MachineAPI")
    cluster.settle()
    cluster.say_paused("ClusterAPI", paused=asked == "MachineAPI")
    cluster.settle()
    assert who(cluster) == asked


def test_while_the_machine_api_is_in_charge_the_pause_is_ours(cluster: MirroredCluster) -> None:
    pause(cluster, "true")
    cluster.settle()
    assert cluster.there()["metadata"]["annotations"][PAUSED] == "openstack-controller"


def add_machine(cluster: MirroredCluster) -> None:
    """Cluster API has made a machine for the mirror, and keeps the set as long as it has any."""
    there = cluster.there()
    owner = {key: there[key] for key in ("apiVersion", "kind")}
    owner |= {key: there["metadata"][key] for key in ("name", "uid")}
    meta = {"name": "made-there", "namespace": THERE, "ownerReferences": [owner]}
    cluster.kube.create({"apiVersion": MIRROR.api_version, "kind": "Machine", "metadata": meta})
    finalizer = "cluster.x-k8s.io/machineset"
    cluster.change(there, lambda obj: obj["metadata"]["finalizers"].append(finalizer))


def machines(cluster: MirroredCluster) -> list[str]:
    found = cluster.kube.list(Resource(MIRROR.api_version, "Machine", "machines"), THERE)
    return [one["metadata"]["name"] for one in found]


def test_machines_that_cluster_api_made_outlive_a_source_that_is_deleted_after_the_way_back(
    handed_over: MirroredCluster,
) -> None:
    cluster = handed_over
    add_machine(cluster)
    cluster.edit(**{"set.spec.authoritativeAPI": "MachineAPI"})
    cluster.settle()
    cluster.say_paused("ClusterAPI", paused=True)
    cluster.settle()
    assert who(cluster) == "MachineAPI"
    cluster.kube.delete(SOURCE, NAME, NAMESPACE)
    cluster.settle()
    assert (cluster.source(), cluster.mirror(), cluster.templates()) == (None, None, [])
    assert machines(cluster) == ["made-there"]


def test_a_paused_mirror_in_charge_keeps_its_machines_when_it_is_deleted(
    handed_over: MirroredCluster,
) -> None:
    cluster = handed_over
    add_machine(cluster)
    pause(cluster, "true")
    cluster.kube.delete(MIRROR, NAME, THERE)
    cluster.settle()
    assert "cluster.x-k8s.io/machineset" in cluster.there()["metadata"]["finalizers"]
    assert machines(cluster) == ["made-there"]


# -- every order of events

#: What a person asks for, what the status says, the value of the mirror's annotation, what each API says of
#: itself, whether each really stands still, and whether the mirror has our finalizer.
State = tuple[str, str, str, bool, bool, bool, bool, bool]
OURS, THEIRS = "openstack-controller", "true"


def _seen(base: Snapshot, state: State) -> Snapshot:
    asked, current, annotated, here_told, there_told, _, _, finalizer = state
    source, mirror = copy.deepcopy(dict(base.source)), copy.deepcopy(dict(base.mirror or {}))
    source["spec"]["authoritativeAPI"] = asked
    source["metadata"]["generation"] = mirror["metadata"]["generation"] = 1
    status = {**source["status"], "authoritativeAPI": current, "synchronizedGeneration": 1}
    status["conditions"] = [
        {"type": "Paused", "status": str(here_told)},
        {"type": "Synchronized", "status": "True"},
    ]
    source["status"] = status
    annotations = mirror["metadata"].get("annotations") or {}
    annotations.pop(PAUSED, None)
    if annotated:
        annotations[PAUSED] = annotated
    mirror["metadata"]["annotations"] = annotations
    if not finalizer:
        del mirror["metadata"]["finalizers"]
    mirror["status"] = {"v1beta2": {"conditions": [{"type": "Paused", "status": str(there_told)}]}}
    return Snapshot(source, mirror, ())


def _after(state: State, write: Write | None) -> State:
    if write is None:
        return state
    asked, current, annotated, *others = state
    if write.part is Part.MIRROR and write.verb is Verb.REPLACE:
        value = write.obj["metadata"].get("annotations", {}).get(PAUSED, "")
        return (asked, current, value, *others)  # type: ignore[return-value]
    if write.part is Part.SOURCE and write.verb is Verb.STATUS:
        return (asked, write.obj["status"]["authoritativeAPI"], annotated, *others)  # type: ignore[return-value]
    return state


def _others(state: State) -> Iterator[State]:
    """A person changes their mind, pauses the mirror and lets it go on, takes the finalizer off or back;
    each API looks and stands still or goes on; each then says so."""
    asked, current, annotated, here_told, there_told, here, there, ours = state
    other = "MachineAPI" if asked == "ClusterAPI" else "ClusterAPI"
    yield other, current, annotated, here_told, there_told, here, there, ours
    yield asked, current, annotated, here_told, there_told, here, there, not ours
    if annotated != OURS:
        # A value of ours is kept by the admission policy.
        value = "" if annotated else THEIRS
        yield asked, current, value, here_told, there_told, here, there, ours
    yield asked, current, annotated, here_told, there_told, current != "MachineAPI", there, ours
    yield asked, current, annotated, here_told, there_told, here, bool(annotated), ours
    yield asked, current, annotated, here, there_told, here, there, ours
    yield asked, current, annotated, here_told, there, here, there, ours


def _reachable(decide: Callable[[State], Write | None]) -> set[State]:
    found: set[State] = set()
    todo: list[State] = [("MachineAPI", "MachineAPI", OURS, False, True, False, True, True)]
    while todo:
        state = todo.pop()
        if state not in found:
            found.add(state)
            todo += [*_others(state), _after(state, decide(state))]
    return found


def test_in_no_order_of_events_are_both_unpaused(cluster: MirroredCluster) -> None:
    base = Snapshot(cluster.here(), cluster.there(), ())

    def decide(state: State) -> Write | None:
        seen = _seen(base, state)
        return go_on_with_hand_over(seen, 0.0) if state[1] == "Migrating" else begin_hand_over(seen)

    found = _reachable(decide)
    assert len(found) > 30
    assert {state[1] for state in found} == {"MachineAPI", "Migrating", "ClusterAPI"}
    assert [state for state in found if not state[5] and not state[6]] == []


def test_what_is_seen_after_a_write_is_what_was_written(cluster: MirroredCluster) -> None:
    seen = Snapshot(cluster.here(), cluster.there(), ())
    write = Write(Verb.DELETE, Part.MIRROR, cluster.there(), "")
    assert after_write(seen, write, None).mirror is None
