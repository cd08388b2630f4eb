"""What becomes of a MachineSet of the machine API in Cluster API while it lives."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from controller.domain.machines.metadata import PAUSED
from controller.domain.machines.writes import FINALIZER, SET_LABEL, TemplateOwner
from controller.errors import ObjectRefused
from controller.ports.kubernetes import KubeObject
from controller.reconcile.machines.machine_sets import MIRROR, SOURCE, TEMPLATE
from tests.domain.machines.sources import NAMESPACE
from tests.fakes.kube import Request
from tests.reconcile.machines.mirrored_cluster import NAME, THERE, MirroredCluster


@pytest.fixture
def cluster() -> MirroredCluster:
    """With one set that is mirrored."""
    made = MirroredCluster()
    made.add()
    made.settle()
    return made


def _uid(obj: KubeObject) -> str:
    return str(obj["metadata"]["uid"])


def owners(obj: KubeObject) -> set[tuple[str, str]]:
    return {(one["kind"], one["name"]) for one in obj["metadata"].get("ownerReferences", [])}


def test_a_set_gets_a_paused_mirror_of_its_name_and_a_template(cluster: MirroredCluster) -> None:
    mirror, [template] = cluster.there(), cluster.templates()
    assert mirror["metadata"]["annotations"][PAUSED] == "openstack-controller"
    assert FINALIZER in mirror["metadata"]["finalizers"]
    assert FINALIZER in cluster.here()["metadata"]["finalizers"]
    assert owners(mirror) == {("Cluster", "ocp-x7k2p")}
    assert cluster.template_of() == template["metadata"]["name"]
    assert template["metadata"]["labels"] == {SET_LABEL: NAME}
    assert owners(template) == {("MachineSet", NAME)}


def test_templates_belong_to_the_cluster_where_that_is_set() -> None:
    cluster = MirroredCluster(TemplateOwner.CLUSTER)
    cluster.add()
    cluster.settle()
    [template] = cluster.templates()
    assert owners(template) == {("Cluster", "ocp-x7k2p")}
    cluster.edit(**{"provider.flavor": "m2"})
    cluster.settle()
    assert cluster.template_names() == {cluster.template_of()} != {template["metadata"]["name"]}


def test_the_source_says_that_both_are_the_same(cluster: MirroredCluster) -> None:
    status = cluster.here()["status"]
    assert status["synchronizedGeneration"] == cluster.here()["metadata"]["generation"]
    assert (cluster.synchronized()["status"], cluster.synchronized()["reason"]) == (
        "True",
        "ResourceSynchronized",
    )


def test_at_rest_nothing_is_written(cluster: MirroredCluster) -> None:
    cluster.kube.forget_requests()
    assert cluster.reconciler().reconcile() == 60.0
    assert cluster.kube.writes == []


def test_an_edit_of_the_provider_spec_makes_another_template_and_lets_the_old_one_go(
    cluster: MirroredCluster,
) -> None:
    before = cluster.template_names()
    cluster.edit(**{"provider.flavor": "m1.small"})
    cluster.kube.forget_requests()
    cluster.settle()
    assert cluster.template_names() == {cluster.template_of()}
    assert cluster.template_names().isdisjoint(before)
    order = [(one.verb, one.kind) for one in cluster.kube.changes if one.subresource == ""]
    assert order == [
        ("create", "OpenStackMachineTemplate"),
        ("replace", "MachineSet"),
        ("delete", "OpenStackMachineTemplate"),
    ]


def test_an_edit_of_the_replicas_leaves_the_template(cluster: MirroredCluster) -> None:
    before = cluster.templates()
    cluster.edit(**{"set.spec.replicas": 5})
    cluster.settle()
    assert cluster.there()["spec"]["replicas"] == 5
    assert cluster.templates() == before


def test_a_template_that_two_sets_own_outlives_the_release_by_the_first(cluster: MirroredCluster) -> None:
    [shared] = cluster.templates()
    other = cluster.kube.create(_by_hand("other"))
    owner = {key: other[key] for key in ("apiVersion", "kind")} | {"name": "other", "uid": _uid(other)}
    cluster.change(shared, lambda obj: obj["metadata"]["ownerReferences"].append(owner))
    cluster.edit(**{"provider.flavor": "m1.small"})
    cluster.settle()
    name = shared["metadata"]["name"]
    assert cluster.template_names() == {name, cluster.template_of()}
    [kept] = [one for one in cluster.templates() if one["metadata"]["name"] == name]
    assert owners(kept) == {("MachineSet", "other")}
    cluster.change(kept, lambda obj: obj["metadata"].pop("ownerReferences"))
    cluster.settle()
    assert cluster.template_names() == {cluster.template_of()}


def test_a_template_that_another_set_points_to_is_kept(cluster: MirroredCluster) -> None:
    [shared] = cluster.template_names()
    cluster.kube.create(_by_hand("other", template=shared))
    cluster.edit(**{"provider.flavor": "m1.small"})
    cluster.settle()
    assert shared in cluster.template_names()


def _by_hand(name: str, template: str = "none") -> KubeObject:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": name, "namespace": THERE},
        "spec": {"template": {"spec": {"infrastructureRef": {"name": template}}}},
    }


def test_templates_without_our_label_are_never_touched(cluster: MirroredCluster) -> None:
    foreign = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "OpenStackMachineTemplate",
        "metadata": {"name": f"{NAME}-0123456789", "namespace": THERE},
        "spec": {"template": {"spec": {"flavor": "x"}}},
    }
    made = cluster.kube.create(foreign)
    cluster.edit(**{"provider.flavor": "m1.small"})
    cluster.settle()
    cluster.kube.delete(SOURCE, NAME, NAMESPACE)
    cluster.settle()
    assert cluster.templates() == [made]


def test_labels_that_are_removed_at_the_source_are_removed(cluster: MirroredCluster) -> None:
    cluster.edit(**{"set.metadata.labels": {"team": "a"}, "machine.metadata.annotations": {"note": "x"}})
    cluster.settle()
    assert cluster.there()["metadata"]["labels"]["team"] == "a"
    cluster.edit(**{"set.metadata.labels": None, "machine.metadata.annotations": None})
    cluster.settle()
    assert "team" not in cluster.there()["metadata"]["labels"]
    assert "annotations" not in cluster.there()["spec"]["template"]["metadata"]


HAND_EDITS: dict[str, Any] = {
    "replicas": lambda obj: obj["spec"].update(replicas=9),
    "a label": lambda obj: obj["metadata"]["labels"].update(mine="1"),
    "a label that is gone": lambda obj: obj["metadata"].pop("labels"),
    "no pause": lambda obj: obj["metadata"]["annotations"].pop(PAUSED),
    "a field that is new": lambda obj: obj["spec"]["template"]["spec"].update(version="v1.30"),
    "another template": lambda obj: obj["spec"]["template"]["spec"]["infrastructureRef"].update(name="x"),
    "no finalizer, and no owner": lambda obj: obj["metadata"].pop("ownerReferences"),
}


@pytest.mark.parametrize("edit", HAND_EDITS.values(), ids=HAND_EDITS)
def test_an_edit_of_the_mirror_by_hand_is_reverted(cluster: MirroredCluster, edit: Any) -> None:
    before = cluster.there()
    cluster.change(cluster.there(), edit)
    cluster.settle()
    after = cluster.there()
    assert after["spec"] == before["spec"]
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        assert after["metadata"][key] == before["metadata"][key]


def test_an_edit_of_the_template_by_hand_is_reverted(cluster: MirroredCluster) -> None:
    [before] = cluster.templates()
    cluster.change(copy.deepcopy(before), lambda obj: obj["spec"]["template"]["spec"].update(flavor="x"))
    cluster.settle()
    [after] = cluster.templates()
    assert after["spec"] == before["spec"]


def test_annotations_of_cluster_api_itself_are_left(cluster: MirroredCluster) -> None:
    note = {"cluster.x-k8s.io/conversion-data": "{}"}
    cluster.change(cluster.there(), lambda obj: obj["metadata"]["annotations"].update(note))
    cluster.settle()
    assert "cluster.x-k8s.io/conversion-data" in cluster.there()["metadata"]["annotations"]


def test_a_newer_version_of_templates_that_cluster_api_shows_is_no_difference(
    cluster: MirroredCluster,
) -> None:
    newer = "infrastructure.cluster.x-k8s.io/v1beta2"
    cluster.change(
        cluster.there(),
        lambda obj: obj["spec"]["template"]["spec"]["infrastructureRef"].update(apiVersion=newer),
    )
    cluster.settle()
    assert cluster.there()["spec"]["template"]["spec"]["infrastructureRef"]["apiVersion"] == newer


def test_the_mirror_says_of_machines_what_the_source_says_of_its_newest_generation(
    cluster: MirroredCluster,
) -> None:
    generation = cluster.here()["metadata"]["generation"]
    cluster.say(replicas=3, readyReplicas=2, observedGeneration=generation - 1)
    cluster.settle()
    assert cluster.there()["status"]["replicas"] == 0
    cluster.say(observedGeneration=generation, errorMessage="no quota", errorReason="Invalid")
    cluster.settle()
    status = cluster.there()["status"]
    assert (status["replicas"], status["readyReplicas"], status["failureMessage"]) == (3, 2, "no quota")
    assert status["observedGeneration"] == cluster.there()["metadata"]["generation"]
    assert status["selector"] == f"machine.openshift.io/cluster-api-machineset={NAME}"
    cluster.say(errorMessage=None, errorReason=None)
    cluster.settle()
    assert "failureMessage" not in cluster.there()["status"]


@pytest.mark.parametrize("who", [None, "", "Nobody"])
def test_without_an_api_in_charge_nothing_is_written(who: str | None) -> None:
    cluster = MirroredCluster()
    cluster.add()
    cluster.say(authoritativeAPI=who)
    cluster.kube.forget_requests()
    cluster.settle()
    assert cluster.kube.writes == []


def test_what_cannot_be_carried_is_said_and_makes_nothing() -> None:
    cluster = MirroredCluster()
    cluster.add(**{"machine.spec.taints": [{"key": "gpu"}]})
    cluster.settle()
    assert cluster.mirror() is None
    assert cluster.synchronized()["reason"] == "ConversionFailed"
    assert cluster.synchronized()["message"].startswith("spec.template.spec.taints: cannot be converted")
    assert [reason for reason, _ in cluster.told.events] == ["ConversionFailed"]
    assert "finalizers" not in cluster.here()["metadata"]


def test_a_mirror_stays_as_it_is_while_its_source_cannot_be_carried(cluster: MirroredCluster) -> None:
    before = cluster.there()
    generation = cluster.here()["status"]["synchronizedGeneration"]
    cluster.edit(**{"provider.flavor": "x", "machine.spec.taints": [{"key": "gpu"}]})
    cluster.settle()
    assert cluster.there() == before
    assert cluster.here()["status"]["synchronizedGeneration"] == generation
    cluster.edit(**{"machine.spec.taints": None})
    cluster.settle()
    assert cluster.synchronized()["status"] == "True"


def test_a_warning_is_an_event_once_for_a_generation() -> None:
    cluster = MirroredCluster()
    cluster.add(**{"provider.sshUserName": "core", "provider.cloudsSecret.namespace": THERE})
    for _ in range(3):
        cluster.settle()
    about_user = [text for _, text in cluster.told.events if "sshUserName" in text]
    assert len(about_user) == 1
    cluster.say(replicas=2)
    cluster.settle()
    assert len([text for _, text in cluster.told.events if "sshUserName" in text]) == 1
    cluster.edit(**{"set.spec.replicas": 4})
    cluster.settle()
    assert len([text for _, text in cluster.told.events if "sshUserName" in text]) == 2


def test_without_its_cluster_a_set_waits() -> None:
    cluster = MirroredCluster()
    [there] = cluster.kube.objects("Cluster")
    cluster.kube._objects.clear()
    cluster.add()
    cluster.settle()
    assert cluster.synchronized()["reason"] == "ClusterMissing"
    cluster.kube.create({**there, "metadata": {"name": "ocp-x7k2p", "namespace": THERE}})
    cluster.settle()
    assert cluster.synchronized()["status"] == "True"


def test_a_set_of_cluster_api_that_others_made_is_not_touched() -> None:
    cluster = MirroredCluster()
    made = cluster.kube.create(_by_hand(NAME))
    cluster.add()
    cluster.settle()
    assert cluster.there() == made
    assert cluster.synchronized()["reason"] == "MirrorTaken"


def test_a_template_that_others_made_under_the_name_is_not_touched(cluster: MirroredCluster) -> None:
    [template] = cluster.templates()
    cluster.change(template, lambda obj: obj["metadata"].pop("labels"))
    cluster.settle()
    [after] = cluster.templates()
    assert "labels" not in after["metadata"]
    assert cluster.synchronized()["reason"] == "MirrorTaken"


def test_a_write_that_is_refused_is_said_and_others_are_served(cluster: MirroredCluster) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "MachineSet" and request.name == NAME and request.namespace == THERE:
            raise ObjectRefused("a webhook said no")

    cluster.add("workers-b")
    cluster.edit(**{"set.spec.replicas": 7})
    cluster.kube.before_write = refuse
    assert cluster.reconciler().reconcile() < 60.0
    assert cluster.synchronized()["reason"] == "MirrorRefused"
    assert [reason for reason, _ in cluster.told.events].count("MirrorRefused") == 1
    assert "a webhook said no" in cluster.synchronized()["message"]
    assert cluster.synchronized("workers-b")["status"] == "True"
    cluster.kube.before_write = lambda _: None
    cluster.settle()
    assert cluster.there()["spec"]["replicas"] == 7


def test_a_write_that_is_refused_again_is_tried_less_often(cluster: MirroredCluster) -> None:
    def refuse(request: Request) -> None:
        if request.namespace == THERE:
            raise ObjectRefused("no")

    reconciler = cluster.reconciler()
    cluster.edit(**{"set.spec.replicas": 7})
    cluster.kube.before_write = refuse
    first = reconciler.reconcile()
    cluster.kube.forget_requests()
    assert reconciler.reconcile() == first
    assert cluster.kube.writes == []
    cluster.clock.advance(first)
    assert reconciler.reconcile() > first
    cluster.edit(**{"set.spec.replicas": 8})
    cluster.kube.before_write = lambda _: None
    reconciler.reconcile()
    assert cluster.there()["spec"]["replicas"] == 8


def test_a_set_that_others_write_to_is_read_again(cluster: MirroredCluster) -> None:
    cluster.edit(**{"set.spec.replicas": 7})

    def write_too(request: Request) -> None:
        cluster.kube.before_write = lambda _: None
        cluster.change(cluster.there(), lambda obj: obj["spec"].update(replicas=8))

    cluster.kube.before_write = write_too
    cluster.settle()
    assert cluster.there()["spec"]["replicas"] == 7


def test_a_deleted_source_takes_its_mirror_and_template_with_it(cluster: MirroredCluster) -> None:
    cluster.change(
        cluster.there(), lambda obj: obj["metadata"]["finalizers"].append("cluster.x-k8s.io/machineset")
    )
    cluster.settle()
    cluster.kube.delete(SOURCE, NAME, NAMESPACE)
    cluster.settle()
    assert (cluster.source(), cluster.mirror(), cluster.templates()) == (None, None, [])


def test_a_mirror_that_is_deleted_by_hand_is_made_again(cluster: MirroredCluster) -> None:
    before = cluster.there()["metadata"]["uid"]
    cluster.kube.delete(MIRROR, NAME, THERE)
    cluster.settle()
    assert cluster.there()["metadata"]["uid"] != before
    assert cluster.source() is not None
    [template] = cluster.templates()
    assert template["metadata"]["ownerReferences"][0]["uid"] == cluster.there()["metadata"]["uid"]


def test_a_template_that_is_deleted_by_hand_is_made_again(cluster: MirroredCluster) -> None:
    [name] = cluster.template_names()
    cluster.kube.delete(TEMPLATE, name, THERE)
    cluster.settle()
    assert cluster.template_names() == {name}


@pytest.mark.parametrize("count", [3, pytest.param(500, marks=pytest.mark.slow)])
def test_many_sets_at_rest_are_read_by_three_lists_and_not_written(count: int) -> None:
    cluster = MirroredCluster()
    for index in range(count):
        cluster.add(f"workers-{index}")
    cluster.settle()
    cluster.kube.forget_requests()
    began = time.monotonic()
    cluster.reconciler().reconcile()
    assert time.monotonic() - began < 60
    assert [(one.verb, one.kind) for one in cluster.kube.requests] == [
        ("list", "MachineSet"),
        ("list", "MachineSet"),
        ("list", "OpenStackMachineTemplate"),
        ("get", "Cluster"),
    ]
