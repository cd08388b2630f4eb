"""What the controller does where others have an object, or a release, of a name that a bundle asks for."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from controller.domain.api.names import BUNDLE_LABEL, HAND_OVER_ANNOTATION, MANAGED_BY
from controller.errors import ObjectMissing, ObjectsTaken
from controller.ports.helm import Cancellation, HelmRequest, RenderedRelease, Revision
from controller.ports.kubernetes import CONFIGMAP, JOB, SECRET, resource_of
from controller.reconcile.releases.actions.object_owners import ObjectOwners, OwnerGuard
from tests.fakes.helm import Hook
from tests.reconcile.bundles import NAMESPACE, Bench


@pytest.fixture
def bench() -> Bench:
    one = Bench()
    one.helm.objects_of["web"] = [configmap(colour="red")]
    return one


def configmap(name: str = "web", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def place(bench: Bench, **meta: Any) -> None:
    """Someone has a ConfigMap of that name."""
    obj = configmap(colour="grey")
    bench.kube.create({**obj, "metadata": {"name": "web", "namespace": NAMESPACE, **meta}})


def live(bench: Bench) -> dict[str, Any]:
    found = bench.kube.get(CONFIGMAP, "web", NAMESPACE)
    assert found is not None
    return found


def hand_over(bench: Bench) -> None:
    patch = {"metadata": {"annotations": {HAND_OVER_ANNOTATION: f"{NAMESPACE}/web"}}}
    bench.kube.merge_patch(CONFIGMAP, "web", NAMESPACE, patch)


def test_an_object_of_others_is_reported_with_its_owner_and_the_way_to_hand_it_over(bench: Bench) -> None:
    place(bench, annotations={"meta.helm.sh/release-name": "theirs"})
    bench.bundle("pages", "web")
    bench.settle()
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Failed", "ObjectNameTaken")
    assert entry["message"].startswith(
        'ConfigMap/web belongs to release "theirs"; to hand it over to this release: '
        f"kubectl -n {NAMESPACE} annotate configmap/web {HAND_OVER_ANNOTATION}={NAMESPACE}/web"
    )
    assert bench.condition("pages", "Ready")["status"] == "False"
    assert live(bench)["data"] == {"colour": "grey"}
    assert bench.helm.calls == []


def test_one_command_hands_over_all_that_stands_in_the_way(bench: Bench) -> None:
    names = [f"web-{number}" for number in range(7)]
    bench.helm.objects_of["web"] = [configmap(name, colour="red") for name in names]
    for name in names:
        bench.kube.create(
            {
                **configmap(name, colour="grey"),
                "metadata": {"name": name, "namespace": NAMESPACE, "labels": {MANAGED_BY: "their-tool"}},
            }
        )
    bench.bundle("pages", "web")
    bench.settle()
    message = bench.release("pages", "web")["message"]
    assert message.startswith('ConfigMap/web-0 belongs to "their-tool"; ')
    assert "; and 2 more; to hand all of them over to this release: " in message
    _, _, command = message.partition("to this release: ")
    words = command.split()
    assert words[:4] == ["kubectl", "-n", NAMESPACE, "annotate"]
    assert words[4:11] == [f"configmap/{name}" for name in names]
    assert words[11] == f"{HAND_OVER_ANNOTATION}={NAMESPACE}/web"


def test_one_that_comes_while_helm_is_called_is_named_like_one_that_was_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        place(bench)
        raise ObjectsTaken("invalid ownership metadata")

    monkeypatch.setattr(bench.helm, "install", overtaken)
    bench.bundle("pages", "web")
    bench.settle()
    message = bench.release("pages", "web")["message"]
    assert message.startswith("ConfigMap/web exists already, has no owner and differs; to hand it over")
    assert live(bench)["data"] == {"colour": "grey"}


def test_a_plan_reports_it_beforehand(bench: Bench) -> None:
    place(bench, annotations={"meta.helm.sh/release-name": "theirs"})
    bench.bundle("pages", "web", mode="Plan")
    bench.settle()
    [planned] = bench.status("pages")["plan"]["releases"]
    assert 'ConfigMap/web belongs to release "theirs"' in planned["problem"]


def test_a_plan_reports_a_release_of_others_too(bench: Bench) -> None:
    bench.helm.record("web", 3, "deployed")
    bench.bundle("pages", "web", mode="Plan")
    bench.settle()
    [planned] = bench.status("pages")["plan"]["releases"]
    assert planned["problem"].startswith("the release was not created by this controller")


@pytest.mark.slow
def test_what_is_handed_over_is_taken_within_half_a_minute(bench: Bench) -> None:
    place(bench, annotations={"meta.helm.sh/release-name": "theirs"})
    bench.bundle("pages", "web")
    for _ in range(9):
        bench.settle()
        bench.clock.advance(31)
    hand_over(bench)
    bench.clock.advance(31)
    bench.settle()
    assert bench.release("pages", "web")["state"] == "Deployed"
    assert live(bench)["data"] == {"colour": "red"}


def test_a_restarted_container_says_the_same_and_waits_on(bench: Bench) -> None:
    place(bench)
    bench.bundle("pages", "web")
    bench.settle()
    before = bench.release("pages", "web")
    bench.restart()
    bench.settle()
    assert bench.release("pages", "web") == before


def test_all_is_asked_before_anything_is_written(bench: Bench) -> None:
    """A hook that would be deleted before it is made, and an object that would be overwritten."""
    bench.helm.hooks_of["web"] = [Hook("migrate", events="pre-install", policy="hook-succeeded")]
    place(bench)
    bench.bundle("pages", "web")
    bench.reconcile()
    bench.kube.forget_requests()
    bench.settle()
    kinds = {one.kind for one in bench.kube.writes if not one.dry_run}
    assert kinds <= {"HelmBundle"}


def test_a_pass_at_rest_asks_for_no_object(bench: Bench) -> None:
    bench.bundle("pages", "web")
    bench.settle()
    bench.kube.forget_requests()
    bench.reconcile()
    assert [one for one in bench.kube.requests if one.kind == "ConfigMap"] == []


def test_an_object_that_gets_another_name_each_time_has_no_owner(bench: Bench) -> None:
    nameless = configmap(colour="red")
    nameless["metadata"] = {"generateName": "web-"}
    desired = RenderedRelease((nameless,), ({"kind": "Job", "metadata": None, "apiVersion": "batch/v1"},))
    guard = OwnerGuard(bench.kube, bench.helm, "web", NAMESPACE)
    assert guard.observe(desired, "Install") == ObjectOwners((), ())
    assert guard.leave_to_others(RenderedRelease((), ()), {1: desired}) == {1: desired}


PROBE = {"apiVersion": "monitoring.example.org/v1", "kind": "Probe", "metadata": {"name": "web"}}


def installed_with_a_kind_that_is_lost_then(bench: Bench) -> None:
    bench.helm.objects_of["web"] = [configmap(colour="red"), PROBE]
    bench.bundle("pages", "web")
    bench.settle()
    assert bench.helm.status("web") == "deployed"
    bench.kube.delete(resource_of(PROBE), "web", NAMESPACE)
    bench.kube.lost_kinds.add((PROBE["apiVersion"], PROBE["kind"]))


def test_an_object_of_a_kind_that_the_cluster_has_lost_does_not_stop_an_upgrade(bench: Bench) -> None:
    """Helm alone fails for ever: it looks each kind up that the revision before had."""
    installed_with_a_kind_that_is_lost_then(bench)
    bench.helm.objects_of["web"] = [configmap(colour="blue")]
    bench.bundle(
        "pages", {"name": "web", "chart": {"name": "web", "path": "web"}, "values": {"colour": "blue"}}
    )
    bench.settle()
    assert (bench.helm.status("web"), live(bench)["data"]) == ("deployed", {"colour": "blue"})


def test_an_object_of_a_kind_that_the_cluster_has_lost_does_not_stop_the_removal(bench: Bench) -> None:
    installed_with_a_kind_that_is_lost_then(bench)
    bench.bundle("pages", "other")
    bench.settle()
    assert bench.helm.status("web") == ""


def test_a_kind_of_another_plural_is_asked_for_before_its_object_is_forgotten(bench: Bench) -> None:
    """The API server has no list of the name that we would give it, but the kind."""
    bench.helm.objects_of["web"] = [configmap(colour="red"), PROBE]
    bench.bundle("pages", "web")
    bench.settle()
    guard = OwnerGuard(bench.kube, bench.helm, "web", NAMESPACE)
    with patch.object(bench.kube, "list_metadata", side_effect=ObjectMissing("no such list")):
        before = {1: bench.helm.manifest("web", NAMESPACE, 1)}
        assert guard.leave_to_others(RenderedRelease((), ()), before) == before


def test_a_release_that_was_made_by_hand_is_left_alone(bench: Bench) -> None:
    bench.helm.record("web", 3, "deployed")
    bench.bundle("pages", "web")
    bench.settle()
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Failed", "ReleaseNameTaken")
    assert (
        f"annotate secret/sh.helm.release.v1.web.v3 {HAND_OVER_ANNOTATION}={NAMESPACE}/web"
        in entry["message"]
    )
    bench.bundle("pages", "other")
    bench.settle()
    assert ("Uninstall", "web") not in bench.helm.calls
    assert bench.helm.status("web") == "deployed"


@pytest.mark.parametrize("status", ["pending-install", "uninstalling", "failed", "uninstalled"])
def test_one_that_its_own_helm_has_left_half_done_is_left_alone_too(bench: Bench, status: str) -> None:
    bench.helm.record("web", 1, status)
    bench.bundle("pages", "web")
    bench.clock.advance(86400)
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "ReleaseNameTaken"
    assert bench.helm.calls == []
    assert bench.helm.status("web") == status


def test_a_release_that_is_handed_over_is_brought_to_the_spec(bench: Bench) -> None:
    bench.helm.record("web", 3, "deployed")
    bench.helm.hand_over("web")
    bench.bundle("pages", "web")
    bench.settle()
    assert bench.release("pages", "web")["state"] == "Deployed"
    assert bench.helm.calls == [("Upgrade", "web")]
    assert bench.helm.labels("web")[BUNDLE_LABEL] == "pages"


def test_the_controllers_own_release_is_no_bundles_to_have(bench: Bench) -> None:
    bench.reserved = (NAMESPACE, "web")
    bench.restart()
    bench.helm.record("web", 1, "deployed")
    bench.helm.hand_over("web")
    bench.bundle("pages", "web")
    bench.settle()
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Failed", "ReleaseNameTaken")
    assert entry["message"] == "the release belongs to the controller's own installation; rename it here"
    assert bench.helm.calls == []


def test_an_object_that_another_release_has_taken_is_drift_that_is_not_corrected(bench: Bench) -> None:
    bench.bundle("pages", "web")
    bench.settle()
    notes = {"annotations": {"meta.helm.sh/release-name": "theirs"}}
    bench.kube.merge_patch(CONFIGMAP, "web", NAMESPACE, {"metadata": notes, "data": {"colour": "grey"}})
    find_drift(bench)
    entry = bench.release("pages", "web")
    assert entry["drift"][0]["change"] == "Refused"
    assert 'belongs to release "theirs"' in entry["drift"][0]["message"]
    assert live(bench)["data"] == {"colour": "grey"}

    hand_over(bench)
    find_drift(bench)
    assert live(bench)["data"] == {"colour": "red"}
    assert HAND_OVER_ANNOTATION not in live(bench)["metadata"]["annotations"]


def test_an_object_that_another_bundle_makes_while_ours_is_gone_is_reported_as_drift_of_ours(
    bench: Bench,
) -> None:
    bench.helm.objects_of["copies"] = [configmap(colour="grey")]
    bench.bundle("pages", "web")
    bench.settle()
    bench.drift.reconcile()
    bench.kube.delete(CONFIGMAP, "web", NAMESPACE)
    bench.bundle("others", "copies")
    bench.settle()
    find_drift(bench)
    [told] = bench.release("pages", "web")["drift"]
    assert told["change"] == "Refused"
    assert 'belongs to release "copies"' in told["message"]
    assert "drift" not in bench.release("others", "copies")
    assert live(bench)["data"] == {"colour": "grey"}


def find_drift(bench: Bench) -> None:
    for _ in range(3):
        bench.clock.advance(600)
        bench.settle()
        bench.drift.reconcile()
    bench.settle()


def test_a_job_that_others_put_in_the_place_of_a_hook_is_theirs(bench: Bench) -> None:
    bench.helm.hooks_of["web"] = [Hook("migrate", events="post-install,post-upgrade")]
    bench.helm.finish("migrate")
    bench.bundle("pages", "web")
    bench.settle()
    bench.kube.delete(JOB, "migrate", NAMESPACE)
    theirs = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "migrate", "namespace": NAMESPACE},
    }
    uid = bench.kube.create({**theirs, "spec": {"theirs": True}})["metadata"]["uid"]
    bench.bundle("pages", {"name": "web", "values": {"more": 1}})
    bench.settle()
    assert bench.release("pages", "web")["message"].startswith("Job/migrate exists already, has no owner")
    assert (bench.kube.get(JOB, "migrate", NAMESPACE) or {})["metadata"]["uid"] == uid


KEYS = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "web-keys", "annotations": {"helm.sh/resource-policy": "keep"}},
}


@pytest.mark.parametrize("whose", ["the release's", "a person's"])
def test_with_volumes_delete_keys_go_that_are_the_releases(bench: Bench, whose: str) -> None:
    bench.helm.objects_of["web"] = [KEYS]
    bench.bundle("pages", "web")
    bench.settle()
    if whose == "a person's":
        bench.kube.delete(SECRET, "web-keys", NAMESPACE)
        bench.kube.create({**KEYS, "metadata": {"name": "web-keys", "namespace": NAMESPACE}})
    bench.bundle("pages", volumes="Delete")
    bench.settle()
    assert (bench.kube.get(SECRET, "web-keys", NAMESPACE) is None) == (whose == "the release's")
