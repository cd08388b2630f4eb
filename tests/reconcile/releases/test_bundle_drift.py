"""A bundle whose releases others change: what is reported, what is corrected, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.names import FORCE_ANNOTATION, RECONCILE_ANNOTATION
from controller.errors import ObjectRefused
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, JOB
from tests.fakes.helm import Hook
from tests.fakes.kube import Request
from tests.reconcile.bundles import NAMESPACE, Bench

SETTINGS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"a": "1", "b": "2"},
}


@pytest.fixture
def bench() -> Bench:
    """One release, deployed and looked after."""
    bench = Bench()
    bench.helm.objects_of["web"] = [SETTINGS]
    return bench


def deployed(bench: Bench, **spec: Any) -> None:
    bench.bundle("pages", {"name": "web", **spec})
    bench.settle()
    let_pass(bench, 100)
    bench.kube.forget_requests()
    bench.helm.calls.clear()
    bench.events.emitted.clear()


def let_pass(bench: Bench, seconds: float) -> None:
    """Time passes, and the lookout looks whenever it is due."""
    end = bench.clock.monotonic() + seconds
    while (left := end - bench.clock.monotonic()) > 0:
        again = bench.drift.reconcile()
        bench.clock.advance(left if again is None else min(left, again))


def edit(bench: Bench, **data: str | None) -> None:
    bench.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": data})
    reported(bench)


def reported(bench: Bench) -> None:
    """The watch tells what has happened, and the lookout compares it."""
    bench.watch.deliver()
    let_pass(bench, 2)


def data(bench: Bench) -> dict[str, str]:
    found = bench.kube.get(CONFIGMAP, "settings", NAMESPACE)
    assert found is not None
    return dict(found["data"])


def test_an_edit_is_reported_and_put_right_without_helm(bench: Bench) -> None:
    deployed(bench)
    edit(bench, a="9")
    assert bench.asked == {(NAMESPACE, "pages")}
    bench.reconcile()
    assert bench.release("pages", "web")["drift"] == [
        {"object": "ConfigMap/settings", "change": "Edited", "paths": ["/data/a"]}
    ]
    assert bench.condition("pages", "Ready")["status"] == "True"
    bench.settle()
    assert data(bench) == {"a": "1", "b": "2"}
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"], entry["revision"]) == ("Deployed", "InSync", 1)
    assert entry["lastAttempt"]["action"] == "Correct"
    assert "drift" not in entry
    assert bench.helm.calls == []
    assert bench.events.emitted == [
        ("Normal", "CorrectSucceeded: Correct of release web succeeded: "
         "ConfigMap/settings was changed (/data/a)"),
    ]  # fmt: skip


def test_a_request_for_another_look_finds_what_no_watch_has_reported(bench: Bench) -> None:
    deployed(bench)
    bench.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": "9"}})
    let_pass(bench, 30)
    bench.settle()
    assert data(bench)["a"] == "9"
    bench.annotate("pages", {RECONCILE_ANNOTATION: "now"})
    bench.settle()
    let_pass(bench, 30)
    bench.settle()
    assert data(bench)["a"] == "1"
    assert bench.helm.calls == []


def test_a_deleted_hook_job_comes_back_and_no_other_hook_runs(bench: Bench) -> None:
    bench.helm.hooks_of["web"] = [Hook("db-sync"), Hook("bootstrap", weight=5)]
    bench.helm.finish("db-sync")
    bench.helm.finish("bootstrap")
    deployed(bench)
    other = bench.kube.get(JOB, "bootstrap", NAMESPACE)
    bench.kube.delete(JOB, "db-sync", NAMESPACE)
    reported(bench)
    bench.settle()
    assert bench.kube.get(JOB, "db-sync", NAMESPACE) is not None
    assert bench.kube.get(JOB, "bootstrap", NAMESPACE) == other
    assert bench.helm.calls == []


def test_warn_shows_once_and_touches_nothing(bench: Bench) -> None:
    deployed(bench, drift="Warn")
    edit(bench, a="9")
    for _ in range(3):
        bench.settle()
    assert data(bench)["a"] == "9"
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Deployed", "Drifted")
    assert entry["drift"][0]["paths"] == ["/data/a"]
    assert bench.events.emitted == [
        ("Warning", "Drifted: release web: ConfigMap/settings was changed (/data/a)")
    ]
    edit(bench, a="1")
    bench.settle()
    assert "drift" not in bench.release("pages", "web")


def test_ignore_does_not_even_look(bench: Bench) -> None:
    deployed(bench, drift="Ignore")
    assert bench.watch.kinds == []
    edit(bench, a="9")
    assert bench.kube.requests[1:] == []


def test_a_rule_of_the_release_is_kept_to(bench: Bench) -> None:
    deployed(bench, driftIgnore=[{"kind": "ConfigMap", "paths": ["/data/a"]}])
    edit(bench, a="9", b="9")
    bench.settle()
    assert data(bench) == {"a": "9", "b": "2"}


def test_other_rules_and_another_mode_count_at_once(bench: Bench) -> None:
    deployed(bench, drift="Warn")
    edit(bench, a="9")
    bench.settle()
    bench.bundle("pages", {"name": "web", "drift": "Correct"})
    bench.settle()
    assert data(bench)["a"] == "1"
    assert bench.helm.calls == []


@pytest.mark.parametrize(
    "spec", [{"mode": "Paused"}, {"mode": "Plan"}, {"releases": [{"suspend": True}]}], ids=str
)
def test_what_is_suspended_or_only_planned_for_is_left_alone(bench: Bench, spec: dict[str, Any]) -> None:
    deployed(bench)
    more = spec.pop("releases", [{}])[0]
    bench.bundle("pages", {"name": "web", **more}, **spec)
    bench.settle()
    bench.kube.forget_requests()
    edit(bench, a="9")
    bench.settle()
    assert data(bench)["a"] == "9"
    assert [request for request in bench.kube.requests if request.dry_run] == []


@pytest.mark.slow
def test_what_cannot_be_put_right_is_reported_with_the_field_and_tried_ever_less_often(bench: Bench) -> None:
    deployed(bench)

    def refuse(request: Request) -> None:
        if request.kind == "ConfigMap" and request.verb == "apply":
            raise ObjectRefused('data.a: Invalid value: "hush-hush": field is immutable')

    edit_only = {"data": {"a": "9"}}
    bench.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, edit_only)
    bench.kube.before_write = refuse
    reported(bench)
    bench.settle()
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Failed", "BackingOff")
    assert "ConfigMap/settings cannot be corrected" in entry["lastAttempt"]["error"]
    assert "data.a" in entry["drift"][0]["message"]
    assert "hush-hush" not in str(bench.status("pages"))
    tries = []
    for _ in range(60):
        bench.clock.advance(60)
        bench.settle()
        tries.append(bench.release("pages", "web")["lastAttempt"]["failures"])
    assert 10 <= tries[-1] <= 25

    # It holds up nothing else.
    bench.kube.before_write = lambda request: None
    bench.bundle("pages", {"name": "web", "values": {"a": "b"}})
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "web")]
    assert bench.release("pages", "web")["state"] == "Deployed"


@pytest.mark.slow
def test_an_object_that_cannot_be_put_right_does_not_delay_the_others(bench: Bench) -> None:
    bad = {**SETTINGS, "metadata": {"name": "bad"}}
    bench.helm.objects_of["web"] = [bad, SETTINGS]
    deployed(bench)

    def refuse(request: Request) -> None:
        if (request.verb, request.name) == ("apply", "bad"):
            raise ObjectRefused("data.a: Invalid value: field is immutable")

    bench.kube.merge_patch(CONFIGMAP, "bad", NAMESPACE, {"data": {"a": "9"}})
    bench.kube.before_write = refuse
    reported(bench)
    for _ in range(40):
        bench.settle()
        let_pass(bench, 60)
    entry = bench.release("pages", "web")
    assert (entry["reason"], entry["lastAttempt"]["failures"] > 3) == ("BackingOff", True)
    bench.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    reported(bench)
    bench.settle()
    assert data(bench) == {"a": "1", "b": "2"}
    entry = bench.release("pages", "web")
    assert [one["object"] for one in entry["drift"]] == ["ConfigMap/bad"]
    assert entry["reason"] == "BackingOff"


def test_a_webhook_that_takes_no_dry_runs_does_not_make_a_release_fail(bench: Bench) -> None:
    deployed(bench)

    def refuse(request: Request) -> None:
        if request.kind == "ConfigMap" and request.dry_run:
            raise ObjectRefused('admission webhook "x" does not support dry run')

    bench.kube.before_write = refuse
    edit(bench, a="9")
    for _ in range(5):
        bench.settle()
        let_pass(bench, 1800)
    assert bench.release("pages", "web")["reason"] == "InSync"
    assert bench.condition("pages", "Ready")["status"] == "True"
    assert bench.events.emitted == []


def test_who_changes_it_back_again_and_again_is_named_and_waited_for(bench: Bench) -> None:
    deployed(bench)
    for _ in range(3):
        edit(bench, a="9")
        bench.settle()
        assert data(bench)["a"] == "1"
    edit(bench, a="9")
    bench.settle()
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Deployed", "DriftRecurs")
    assert entry["message"].startswith("corrected 3 times within an hour, and changed again")
    assert data(bench)["a"] == "9"
    bench.clock.advance(20)
    bench.settle()
    assert data(bench)["a"] == "1"


@pytest.mark.slow
def test_five_fights_in_an_hour_take_minutes_between_corrections(bench: Bench) -> None:
    deployed(bench)
    corrections = 0
    for _ in range(120):
        if data(bench)["a"] == "1":
            corrections += 1
            edit(bench, a="9")
        bench.settle()
        bench.clock.advance(30)
    assert corrections <= 25


def test_an_upgrade_ends_all_drift_of_the_revision_before(bench: Bench) -> None:
    deployed(bench, drift="Warn")
    edit(bench, a="9")
    bench.settle()
    bench.bundle("pages", {"name": "web", "drift": "Warn", "values": {"a": "b"}})
    bench.settle()
    let_pass(bench, 100)
    bench.settle()
    assert "drift" not in bench.release("pages", "web")
    assert data(bench)["a"] == "1"


def test_a_forced_upgrade_is_not_made_again_after_a_correction(bench: Bench) -> None:
    deployed(bench)
    bench.annotate("pages", {FORCE_ANNOTATION: "now"})
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "web")]
    let_pass(bench, 100)
    edit(bench, a="9")
    bench.settle()
    assert data(bench)["a"] == "1"
    assert bench.helm.calls == [("Upgrade", "web")]


def test_a_new_process_finds_what_was_changed_while_there_was_none(bench: Bench) -> None:
    deployed(bench)
    bench.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": None}})
    bench.restart()
    bench.settle()
    let_pass(bench, 100)
    bench.settle()
    assert data(bench)["a"] == "1"


def test_a_pass_over_a_release_that_is_looked_after_costs_no_more(bench: Bench) -> None:
    def asked() -> list[tuple[str, str]]:
        bench.kube.forget_requests()
        bench.reconcile()
        # One list of kept claims serves all bundles of the namespace for half a minute.
        return [(one.verb, one.kind) for one in bench.kube.requests if one.kind != "PersistentVolumeClaim"]

    bench.bundle("pages", "web")
    bench.settle()
    before = asked()
    let_pass(bench, 100)
    assert asked() == before
    assert bench.kube.writes == []


def test_a_bundle_that_goes_is_no_longer_looked_after(bench: Bench) -> None:
    deployed(bench)
    bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
    bench.settle()
    bench.kube.forget_requests()
    let_pass(bench, 5000)
    assert bench.kube.requests == []


def test_a_deleted_newest_record_is_made_again(bench: Bench) -> None:
    deployed(bench)
    bench.bundle("pages", {"name": "web", "values": {"a": "b"}})
    bench.settle()
    bench.helm.lose_newest("web")
    bench.settle()
    assert bench.release("pages", "web")["state"] == "Deployed"
    assert bench.helm.calls == [("Upgrade", "web"), ("Upgrade", "web")]
