"""What real Helm makes of volumes that a release does not have any more, on both adapters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from controller.domain.api.names import KEPT_LABEL
from controller.domain.releases.actions import Action
from controller.domain.releases.kept_claims import KEEP_ANNOTATION
from controller.errors import Conflict, FieldsFixed, HelmCancelled
from controller.ports.helm import Cancellation, HelmRequest, RollbackRequest, UninstallRequest
from controller.ports.kubernetes import PV, PVC, SECRET, STATEFULSET
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.preparation import call_prepared
from controller.reconcile.releases.kept_claims.keep_marks import NOTHING, VolumeKeeper
from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster

CLAIM = "PersistentVolumeClaim/web-data"
WITH = {"claim": True, "data": {"colour": "red"}}
WITHOUT = {"data": {"colour": "blue"}}


def keeper(bench: Bench) -> VolumeKeeper:
    return VolumeKeeper(bench.kube, bench.records)


def upgrade(bench: Bench, request: HelmRequest) -> tuple[str, ...]:
    """As the controller does it: what is dropped is kept, then Helm is called."""
    kept = keeper(bench).keep("web", bench.namespace, bench.helm.render(request, server=True))
    bench.helm.upgrade(request)
    return kept


def label(bench: Bench, name: str = "web-data") -> str | None:
    """The label of a claim that is there to stay."""
    claim = bench.object("claim", name)
    assert claim is not None, "the claim is gone"
    assert "deletionTimestamp" not in claim["metadata"]
    found: str | None = (claim["metadata"].get("labels") or {}).get(KEPT_LABEL)
    return found


def uid(bench: Bench, name: str = "web-data") -> str:
    claim = bench.object("claim", name)
    assert claim is not None
    return str(claim["metadata"]["uid"])


def test_helm_alone_deletes_a_claim_that_the_chart_drops(bench: Bench) -> None:
    """Why all this is needed."""
    bench.helm.install(bench.request("web", WITH))
    bench.helm.upgrade(bench.request("web", WITHOUT))
    wait_until(lambda: bench.object("claim", "web-data") is None, "the claim is gone")


def test_a_claim_that_an_upgrade_drops_is_kept_and_taken_up_again(bench: Bench) -> None:
    bench.helm.install(bench.request("web", WITH))
    before = uid(bench)
    assert upgrade(bench, bench.request("web", WITHOUT)) == (CLAIM,)
    assert bench.config("web")["colour"] == "blue"
    assert (uid(bench), label(bench)) == (before, "web")

    assert upgrade(bench, bench.request("web", {"data": {"colour": "green"}})) == ()
    assert upgrade(bench, bench.request("web", WITH)) == ()
    assert (uid(bench), label(bench)) == (before, None)
    assert bench.statuses("web")[-1] == "deployed"


def test_the_record_says_so_before_helm_is_called(bench: Bench) -> None:
    """So that an uninstall by hand leaves it as well."""
    bench.helm.install(bench.request("web", WITH))
    keeper(bench).keep("web", bench.namespace, bench.helm.render(bench.request("web", WITHOUT)))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    wait_until(lambda: bench.object("configmap", "web") is None, "the rest is gone")
    assert label(bench) == "web"


def test_a_claim_that_a_rollback_drops_is_kept(bench: Bench) -> None:
    bench.helm.install(bench.request("web", WITHOUT))
    bench.helm.upgrade(bench.request("web", WITH))
    before = uid(bench)
    target = bench.records.manifest("web", bench.namespace, 1)
    assert keeper(bench).keep("web", bench.namespace, target) == (CLAIM,)
    bench.helm.rollback(RollbackRequest("web", bench.namespace, 1))
    assert bench.config("web")["colour"] == "blue"
    assert (uid(bench), label(bench)) == (before, "web")

    target = bench.records.manifest("web", bench.namespace, 2)
    assert keeper(bench).keep("web", bench.namespace, target) == ()
    bench.helm.rollback(RollbackRequest("web", bench.namespace, 2))
    assert (uid(bench), label(bench)) == (before, None)


def test_a_claim_of_the_last_deployed_revision_is_kept_after_an_upgrade_that_failed(bench: Bench) -> None:
    """Helm then starts from the revision that was deployed, and not from the newest one."""
    bench.helm.install(bench.request("web", WITH))
    failing = {**WITHOUT, "hook": {"events": "pre-upgrade", "outcome": "job-fails"}}
    request = bench.request("web", failing)
    with pytest.raises(Exception, match="web-hook"):
        bench.helm.upgrade(request)
    assert bench.statuses("web") == ["deployed", "failed"]
    assert upgrade(bench, bench.request("web", WITHOUT)) == (CLAIM,)
    assert label(bench) == "web"


def test_a_claim_that_the_chart_makes_only_once_is_kept(bench: Bench) -> None:
    """It asks the cluster whether there is one, and then has none: for Helm, that drops it."""
    once = {"claimOnce": True}
    bench.helm.install(bench.request("web", once))
    assert upgrade(bench, bench.request("web", {**once, **WITHOUT})) == (CLAIM,)
    assert label(bench) == "web"


@pytest.mark.parametrize("when", ["claimAtInstall", "claimOfFirst"])
def test_a_claim_that_the_chart_makes_at_the_install_alone_is_kept(bench: Bench, when: str) -> None:
    """It asks whether it is rendered for an install, or for which revision."""
    bench.helm.install(bench.request("web", {when: True}))
    before = uid(bench)
    request = bench.request("web", {when: True, **WITHOUT}, revision=2)
    action = ActionRequest(Action.UPGRADE, "identity", "web", bench.namespace, version=2)
    done = call_prepared(
        bench.helm.upgrade, bench.ports(), action, request, cancellation=bench.helm.new_cancellation()
    )
    assert done.text == f"keeps {CLAIM}"
    assert bench.config("web")["colour"] == "blue"
    assert (uid(bench), label(bench)) == (before, "web")


LISTED = [{"list": "List", "kind": True}, {"list": "PersistentVolumeClaimList", "kind": True}]
LISTED += [{"list": "PersistentVolumeClaimList", "kind": False}]


@pytest.mark.parametrize("listed", LISTED, ids=["list", "typed-list", "items-without-kind"])
def test_a_claim_in_a_list_outlives_an_upgrade_and_the_release(bench: Bench, listed: dict[str, Any]) -> None:
    bench.helm.install(bench.request("web", {"listedClaim": listed}))
    before = uid(bench)
    bench.uninstall("web")
    wait_until(lambda: bench.object("configmap", "web") is None, "the rest is gone")
    assert (uid(bench), label(bench)) == (before, "web")

    bench.helm.install(bench.request("web", {"listedClaim": listed}))
    assert upgrade(bench, bench.request("web", WITHOUT)) == (CLAIM,)
    assert (uid(bench), label(bench)) == (before, "web")


def test_an_earlier_kept_claim_outlives_the_release(bench: Bench) -> None:
    bench.helm.install(bench.request("web", WITH))
    upgrade(bench, bench.request("web", WITHOUT))
    bench.records.delete_claims("web", bench.namespace)
    keeper(bench).keep("web", bench.namespace, NOTHING)
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    wait_until(lambda: bench.object("configmap", "web") is None, "the rest is gone")
    assert label(bench) == "web"


def test_retained_claims_outlive_the_release_and_are_taken_up_again(bench: Bench) -> None:
    bench.helm.install(bench.request("web", WITH))
    before = uid(bench)
    assert keeper(bench).keep("web", bench.namespace, NOTHING) == (CLAIM,)
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    wait_until(lambda: bench.object("configmap", "web") is None, "the rest is gone")
    assert label(bench) == "web"
    request = bench.request("web", WITH)
    keeper(bench).keep("web", bench.namespace, bench.helm.render(request))
    bench.helm.install(request)
    assert (uid(bench), label(bench)) == (before, None)


def _another_revision(bench: Bench) -> None:
    """An uninstall goes by the newest revision: that is theirs, and not the one that was marked."""
    bench.helm.rollback(RollbackRequest("web", bench.namespace, 1))


def _record_deleted(bench: Bench) -> None:
    """As someone does by hand while a hook of the removal runs: an older record is the newest then."""
    bench.kube.delete(SECRET, "sh.helm.release.v1.web.v2", bench.namespace)


@pytest.mark.parametrize(
    ("meanwhile", "said"),
    [
        (_another_revision, "another Helm created revision 3"),
        (_record_deleted, "the record of revision 2 was deleted"),
    ],
)
def test_a_claim_stays_whatever_another_does_to_the_release_during_the_uninstall(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Bench], None], said: str
) -> None:
    values = {**WITH, "hook": {"events": "pre-delete", "outcome": "succeeds"}}
    bench.helm.install(bench.request("web", values))
    bench.helm.upgrade(bench.request("web", values))
    before, uninstall = uid(bench), bench.helm.uninstall

    def and_then(request: UninstallRequest, cancellation: Cancellation) -> None:
        uninstall(request, cancellation)
        if request.keep_history:
            meanwhile(bench)

    with monkeypatch.context() as patched:
        patched.setattr(bench.helm, "uninstall", and_then)
        with pytest.raises(Conflict, match=said):
            bench.uninstall("web")
    bench.uninstall("web")
    wait_until(lambda: bench.object("configmap", "web") is None, "the rest is gone")
    assert bench.statuses("web") == []
    assert (uid(bench), label(bench)) == (before, "web")


def test_helm_can_still_upgrade_a_release_whose_claims_are_retained(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"claim": True}))
    keeper(bench).keep("web", bench.namespace, NOTHING)
    made = bench.helm.upgrade(bench.request("web", WITH))

    assert made.status == "deployed"
    assert bench.config("web")["colour"] == "red"
    assert len(bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm,name=web")) == 2


@pytest.mark.parametrize("uninstall", [True, False], ids=["uninstall", "upgrade"])
def test_claims_of_a_set_that_deletes_them_are_kept(bench: Bench, uninstall: bool) -> None:
    bench.helm.install(bench.request("web", chart="stateful"))
    wait_until(lambda: len(_owned_claims(bench)) == 2, "both claims belong to the set")
    names = ("data-web-0", "data-web-1")
    titles = tuple(f"PersistentVolumeClaim/{name}" for name in names)
    if uninstall:
        assert keeper(bench).keep("web", bench.namespace, NOTHING) == titles
        bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    else:
        assert upgrade(bench, bench.request("web", WITHOUT)) == titles
    wait_until(lambda: bench.object("statefulset", "web") is None, "the set is gone")
    assert [label(bench, name) for name in names] == ["web", "web"]

    request = bench.request("web", chart="stateful")
    keeper(bench).keep("web", bench.namespace, bench.helm.render(request))
    assert [label(bench, name) for name in names] == [None, None]


def test_a_set_that_would_delete_claims_by_scaling_is_not_scaled(bench: Bench) -> None:
    bench.helm.install(bench.request("web", chart="stateful"))
    patch = {"spec": {"replicas": 3}}
    bench.kube.merge_patch(STATEFULSET, "web", bench.namespace, patch)
    less = bench.helm.render(bench.request("web", {"replicas": 1}, chart="stateful"))
    keeper(bench).refuse(less, bench.namespace, "upgrade")  # whenScaled is Retain
    for obj in less.manifest:
        obj["spec"]["persistentVolumeClaimRetentionPolicy"]["whenScaled"] = "Delete"
    with pytest.raises(FieldsFixed, match=r"from 3 to 1 replicas deletes the claims .* volumes: Delete"):
        keeper(bench).refuse(less, bench.namespace, "upgrade")


@pytest.mark.parametrize(
    ("policy", "refused"),
    [("", True), ("before-hook-creation,hook-succeeded", False), ("hook-failed", False)],
)
def test_a_hook_that_deletes_its_claim_is_not_run(bench: Bench, policy: str, refused: bool) -> None:
    notes = {"helm.sh/hook": "pre-install,pre-upgrade"}
    notes |= {"helm.sh/hook-delete-policy": policy} if policy else {}
    request = bench.request("web", {"hookClaim": notes})
    keeper(bench).refuse(bench.helm.render(request), bench.namespace, "install")
    bench.helm.install(request)
    if not refused:
        keeper(bench).refuse(bench.helm.render(request), bench.namespace, "upgrade")
        return
    before = uid(bench, "web-scratch")
    with pytest.raises(FieldsFixed, match="web-scratch is a hook"):
        keeper(bench).refuse(bench.helm.render(request), bench.namespace, "upgrade")
    # What was refused. Helm may even apply to the one that is on its way out, and wait for it in vain.
    with suppress(HelmCancelled):
        bench.helm.upgrade(replace(request, timeout=5))
    after = bench.object("claim", "web-scratch")
    there = after["metadata"] if after else {}
    assert there.get("uid") != before or there.get("deletionTimestamp")


def test_a_persistent_volume_that_the_chart_drops_is_kept(bench: Bench) -> None:
    name = f"{bench.namespace}-volume"
    bench.helm.install(bench.request("web", {"volume": True}))
    try:
        assert upgrade(bench, bench.request("web", WITHOUT)) == (f"PersistentVolume/{name}",)
        found = bench.kube.get(PV, name)
        assert found is not None
        assert found["metadata"]["annotations"][KEEP_ANNOTATION] == "keep"
        assert "deletionTimestamp" not in found["metadata"]
    finally:
        bench.kube.delete(PV, name)


def test_with_volumes_delete_a_dropped_claim_goes(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {**WITH, "keptClaim": True}))
    request = bench.request("web", WITHOUT)
    kept = keeper(bench).keep("web", bench.namespace, bench.helm.render(request), "Delete")
    assert kept == ("PersistentVolumeClaim/web-kept",)  # the chart itself has Helm keep it
    bench.helm.upgrade(request)
    wait_until(lambda: bench.object("claim", "web-data") is None, "the claim is gone")
    assert label(bench, "web-kept") == "web"


def _owned_claims(bench: Bench) -> list[str]:
    claims = bench.kube.list_metadata(PVC, bench.namespace)
    return [one["metadata"]["name"] for one in claims if one["metadata"].get("ownerReferences")]
