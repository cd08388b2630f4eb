"""Claims that a change of a bundle drops: kept, reported, and taken up again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from controller.domain.api.names import DEPLOYMENT_LABEL, KEPT_LABEL
from controller.domain.releases.kept_claims import KEEP, KEEP_ANNOTATION, is_kept
from controller.errors import Conflict, HelmFailed
from controller.ports.helm import HelmRequest, RemovalState, RenderedRelease
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, PVC, SECRET, STATEFULSET, Resource
from controller.reconcile.releases.kept_claims.keep_marks import VolumeKeeper
from tests.fakes.kube import Request
from tests.reconcile.bundles import DEADLINE, NAMESPACE, Bench

DATA = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "web-data"}, "spec": {}}
KEPT = {KEEP_ANNOTATION: KEEP}


def set_release(bench: Bench, *, claim: bool, **spec: Any) -> None:
    bench.helm.objects_of["web"] = [DATA] if claim else []
    bench.bundle("pages", {"name": "web", "values": {"claim": claim}}, **spec)
    bench.settle()
    bench.clock.advance(60)
    bench.reconcile()


def claim(bench: Bench) -> dict[str, Any]:
    found = bench.kube.get(PVC, "web-data", NAMESPACE)
    assert found is not None
    return found


def label(bench: Bench) -> str | None:
    found: str | None = (claim(bench)["metadata"].get("labels") or {}).get(KEPT_LABEL)
    return found


def reported(bench: Bench) -> list[str]:
    [entry] = bench.status("pages")["releases"]
    return list(entry.get("kept") or [])


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    set_release(made, claim=True)
    return made


def test_a_claim_that_is_dropped_is_kept_and_reported(bench: Bench) -> None:
    set_release(bench, claim=False)
    assert is_kept(claim(bench)["metadata"])
    assert (label(bench), reported(bench)) == ("web", ["web-data"])
    said = [text for _, text in bench.events.emitted if "keeps" in text]
    assert said == [
        "UpgradeSucceeded: Upgrade of release web succeeded: keeps PersistentVolumeClaim/web-data"
    ]


def test_a_later_change_says_nothing_of_it_again(bench: Bench) -> None:
    set_release(bench, claim=False)
    bench.events.emitted.clear()
    bench.bundle("pages", {"name": "web", "values": {"more": 1}})
    bench.settle()
    assert [text for _, text in bench.events.emitted if "keeps" in text] == []
    assert reported(bench) == ["web-data"]


def test_a_claim_that_comes_back_is_the_releases_again(bench: Bench) -> None:
    uid = claim(bench)["metadata"]["uid"]
    set_release(bench, claim=False)
    set_release(bench, claim=True)
    assert claim(bench)["metadata"]["uid"] == uid
    assert (label(bench), reported(bench)) == (None, [])


def test_it_is_marked_before_helm_is_called_or_helm_is_not_called(bench: Bench) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "PersistentVolumeClaim":
            raise OSError("the API server is away")

    bench.kube.before_write = refuse
    calls = list(bench.helm.calls)
    bench.helm.objects_of["web"] = []
    bench.bundle("pages", {"name": "web", "values": {"claim": False}})
    bench.reconcile()
    bench.settle()
    assert bench.helm.calls == calls
    assert claim(bench)


def test_what_counts_is_what_helm_renders_on_the_server(bench: Bench) -> None:
    """A chart may ask the cluster whether to make a claim."""
    render = bench.helm.render

    def without_lookups(request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        return render(request, server=server) if server else RenderedRelease((DATA,), ())

    bench.helm.render = without_lookups  # type: ignore[method-assign]
    set_release(bench, claim=False)
    assert label(bench) == "web"


def test_with_volumes_delete_it_goes(bench: Bench) -> None:
    set_release(bench, claim=False, volumes="Delete")


def test_what_was_kept_is_not_deleted_with_the_release(bench: Bench) -> None:
    set_release(bench, claim=False)
    bench.bundle("pages", volumes="Delete")
    bench.settle()
    assert (bench.helm.status("web"), label(bench)) == ("", "web")


def test_a_removal_that_has_deleted_no_claim_yet_deletes_none_when_they_are_to_stay(bench: Bench) -> None:
    removal, begun, goes_on = bench.helm.removal, threading.Event(), threading.Event()

    def slow(release: str, namespace: str) -> RemovalState:
        begun.set()
        assert goes_on.wait(DEADLINE)
        return removal(release, namespace)

    bench.helm.removal = slow  # type: ignore[method-assign]
    bench.bundle("pages", volumes="Delete")
    bench.reconcile()
    assert begun.wait(DEADLINE)
    bench.bundle("pages", volumes="Retain")
    bench.reconcile()
    goes_on.set()
    bench.settle()
    assert ("DeleteClaims", "web") not in bench.helm.calls
    assert (bench.helm.status("web"), label(bench)) == ("", "web")


@pytest.mark.parametrize("kept", [True, False])
def test_keys_that_a_chart_keeps_stay_while_any_claim_is_kept(bench: Bench, kept: bool) -> None:
    """What the claim holds may be encrypted with them."""
    meta = {"name": "web-keys", "namespace": NAMESPACE, "annotations": {"helm.sh/resource-policy": "keep"}}
    keys = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
    bench.helm.objects_of["web"] = [keys] if kept else [DATA, keys]
    bench.kube.create(keys)
    bench.bundle("pages", {"name": "web", "values": {"keys": True}})
    bench.settle()
    bench.bundle("pages", volumes="Delete")
    bench.settle()
    assert (bench.kube.get(SECRET, "web-keys", NAMESPACE) is not None) == kept


@pytest.mark.parametrize("region", ["stays", "goes", "is another's"])
def test_keys_that_a_chart_keeps_stay_with_the_database_of_their_region(bench: Bench, region: str) -> None:
    """Keystone's keys open what is in a database that another release has."""
    meta = {"name": "web-keys", "namespace": NAMESPACE, "annotations": {"helm.sh/resource-policy": "keep"}}
    keys = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
    bench.helm.objects_of["web"] = [DATA, keys]
    bench.kube.create(keys)
    bench.bundle("pages", {"name": "web", "values": {"keys": True}})
    bench.settle()
    of_region = {"name": "region-one", "namespace": NAMESPACE, "finalizers": ["core.osctl.dev/finalizer"]}
    osdpl = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": of_region, "spec": {}}
    bench.kube.create(osdpl)
    if region == "goes":
        bench.kube.delete(OSDPL, "region-one", NAMESPACE)
    if region != "is another's":
        labels = {"metadata": {"labels": {DEPLOYMENT_LABEL: "region-one"}}}
        bench.kube.merge_patch(HELMBUNDLE, "pages", NAMESPACE, labels)
    bench.bundle("pages", volumes="Delete")
    bench.settle()
    assert bench.helm.status("web") == ""
    assert (bench.kube.get(SECRET, "web-keys", NAMESPACE) is not None) == (region == "stays")


def test_keys_outlive_a_removal_that_could_not_delete_the_claims(bench: Bench) -> None:
    """Someone may have the claims stay before the next try."""
    meta = {"name": "web-keys", "namespace": NAMESPACE, "annotations": {"helm.sh/resource-policy": "keep"}}
    keys = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
    bench.helm.objects_of["web"] = [DATA, keys]
    bench.bundle("pages", {"name": "web", "values": {"keys": True}})
    bench.settle()

    def fails(release: str, namespace: str) -> tuple[str, ...]:
        raise HelmFailed("StatefulSet web is still there")

    delete_claims = bench.helm.delete_claims
    bench.helm.delete_claims = fails  # type: ignore[method-assign]
    bench.bundle("pages", volumes="Delete")
    bench.settle()
    bench.helm.delete_claims = delete_claims  # type: ignore[method-assign]
    bench.bundle("pages", volumes="Retain")
    bench.clock.advance(600)
    bench.settle()
    assert (bench.helm.status("web"), label(bench)) == ("", "web")
    assert bench.kube.get(SECRET, "web-keys", NAMESPACE) is not None


def test_a_deleted_claim_is_not_reported_as_kept(bench: Bench) -> None:
    set_release(bench, claim=False)
    bench.kube.delete(PVC, "web-data", NAMESPACE)
    bench.clock.advance(60)
    bench.reconcile()
    assert reported(bench) == []


def test_a_mark_on_a_claim_in_use_is_taken_off(bench: Bench) -> None:
    """Left by a container that was killed, before the wish was taken back."""
    bench.kube.merge_patch(PVC, "web-data", NAMESPACE, {"metadata": {"labels": {KEPT_LABEL: "web"}}})
    bench.clock.advance(60)
    bench.reconcile()
    assert (label(bench), reported(bench)) == (None, [])


def test_a_claim_that_another_release_has_taken_over_is_left_as_it_is(bench: Bench) -> None:
    notes = {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": NAMESPACE}
    bench.kube.merge_patch(PVC, "web-data", NAMESPACE, {"metadata": {"annotations": notes}})
    before = claim(bench)
    set_release(bench, claim=False)
    assert claim(bench) == before
    assert reported(bench) == []


def test_looks_that_change_nothing_write_nothing(bench: Bench) -> None:
    set_release(bench, claim=False)
    bench.kube.forget_requests()
    for _ in range(3):
        bench.clock.advance(60)
        bench.reconcile()
    assert bench.kube.writes == []


def test_an_unreadable_record_hides_no_claim(bench: Bench) -> None:
    """Helm then starts from the one before."""
    read = bench.helm.manifest

    def damaged(release: str, namespace: str, version: int) -> RenderedRelease:
        if version == 2:
            raise HelmFailed("the record cannot be read")
        return read(release, namespace, version)

    bench.helm.record("web", 2, "failed")
    bench.helm.manifest = damaged  # type: ignore[method-assign]
    keeper = VolumeKeeper(bench.kube, bench.helm)
    assert keeper.keep("web", NAMESPACE, RenderedRelease((), ())) == ("PersistentVolumeClaim/web-data",)


def test_a_claim_on_its_way_out_is_not_called_kept(bench: Bench) -> None:
    used = {"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}
    bench.kube.merge_patch(PVC, "web-data", NAMESPACE, used)
    bench.kube.delete(PVC, "web-data", NAMESPACE)
    set_release(bench, claim=False)
    assert reported(bench) == []


THEIRS = {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": NAMESPACE}


def make_again(bench: Bench, resource: Resource, name: str) -> None:
    """By another release, under the same name."""
    there = bench.kube.get(resource, name, NAMESPACE)
    assert there is not None
    bench.kube.delete(resource, name, NAMESPACE)
    meta = {"name": name, "namespace": NAMESPACE, "annotations": THEIRS}
    bench.kube.create({**there, "metadata": meta})


def test_a_claim_that_another_release_makes_while_ours_is_marked_is_left_as_it_is(bench: Bench) -> None:
    def before(request: Request) -> None:
        bench.kube.before_write = lambda request: None
        make_again(bench, PVC, "web-data")

    bench.kube.before_write = before
    VolumeKeeper(bench.kube, bench.helm).keep("web", NAMESPACE, RenderedRelease((), ()))
    assert claim(bench)["metadata"]["annotations"] == THEIRS
    assert label(bench) is None


def test_a_claim_that_is_kept_again_meanwhile_keeps_its_mark(bench: Bench) -> None:
    """By the action of another process, after this one has read which claims the release has."""
    mark = {"metadata": {"labels": {KEPT_LABEL: "web"}}}
    bench.kube.merge_patch(PVC, "web-data", NAMESPACE, mark)
    read = bench.helm.manifest

    def kept_again(release: str, namespace: str, version: int) -> RenderedRelease:
        bench.kube.merge_patch(PVC, "web-data", NAMESPACE, {"metadata": {"annotations": KEPT}})
        return read(release, namespace, version)

    bench.helm.manifest = kept_again  # type: ignore[method-assign]
    with pytest.raises(Conflict):
        VolumeKeeper(bench.kube, bench.helm).take_up("web", NAMESPACE, ("web-data",), 1)
    assert label(bench) == "web"


SET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "db"},
    "spec": {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    },
}


@pytest.fixture
def member(bench: Bench) -> Bench:
    """A release that drops a StatefulSet, whose claim has an owner besides."""
    bench.helm.objects_of["web"] = [SET]
    bench.bundle("pages", {"name": "web", "values": {"set": True}})
    bench.settle()
    live = bench.kube.get(STATEFULSET, "db", NAMESPACE)
    assert live is not None
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": live["metadata"]["uid"]}
    meta = {"name": "data-db-0", "namespace": NAMESPACE, "ownerReferences": [owner, OTHER_OWNER]}
    bench.kube.create({**DATA, "metadata": meta})
    return bench


OTHER_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "somebodys", "uid": "1"}


def test_a_claim_that_is_kept_loses_its_statefulset_and_no_other_owner(member: Bench) -> None:
    VolumeKeeper(member.kube, member.helm).keep("web", NAMESPACE, RenderedRelease((), ()))
    found = member.kube.get(PVC, "data-db-0", NAMESPACE)
    assert found is not None and is_kept(found["metadata"])
    assert found["metadata"]["ownerReferences"] == [OTHER_OWNER]


def test_a_claim_that_the_release_names_itself_loses_the_statefulset_that_goes(member: Bench) -> None:
    """The claim stays the release's; a StatefulSet that is deleted would take it along."""
    named = {**DATA, "metadata": {"name": "data-db-0"}}
    VolumeKeeper(member.kube, member.helm).keep("web", NAMESPACE, RenderedRelease((named,), ()))
    found = member.kube.get(PVC, "data-db-0", NAMESPACE)
    assert found is not None and KEPT_LABEL not in (found["metadata"].get("labels") or {})
    assert found["metadata"]["ownerReferences"] == [OTHER_OWNER]


def test_a_statefulset_that_another_release_has_taken_over_is_left_as_it_is(member: Bench) -> None:
    make_again(member, STATEFULSET, "db")
    before = member.kube.get(STATEFULSET, "db", NAMESPACE)
    VolumeKeeper(member.kube, member.helm).keep("web", NAMESPACE, RenderedRelease((), ()))
    assert member.kube.get(STATEFULSET, "db", NAMESPACE) == before


def test_an_uninstall_that_would_take_a_claim_along_is_not_begun(bench: Bench) -> None:
    """The record is restored by hand, without the mark, right before Helm would be called."""
    noted = bench.helm.keep_volumes
    bench.helm.keep_volumes = lambda *_: None  # type: ignore[method-assign]
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    assert ("Uninstall", "web") not in bench.helm.calls
    message = bench.statuses()["pages"]["releases"][0]["message"]
    assert "would delete PersistentVolumeClaim/web-data" in message
    bench.helm.keep_volumes = noted  # type: ignore[method-assign]
    bench.clock.advance(600)
    bench.settle()
    assert bench.statuses() == {}
    assert is_kept(claim(bench)["metadata"])
