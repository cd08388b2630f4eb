"""StatefulSets that hooks make, and whose claims go with them: under `volumes: Retain` the claims stay."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from controller.domain.api.names import KEPT_LABEL, SKIP_HOOKS_RELEASE_PREFIX
from controller.domain.releases.kept_claims import is_kept
from controller.ports.helm import RemovalState
from controller.ports.kubernetes import HELMBUNDLE, PVC, STATEFULSET
from tests.fakes.helm import Hook
from tests.fakes.kube import Request
from tests.reconcile.bundles import DEADLINE, NAMESPACE, Bench

SPEC = {
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
    "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
}
STORE = Hook("store", "post-install,post-upgrade", kind="StatefulSet", template=SPEC)


def install(hook: Hook, claimed: bool = True) -> Bench:
    """A release whose hook has made a StatefulSet, which owns its claim."""
    bench = Bench()
    bench.helm.hooks_of["web"] = [hook]
    bench.bundle("pages", {"name": "web", "values": {"step": 1}})
    bench.settle()
    if claimed:
        claim(bench)
    return bench


def claim(bench: Bench) -> None:
    live = bench.kube.get(STATEFULSET, "store", NAMESPACE)
    uid = live["metadata"]["uid"] if live else "gone"
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "store", "uid": uid}
    meta = {"name": "data-store-0", "namespace": NAMESPACE, "ownerReferences": [owner]}
    bench.kube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": {}})


def is_spared(bench: Bench) -> bool:
    """Whether neither the StatefulSet nor Kubernetes' garbage collector deletes the claim with the set."""
    found = bench.kube.get(PVC, "data-store-0", NAMESPACE)
    live = bench.kube.get(STATEFULSET, "store", NAMESPACE)
    assert found is not None and live is not None
    policy = live["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"]
    return policy == "Retain" and not found["metadata"].get("ownerReferences")


def watch_deletions(bench: Bench) -> list[bool]:
    """Of each deletion of the StatefulSet, whether its claim was spared by then."""
    spared: list[bool] = []

    def look(request: Request) -> None:
        there = bench.kube.get(STATEFULSET, "store", NAMESPACE) is not None
        if there and (request.verb, request.kind) == ("delete", "StatefulSet"):
            spared.append(is_spared(bench))

    bench.kube.before_write = look
    return spared


def message(bench: Bench) -> str:
    return str(bench.release("pages", "web").get("message"))


def test_the_claims_of_a_hooks_set_outlive_the_release() -> None:
    bench = install(STORE)
    spared = watch_deletions(bench)
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    assert bench.statuses() == {}
    assert spared == [True]
    found = bench.kube.get(PVC, "data-store-0", NAMESPACE)
    assert found is not None and is_kept(found["metadata"])
    assert found["metadata"]["labels"][KEPT_LABEL] == "web"


@pytest.mark.parametrize("when_deleted", ["Delete", "Retain"])
def test_the_claims_of_a_hooks_set_outlive_an_upgrade_that_replaces_the_set(when_deleted: str) -> None:
    """What counts is the StatefulSet that is there, also where the chart is corrected."""
    bench = install(STORE)
    spared = watch_deletions(bench)
    policy = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted}}
    bench.helm.hooks_of["web"] = [replace(STORE, template={**SPEC, **policy})]
    bench.bundle("pages", {"name": "web", "values": {"step": 2}})
    bench.settle()
    assert bench.helm.calls == [("Install", "web"), ("Upgrade", "web")]
    assert spared == [True]
    found = bench.kube.get(PVC, "data-store-0", NAMESPACE)
    assert found is not None and KEPT_LABEL not in (found["metadata"].get("labels") or {})


@pytest.mark.parametrize(
    "hook",
    [
        replace(STORE, policy="before-hook-creation,hook-succeeded"),
        replace(STORE, events="pre-upgrade,post-upgrade"),
    ],
)
def test_an_upgrade_that_makes_a_set_and_deletes_it_with_its_claims_is_refused(hook: Hook) -> None:
    """The new StatefulSet would own the claims that are there, and take them along."""
    bench = install(STORE)
    spared = watch_deletions(bench)
    bench.helm.hooks_of["web"] = [hook]
    bench.bundle("pages", {"name": "web", "values": {"step": 2}})
    bench.settle()
    assert (bench.helm.calls, spared) == ([("Install", "web")], [])
    assert "StatefulSet/store is a hook that is deleted with its claims" in message(bench)
    assert "persistentVolumeClaimRetentionPolicy.whenDeleted to Retain" in message(bench)
    bench.bundle("pages", {"name": "web", "values": {"step": 3}}, volumes="Delete")
    bench.settle()
    assert bench.helm.calls == [("Install", "web"), ("Upgrade", "web")]


def test_a_removal_whose_hook_would_delete_the_claims_is_refused_until_it_is_skipped() -> None:
    bench = install(replace(STORE, events="post-install,pre-delete"))
    spared = watch_deletions(bench)
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    assert ("Uninstall", "web") not in bench.helm.calls
    assert spared == []
    assert "is a hook that is deleted with its claims at each uninstall: set volumes: Delete" in message(
        bench
    )
    assert f"{SKIP_HOOKS_RELEASE_PREFIX}/web=true" in message(bench)
    bench.annotate("pages", {f"{SKIP_HOOKS_RELEASE_PREFIX}/web": "true"})
    bench.clock.advance(600)
    bench.settle()
    assert (bench.statuses(), spared) == ({}, [True])


def test_a_removal_whose_hook_replaces_a_claim_is_refused() -> None:
    """A claim that is itself a hook, of the deletion as well."""
    bench = Bench()
    bench.helm.hooks_of["web"] = [Hook("scratch", "pre-install,pre-delete", kind="PersistentVolumeClaim")]
    bench.bundle("pages", {"name": "web"})
    bench.settle()
    before = bench.kube.get(PVC, "scratch", NAMESPACE)
    assert before is not None
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    assert bench.kube.get(PVC, "scratch", NAMESPACE) == before
    assert "created again at each uninstall: set volumes: Delete" in message(bench)


def test_a_set_of_that_name_that_no_hook_has_made_is_left_alone() -> None:
    bench = install(replace(STORE, events="pre-rollback"), claimed=False)
    meta = {"name": "store", "namespace": NAMESPACE}
    theirs = bench.kube.create(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": SPEC}
    )
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    assert bench.statuses() == {}
    assert bench.kube.get(STATEFULSET, "store", NAMESPACE) == theirs


def test_a_removal_deletes_no_hooks_set_when_its_claims_are_to_stay_meanwhile() -> None:
    bench = install(STORE)
    spared = watch_deletions(bench)
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
    assert (bench.helm.status("web"), spared) == ("", [True])


def test_looks_after_the_claims_were_spared_write_nothing() -> None:
    bench = install(STORE)
    bench.bundle("pages", {"name": "web", "values": {"step": 2}})
    bench.settle()
    bench.kube.forget_requests()
    for _ in range(3):
        bench.clock.advance(60)
        bench.reconcile()
    assert bench.kube.writes == []
