"""What real Helm and a real API server make of objects that are another's, on both adapters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controller.domain.api.names import HAND_OVER_ANNOTATION
from controller.domain.releases.actions import Action
from controller.domain.releases.requests import Requests
from controller.errors import ObjectsTaken
from controller.ports.kubernetes import CONFIGMAP, JOB, SECRET
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.install import install
from controller.reconcile.releases.actions.rollback import rollback
from controller.reconcile.releases.actions.upgrade import upgrade
from sandbox.cluster import Sandbox
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def other_namespace(sandbox: Sandbox, namespace: str) -> Iterator[str]:
    name = f"{namespace}-other"
    sandbox.create_namespace(name, {})
    yield name
    sandbox.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


def place(bench: Bench, name: str = "web", **more: Any) -> dict[str, Any]:
    """Someone puts a ConfigMap there."""
    meta = {"name": name, "namespace": bench.namespace, **more.pop("metadata", {})}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"colour": "grey"}, **more}
    return bench.kube.create(obj)


def do(bench: Bench, action: Action, values: dict[str, Any] | None = None, *, release: str = "web") -> str:
    """As the controller does it."""
    history = bench.helm.history(release, bench.namespace)
    request = ActionRequest(action, "identity", release, bench.namespace, version=len(history) + 1)
    desired = bench.request(release, values)
    perform = install if action == Action.INSTALL else upgrade
    return perform(bench.ports(), request, desired, bench.helm.new_cancellation())


def test_helm_alone_takes_no_object_without_its_marks(bench: Bench) -> None:
    """The last fence, should an object come between our look and Helm's."""
    place(bench)
    with pytest.raises(ObjectsTaken, match="ConfigMap"):
        bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))
    assert bench.config("web") == {"colour": "grey"}
    assert bench.statuses("web") == []


def test_an_object_without_owner_that_differs_is_refused_by_name(bench: Bench) -> None:
    place(bench)
    with pytest.raises(ObjectsTaken) as refusal:
        do(bench, Action.INSTALL, {"data": {"colour": "red"}})
    assert str(refusal.value) == (
        "ConfigMap/web exists already, has no owner and differs; to hand it over to this release: "
        f"kubectl -n {bench.namespace} annotate configmap/web {HAND_OVER_ANNOTATION}={bench.namespace}/web"
    )
    assert bench.config("web") == {"colour": "grey"}
    assert bench.statuses("web") == []


def test_what_is_handed_over_is_taken_once(bench: Bench) -> None:
    place(bench, metadata={"annotations": {HAND_OVER_ANNOTATION: f"{bench.namespace}/web", "keep": "me"}})
    do(bench, Action.INSTALL, {"data": {"colour": "red"}})
    found = bench.object("configmap", "web")
    assert found is not None
    assert bench.config("web")["colour"] == "red"
    notes = found["metadata"]["annotations"]
    assert notes["keep"] == "me"
    assert HAND_OVER_ANNOTATION not in notes


def test_an_equal_object_without_owner_is_taken(bench: Bench) -> None:
    place(bench, data={"revision": "1", "colour": "red"})
    do(bench, Action.INSTALL, {"data": {"colour": "red"}})
    assert bench.statuses("web") == ["deployed"]


def test_an_object_of_another_release_is_refused_and_outlives_ours(bench: Bench) -> None:
    marks = {"meta.helm.sh/release-name": "theirs", "meta.helm.sh/release-namespace": "elsewhere"}
    place(bench, metadata={"annotations": marks, "labels": {"app.kubernetes.io/managed-by": "Helm"}})
    with pytest.raises(ObjectsTaken, match='belongs to release "theirs" of namespace "elsewhere"'):
        do(bench, Action.INSTALL)
    assert bench.config("web") == {"colour": "grey"}


def test_what_another_release_has_taken_meanwhile_is_not_deleted_with_ours(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"data": {"colour": "red"}, "secret": {"a": "b"}})
    marks = {"meta.helm.sh/release-name": "theirs"}
    bench.kube.merge_patch(CONFIGMAP, "web", bench.namespace, {"metadata": {"annotations": marks}})
    with pytest.raises(ObjectsTaken, match="theirs"):
        do(bench, Action.UPGRADE, {"data": {"colour": "blue"}})
    bench.uninstall("web")
    wait_until(lambda: bench.object("secret", "web") is None, "what is ours is gone")
    assert bench.config("web")["colour"] == "red"
    assert bench.statuses("web") == []


def test_an_unmarked_object_outlives_a_release_whose_hook_of_that_name_never_ran(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"hook": {"events": "pre-upgrade", "outcome": "succeeds"}})
    (hook,) = bench.records.manifest("web", bench.namespace, 1).hooks
    meta = {"name": "web-hook", "namespace": bench.namespace}
    theirs = bench.kube.create({**hook, "metadata": meta, "spec": {**hook["spec"], "suspend": True}})
    bench.uninstall("web")
    assert bench.statuses("web") == []
    found = bench.object("job", "web-hook")
    assert found is not None
    assert found["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert "deletionTimestamp" not in found["metadata"]


def test_a_removal_without_hooks_leaves_what_one_with_them_was_refused_for(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"hook": {"events": "pre-delete", "outcome": "succeeds"}})
    (hook,) = bench.records.manifest("web", bench.namespace, 1).hooks
    meta = {"name": "web-hook", "namespace": bench.namespace}
    bench.kube.create({**hook, "metadata": meta, "spec": {**hook["spec"], "suspend": True}})
    with pytest.raises(ObjectsTaken, match="Job/web-hook"):
        bench.uninstall("web")
    bench.uninstall("web", skip_hooks=True)
    assert bench.statuses("web") == []
    found = bench.object("job", "web-hook")
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]


def test_what_another_release_has_taken_is_not_deleted_by_an_upgrade_that_drops_it(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"secret": {"a": "b"}})
    marks = {"meta.helm.sh/release-name": "theirs"}
    bench.kube.merge_patch(SECRET, "web", bench.namespace, {"metadata": {"annotations": marks}})
    do(bench, Action.UPGRADE, {"data": {"colour": "blue"}})
    assert bench.config("web")["colour"] == "blue"
    assert bench.object("secret", "web") is not None


def test_a_rollback_takes_nothing_of_others_either(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"secret": {"a": "b"}})
    do(bench, Action.UPGRADE)
    wait_until(lambda: bench.object("secret", "web") is None, "it is dropped")
    theirs = {"name": "web", "namespace": bench.namespace}
    bench.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": theirs, "stringData": {"a": "c"}})
    request = ActionRequest(
        Action.ROLLBACK, "identity", "web", bench.namespace, version=3, requests=Requests(rollback="1")
    )
    with pytest.raises(ObjectsTaken, match="Secret/web"):
        rollback(bench.ports(), request, bench.helm.new_cancellation())
    assert bench.statuses("web") == ["superseded", "deployed"]


def test_hand_edits_that_take_helms_marks_along_do_not_make_an_object_anothers(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"data": {"colour": "red"}})
    gone = {"meta.helm.sh/release-name": None, "meta.helm.sh/release-namespace": None}
    patch = {"metadata": {"annotations": gone, "labels": None}, "data": {"colour": "green"}}
    bench.kube.merge_patch(CONFIGMAP, "web", bench.namespace, patch)
    do(bench, Action.UPGRADE, {"data": {"colour": "blue"}})
    assert bench.config("web")["colour"] == "blue"


def test_what_is_left_of_a_release_whose_records_are_gone_is_its_own(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"data": {"colour": "red"}, "hook": {"events": "post-install"}})
    bench.kube.delete(SECRET, "sh.helm.release.v1.web.v1", bench.namespace)
    do(bench, Action.INSTALL, {"data": {"colour": "blue"}, "hook": {"events": "post-install"}})
    assert bench.config("web")["colour"] == "blue"


def test_a_hook_that_would_replace_anothers_job_is_refused(bench: Bench) -> None:
    container = {"name": "theirs", "image": "registry.example/theirs:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"template": {"spec": pod}}
    meta = {"name": "web-hook", "namespace": bench.namespace}
    made = bench.kube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": job})
    with pytest.raises(ObjectsTaken, match="Job/web-hook"):
        do(bench, Action.INSTALL, {"hook": {"events": "pre-install"}})
    live = bench.kube.get(JOB, "web-hook", bench.namespace)
    assert live is not None
    assert live["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_hook_meets_what_it_has_made_itself(bench: Bench) -> None:
    do(bench, Action.INSTALL, {"hook": {"events": "post-install,post-upgrade"}})
    do(bench, Action.UPGRADE, {"hook": {"events": "post-install,post-upgrade", "outcome": "other"}})
    assert bench.statuses("web")[-1] == "deployed"


def test_what_only_the_api_servers_render_has_is_refused_by_name_too(bench: Bench) -> None:
    """The chart asks the cluster whether there is something, and makes another object then."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "web-data", "namespace": bench.namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    bench.kube.create(claim)
    place(bench, "web-extra")
    values = {"claimOnce": True, "extraBesideClaim": True}
    with pytest.raises(ObjectsTaken, match="ConfigMap/web-extra"):
        do(bench, Action.INSTALL, values)
    assert bench.statuses("web") == []


def test_a_name_of_the_whole_cluster_is_had_by_one_region_and_refused_to_the_other(
    bench: Bench, other_namespace: str
) -> None:
    name = f"{bench.namespace}-shared"
    do(bench, Action.INSTALL, {"clusterRole": {"name": name, "verb": "get"}})
    other = bench.beside(other_namespace)
    with pytest.raises(ObjectsTaken, match=f'ClusterRole/{name} belongs to release "web" of namespace'):
        do(other, Action.INSTALL, {"clusterRole": {"name": name, "verb": "list"}})
    assert other.statuses("web") == []
    bench.uninstall("web")
    do(other, Action.INSTALL, {"clusterRole": {"name": name, "verb": "list"}})
    other.uninstall("web")
