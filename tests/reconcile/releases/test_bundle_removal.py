"""A release that goes: its hooks, what they leave, what holds it up, and the ways out."""

from __future__ import annotations

import threading

import pytest

from controller.domain.api.names import SKIP_HOOKS_ANNOTATION, SKIP_HOOKS_RELEASE_PREFIX
from controller.errors import ApiUnavailable, Forbidden
from controller.ports.helm import UninstallRequest
from controller.ports.kubernetes import HELMBUNDLE, JOB, SECRET
from controller.ports.kubernetes import NAMESPACE as NAMESPACE_RESOURCE
from tests.fakes.helm import Hook
from tests.fakes.kube import Request
from tests.reconcile.bundles import NAMESPACE, Bench

CLEAN = Hook("glance-clean", events="pre-delete")


@pytest.fixture
def bench() -> Bench:
    """One release with a hook of its deletion, deployed."""
    bench = Bench()
    bench.helm.hooks_of["glance"] = [CLEAN]
    bench.bundle("images", "glance")
    bench.settle()
    bench.helm.calls.clear()
    return bench


CRASHED = {
    "phase": "Failed",
    "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}],
}


def is_gone(bench: Bench) -> bool:
    return bench.kube.get(HELMBUNDLE, "images", NAMESPACE) is None


def test_the_hooks_of_the_deletion_run_and_nothing_of_them_is_left(bench: Bench) -> None:
    bench.helm.finish(CLEAN.name)
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.calls == [("Uninstall", "glance")]
    assert bench.kube.get(JOB, CLEAN.name, NAMESPACE) is None


def test_a_kill_after_the_uninstall_leaves_no_hook_behind(bench: Bench) -> None:
    bench.helm.finish(CLEAN.name)

    def killed(request: Request) -> None:
        if (request.verb, request.kind) == ("delete", "Job") and bench.helm.status("glance") == "uninstalled":
            raise ApiUnavailable("killed")

    bench.kube.before_write = killed
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.settle()
    assert bench.helm.status("glance") == "uninstalled"
    assert bench.kube.get(JOB, CLEAN.name, NAMESPACE) is not None
    bench.kube.before_write = lambda request: None
    bench.restart()
    bench.clock.advance(600)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.kube.get(JOB, CLEAN.name, NAMESPACE) is None
    assert bench.helm.calls == [("Uninstall", "glance")]


def test_hooks_run_unless_something_speaks_against_it(bench: Bench) -> None:
    bench.helm.finish(CLEAN.name)
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.without_hooks == []


def test_a_hook_that_fails_is_reported_with_the_way_out(bench: Bench) -> None:
    bench.helm.finish(CLEAN.name, "Failed")
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.settle()
    entry = bench.release("images", "glance")
    assert (entry["state"], entry["reason"]) == ("Failed", "BackingOff")
    assert CLEAN.name in entry["lastAttempt"]["error"]
    way_out = f"kubectl annotate hb images {SKIP_HOOKS_RELEASE_PREFIX}/glance=true"
    assert entry["lastAttempt"]["error"].endswith(way_out)
    assert not is_gone(bench)


@pytest.mark.parametrize("annotation", [SKIP_HOOKS_ANNOTATION, f"{SKIP_HOOKS_RELEASE_PREFIX}/glance"])
def test_the_way_out_is_taken_at_once(bench: Bench, annotation: str) -> None:
    bench.helm.finish(CLEAN.name, "Failed")
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.settle()
    bench.helm.calls.clear()
    bench.annotate("images", {annotation: "true"})
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.without_hooks == ["glance"]
    assert bench.kube.get(JOB, CLEAN.name, NAMESPACE) is None


def test_the_way_out_of_a_name_that_is_taken_is_reported_and_leaves_what_is_there(bench: Bench) -> None:
    theirs = CLEAN.job(NAMESPACE)
    meta = {"name": CLEAN.name, "namespace": NAMESPACE}
    bench.kube.create({**theirs, "metadata": meta, "spec": {"template": {"theirs": True}}})
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.settle()
    error = bench.release("images", "glance")["lastAttempt"]["error"]
    assert error.startswith(f"Job/{CLEAN.name} exists already, has no owner and differs")
    way_out = f"kubectl annotate hb images {SKIP_HOOKS_RELEASE_PREFIX}/glance=true"
    assert error.endswith(f"; to remove it without its hooks: {way_out}")
    bench.annotate("images", {f"{SKIP_HOOKS_RELEASE_PREFIX}/glance": "true"})
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    left = bench.kube.get(JOB, CLEAN.name, NAMESPACE)
    assert left is not None
    assert left["spec"] == {"template": {"theirs": True}}


def test_the_way_out_ends_a_hook_that_hangs(bench: Bench) -> None:
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs(CLEAN.name), "the hook runs")
    bench.annotate("images", {SKIP_HOOKS_ANNOTATION: "true"})
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.without_hooks == ["glance"]
    assert bench.kube.get(JOB, CLEAN.name, NAMESPACE) is None


def test_in_a_namespace_that_is_being_deleted_no_hook_holds_the_release(bench: Bench) -> None:
    meta = {"name": NAMESPACE, "finalizers": ["kubernetes"]}
    bench.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    bench.kube.delete(NAMESPACE_RESOURCE, NAMESPACE)
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.without_hooks == ["glance"]


def test_a_release_that_others_have_removed_holds_nothing(bench: Bench) -> None:
    bench.helm.uninstall(UninstallRequest("glance", NAMESPACE, hooks=False))
    bench.helm.calls.clear()
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.calls == []


@pytest.mark.parametrize("gone", ["bundle", "release", "release and Secret", "release, Secret changed"])
def test_a_secret_without_our_mark_stays_out_of_the_error(gone: str) -> None:
    bench = Bench()
    bench.helm.hooks_of["glance"] = [CLEAN]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": NAMESPACE}}
    bench.kube.create({**secret, "stringData": {"p": "planted-secret-word"}})
    values = {"password": {"$secretRef": {"name": "mine", "key": "p"}}}
    bench.bundle("images", {"name": "glance", "values": values})
    bench.settle()
    if "Secret" in gone:
        bench.kube.delete(SECRET, "mine", NAMESPACE)
    if "changed" in gone:
        bench.kube.create({**secret, "stringData": {"p": "another-word"}})
    if gone == "bundle":
        bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    else:
        bench.bundle("images", "other")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs(CLEAN.name), "the hook runs")
    bench.pod(CLEAN.name, CRASHED)
    bench.kube.logs[NAMESPACE, "glance-clean-x7k2p", "main"] = "denied for planted-secret-word\n"
    bench.clock.advance(5)
    bench.reconcile()
    assert '"denied for [redacted]"' in bench.release("images", "glance")["message"]
    bench.helm.finish(CLEAN.name, "Failed")
    bench.until(lambda: bench.release("images", "glance").get("lastAttempt", {}).get("error"), "it fails")
    assert '"denied for [redacted]"' in bench.release("images", "glance")["lastAttempt"]["error"]
    assert "planted" not in str(bench.statuses()) and "planted" not in str(bench.events.emitted)


def test_a_secret_that_a_config_of_the_release_quotes_stays_out_of_the_error() -> None:
    bench = Bench()
    bench.helm.hooks_of["glance"] = [CLEAN]
    meta = {"name": "glance-etc", "namespace": NAMESPACE}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "p=planted-word\n"}}
    bench.helm.objects_of["glance"] = [config]
    bench.bundle("images", {"name": "glance", "values": {"password": "planted-word"}})
    bench.settle()
    assert failing(bench, "denied for planted-word\n").count("[redacted]") == 1


@pytest.mark.parametrize("word", ["glance", "glance-clean", "glance\n"])
def test_a_secret_that_is_a_word_of_a_name_hides_no_name(bench: Bench, word: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": NAMESPACE}}
    bench.kube.create({**secret, "stringData": {"username": word, "password": "planted-word"}})
    values = {name: {"$secretRef": {"name": "mine", "key": name}} for name in ("username", "password")}
    bench.bundle("images", {"name": "glance", "values": values})
    bench.settle()
    error = failing(bench, "denied for planted-word of glance\n")
    assert "Job glance-clean: BackoffLimitExceeded" in error and "pod glance-clean-x7k2p failed" in error
    assert '"denied for [redacted] of glance"' in error


def failing(bench: Bench, said: str) -> str:
    """The error of a deletion whose hook has said that, and failed."""
    bench.bundle("images", "other")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs(CLEAN.name), "the hook runs")
    bench.pod(CLEAN.name, CRASHED)
    bench.kube.logs[NAMESPACE, "glance-clean-x7k2p", "main"] = said
    bench.helm.finish(CLEAN.name, "Failed")
    bench.until(lambda: bench.release("images", "glance").get("lastAttempt", {}).get("error"), "it fails")
    return str(bench.release("images", "glance")["lastAttempt"]["error"])


def test_names_that_a_release_shows_openly_stay_in_the_error(bench: Bench) -> None:
    bench.helm.hooks_of["glance"] = [CLEAN]
    bench.helm.objects_of["glance"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "glance-bin", "namespace": NAMESPACE}}
    ]
    bench.bundle("images", {"name": "glance", "values": {"user": "glance", "key": "planted-word"}})
    bench.settle()
    error = failing(bench, "denied for planted-word of glance\n")
    assert "Job glance-clean: BackoffLimitExceeded" in error and "pod glance-clean-x7k2p failed" in error
    assert '"denied for [redacted] of glance"' in error


ONCE = Hook("glance-clean", events="pre-delete", policy="hook-succeeded")


def removed(bench: Bench, outcome: str) -> None:
    """The bundle is to go, and its hook, which stays unless it succeeds, ends so at the first try."""
    bench.helm.hooks_of["glance"] = [ONCE]
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.helm.finish(ONCE.name, outcome)
    bench.settle()
    assert bench.kube.get(JOB, ONCE.name, NAMESPACE) is not None


def test_a_hook_that_helm_leaves_when_it_fails_runs_again(bench: Bench) -> None:
    removed(bench, "Failed")
    bench.helm.finish(ONCE.name)
    bench.clock.advance(600)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.kube.get(JOB, ONCE.name, NAMESPACE) is None


def test_nothing_is_left_of_a_hook_that_failed_once_hooks_are_skipped(bench: Bench) -> None:
    removed(bench, "Failed")
    bench.annotate("images", {SKIP_HOOKS_ANNOTATION: "true"})
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.kube.get(JOB, ONCE.name, NAMESPACE) is None


def test_nothing_is_left_of_a_hook_of_the_deletion_once_its_release_is_put_back(bench: Bench) -> None:
    bench.helm.hooks_of["glance"] = [ONCE]
    bench.bundle("images")
    bench.reconcile()
    bench.wait(lambda: bench.hook_runs(ONCE.name), "the hook runs")
    bench.bundle("images", "glance")
    bench.settle()
    assert bench.release("images", "glance")["state"] == "Deployed"
    assert bench.kube.get(JOB, ONCE.name, NAMESPACE) is None


def test_a_hook_of_an_upgrade_that_helm_leaves_when_it_fails_runs_again(bench: Bench) -> None:
    bench.helm.hooks_of["glance"] = [Hook("db-sync", policy="hook-succeeded")]
    bench.bundle("images", {"name": "glance", "values": {"a": 1}})
    bench.helm.finish("db-sync", "Failed")
    bench.settle()
    assert bench.helm.status("glance") == "failed"
    bench.helm.finish("db-sync")
    bench.clock.advance(600)
    bench.until(lambda: bench.release("images", "glance")["state"] == "Deployed", "it is deployed")


def test_a_removal_that_makes_room_ends_when_the_release_is_not_wanted(bench: Bench) -> None:
    """Its record stays until then, which knows the volumes that are to go as well."""
    bench.bundle("images", {"name": "glance", "values": {"a": 1}}, volumes="Delete")
    bench.settle()
    bench.helm.mark_uninstalling("glance", NAMESPACE, 2)
    held = threading.Event()
    bench.helm.on_uninstall = held.wait
    bench.reconcile()
    bench.wait(lambda: ("Uninstall", "glance") in bench.helm.calls, "it begins")
    bench.bundle("images", "other", volumes="Delete")
    bench.reconcile()
    held.set()
    bench.settle()
    assert bench.helm.status("glance") == ""
    assert ("DeleteClaims", "glance") in bench.helm.calls


def test_secrets_are_listed_once_a_look_however_many_releases_go() -> None:
    bench = Bench(size=1)
    names = [f"web{number}" for number in range(10)]
    bench.bundle("pages", *names)
    bench.settle()
    bench.helm.hooks_of["web0"] = [CLEAN]
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.reconcile()
    bench.kube.forget_requests()
    bench.reconcile()
    lists = [one for one in bench.kube.requests if (one.verb, one.kind) == ("list", "Secret")]
    assert len(lists) <= 1
    bench.helm.finish(CLEAN.name)
    bench.settle()


AFTERWARDS = Hook("glance-clean", events="post-delete", policy="before-hook-creation,hook-succeeded")


def test_a_hook_that_fails_once_all_is_gone_is_reported_and_runs_again(bench: Bench) -> None:
    bench.helm.hooks_of["glance"] = [AFTERWARDS]
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.helm.finish(AFTERWARDS.name, "Failed")
    bench.settle()
    entry = bench.release("images", "glance")
    assert (entry["state"], entry["lastAttempt"]["failures"]) == ("Failed", 1)
    assert AFTERWARDS.name in entry["lastAttempt"]["error"]
    bench.restart()
    bench.helm.finish(AFTERWARDS.name)
    bench.clock.advance(600)
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.without_hooks == []
    assert bench.helm.calls == [("Uninstall", "glance")] * 2
    assert bench.kube.get(JOB, AFTERWARDS.name, NAMESPACE) is None


def test_the_way_out_is_taken_where_a_hook_fails_once_all_is_gone(bench: Bench) -> None:
    bench.helm.hooks_of["glance"] = [AFTERWARDS]
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.helm.finish(AFTERWARDS.name, "Failed")
    bench.settle()
    bench.annotate("images", {SKIP_HOOKS_ANNOTATION: "true"})
    bench.until(lambda: is_gone(bench), "the bundle is gone")
    assert bench.helm.status("glance") == ""
    assert bench.kube.get(JOB, AFTERWARDS.name, NAMESPACE) is None


@pytest.mark.parametrize(("timeout", "grace"), [("1m", 1800), ("1h", 3600)])
def test_anothers_helm_is_given_time_when_a_bundle_is_deleted(timeout: str, grace: int) -> None:
    bench = Bench()
    bench.bundle("images", {"name": "glance", "timeout": timeout})
    bench.settle()
    bench.helm.record("glance", 2, "pending-upgrade", **bench.helm.labels("glance"))
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    bench.settle()
    bench.clock.advance(grace - 1)
    bench.settle()
    assert bench.release("images", "glance")["reason"] == "BusyElsewhere"
    bench.clock.advance(2)
    bench.until(lambda: is_gone(bench), "the bundle is gone")


def test_the_uninstall_of_what_no_spec_has_any_more_may_take_as_long_as_the_setting_says() -> None:
    bench = Bench()
    bench.uninstall_within = 1200
    bench.restart()
    bench.bundle("images", "glance", "placement")
    bench.settle()
    bench.bundle("images", "placement")
    bench.until(lambda: bench.helm.status("glance") == "", "the release is gone")
    assert bench.helm.uninstalls_within == [1200]


@pytest.mark.parametrize("ending", [True, False])
def test_a_bundle_whose_namespace_has_lost_our_roles_goes_only_with_the_namespace(
    bench: Bench, *, ending: bool
) -> None:
    meta = {"name": NAMESPACE, "finalizers": ["kubernetes"]}
    bench.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    bench.kube.delete(HELMBUNDLE, "images", NAMESPACE)
    if ending:
        bench.kube.delete(NAMESPACE_RESOURCE, NAMESPACE)
    for account in bench.accounts:
        account.lose_roles()
    if ending:
        assert bench.reconciler.reconcile((NAMESPACE, "images")) is None
    else:
        with pytest.raises(Forbidden):
            bench.reconciler.reconcile((NAMESPACE, "images"))
    assert is_gone(bench) is ending
    assert bench.helm.calls == []


def test_a_bundle_below_one_that_stays_says_how_either_goes_on() -> None:
    bench = Bench()
    bench.bundle("database", "mariadb")
    bench.bundle("identity", {"name": "keystone", "dependsOn": ["mariadb"]})
    bench.settle()
    bench.kube.delete(HELMBUNDLE, "database", NAMESPACE)
    bench.settle()
    message = bench.release("database", "mariadb")["message"]
    keep = """patch hb database --type merge -p '{"metadata":{"finalizers":null}}'"""
    assert message == (
        f"still needed by keystone, which stays. To keep mariadb: kubectl -n openstack {keep}. "
        "To remove both: kubectl -n openstack delete hb identity"
    )
    bench.kube.delete(HELMBUNDLE, "identity", NAMESPACE)
    bench.until(lambda: bench.kube.get(HELMBUNDLE, "database", NAMESPACE) is None, "the bundle is gone")
