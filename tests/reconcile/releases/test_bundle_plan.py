"""helmbundle with mode Plan: what it tells of each release, what it finishes, and what it leaves alone."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import BUNDLE_LABEL, DIGEST_LABEL, REVISION_LABEL, ROLLBACK_RELEASE_PREFIX
from controller.domain.releases.bundle import ChartRef
from controller.errors import ObjectRefused, SecretMissing
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.ports.kubernetes import HELMBUNDLE, PVC, SECRET
from tests.fakes.helm import FakeHelm, Hook
from tests.fakes.kube import Request
from tests.reconcile.bundles import NAMESPACE, Bench

REPLICAS = {"replicas": 2}


def rendered(release: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A chart of a Deployment, a ConfigMap and a Job; `extra` adds a Service, `claim` a claim, `large` a
    text."""

    def obj(kind: str, version: str, name: str, **body: Any) -> dict[str, Any]:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}

    template = {"metadata": {"annotations": {"conf": str(values.get("conf"))}}, "spec": {}}
    objects = [
        obj(
            "Deployment",
            "apps/v1",
            f"{release}-api",
            spec={"replicas": values.get("replicas", 3), "template": template},
        ),
        obj("ConfigMap", "v1", f"{release}-etc", data={"conf": str(values.get("conf"))}),
        obj("Job", "batch/v1", f"{release}-setup", spec={"template": {"image": values.get("image", "1")}}),
    ]
    if values.get("claim"):
        objects.append(obj("PersistentVolumeClaim", "v1", f"{release}-backup", spec={}))
    if values.get("extra"):
        objects.append(obj("Service", "v1", f"{release}-extra", spec={}))
    return objects


class RenderingHelm(FakeHelm):
    """Helm in memory that also renders. `renders` counts."""

    renders = 0

    def _make(self, action: str, request: HelmRequest, *rest: Any) -> Any:
        self.objects_of[request.release] = rendered(request.release, request.values)
        return super()._make(action, request, *rest)

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        self.renders += 1
        hooks = super().render(request, server=server).hooks
        objects = tuple(rendered(request.release, request.values))
        return RenderedRelease(objects, hooks, str(request.values.get("large", "")))

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        record = self._find(release, version)
        return RenderedRelease(tuple(dict(one) for one in record.objects), ())


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.helm = RenderingHelm(made.kube, made.clock)
    made.restart()
    return made


def release(name: str = "keystone", **values: Any) -> dict[str, Any]:
    return {"name": name, "values": values}


def spec_of(*releases: dict[str, Any], volumes: str = "Retain") -> dict[str, Any]:
    """A wish, as core writes it into `spec.planned`."""
    items = [{"chart": {"name": one["name"], "path": one["name"]}, **one} for one in releases]
    return {"volumes": volumes, "releases": items}


def plan(bench: Bench, name: str = "identity") -> dict[str, Any]:
    found: dict[str, Any] = bench.status(name)["plan"]
    return found


def entries(bench: Bench) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in plan(bench).get("releases") or []}


@pytest.fixture
def running(bench: Bench) -> Bench:
    """keystone deployed, and the bundle with mode Plan."""
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    bench.bundle("identity", release(conf="a"), mode="Plan")
    bench.reconcile()
    return bench


def test_what_is_deployed_as_wanted_has_an_empty_plan(running: Bench) -> None:
    assert set(plan(running)) == {"observedGeneration", "desired"}
    assert running.condition("identity", "Ready")["status"] == "True"


def test_a_changed_value_is_reported_by_its_effects(running: Bench) -> None:
    running.bundle("identity", release(conf="a"), mode="Plan", planned=spec_of(release(conf="b")))
    running.reconcile()
    [entry] = plan(running)["releases"]
    assert entry["action"] == "Upgrade"
    assert entry["objects"] == ["change ConfigMap/keystone-etc", "change Deployment/keystone-api"]
    assert (entry["restarts"], entry["pods"]) == (["Deployment/keystone-api"], 3)
    assert "jobs" not in entry
    assert running.condition("identity", "Ready")["status"] == "True"
    assert running.helm.calls == [("Install", "keystone")]


def test_a_change_that_restarts_nothing_is_reported(running: Bench) -> None:
    planned = spec_of(release(conf="a", **REPLICAS))
    running.bundle("identity", release(conf="a"), mode="Plan", planned=planned)
    running.reconcile()
    assert "restarts" not in entries(running)["keystone"]
    assert entries(running)["keystone"]["objects"] == ["change Deployment/keystone-api"]


def test_a_job_that_cannot_be_changed_is_replaced(running: Bench) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "Job" and request.dry_run:
            raise ObjectRefused("Job is invalid: spec.template: Invalid value: field is immutable")

    running.kube.before_write = refuse
    planned = spec_of(release(conf="a", image="2"))
    running.bundle("identity", release(conf="a"), mode="Plan", planned=planned)
    running.reconcile()
    assert entries(running)["keystone"]["jobs"] == ["keystone-setup"]
    assert entries(running)["keystone"]["objects"] == ["replace Job/keystone-setup"]


def test_what_the_api_server_would_refuse_is_a_problem_that_is_looked_at_again(running: Bench) -> None:
    def refuse(request: Request) -> None:
        if request.kind == "ConfigMap" and request.dry_run:
            raise ObjectRefused("ConfigMap is invalid: data.conf: Forbidden: hunter2 may not be set")

    running.kube.before_write = refuse
    running.bundle("identity", release(conf="a"), mode="Plan", planned=spec_of(release(conf="b")))
    assert (running.reconciler.reconcile((NAMESPACE, "identity")) or 300) <= 20
    problem = entries(running)["keystone"]["problem"]
    assert "ConfigMap/keystone-etc would fail" in problem
    assert "hunter2" not in problem
    running.kube.before_write = lambda _: None
    running.clock.advance(25)
    running.reconcile()
    assert "problem" not in entries(running)["keystone"]


def test_a_new_and_a_leaving_release_are_planned(running: Bench) -> None:
    planned = spec_of(release("horizon", conf="a"), volumes="Delete")
    running.bundle("identity", release(conf="a"), mode="Plan", planned=planned)
    running.reconcile()
    found = entries(running)
    assert {name: one["action"] for name, one in found.items()} == {
        "horizon": "Install",
        "keystone": "Uninstall",
    }
    assert "create Deployment/horizon-api" in found["horizon"]["objects"]
    assert "delete Deployment/keystone-api" in found["keystone"]["objects"]
    assert running.helm.calls == [("Install", "keystone")]


def test_objects_that_a_release_no_longer_has_are_deleted(bench: Bench) -> None:
    bench.bundle("identity", release(extra=True))
    bench.settle()
    bench.bundle("identity", release(extra=True), mode="Plan", planned=spec_of(release()))
    bench.reconcile()
    assert entries(bench)["keystone"]["objects"] == ["delete Service/keystone-extra"]


@pytest.mark.parametrize(("volumes", "verb"), [("Retain", "keep"), ("Delete", "delete")])
def test_a_claim_that_the_release_no_longer_has_is_kept_or_deleted(
    bench: Bench, volumes: str, verb: str
) -> None:
    bench.bundle("identity", release(claim=True, extra=True))
    bench.settle()
    planned = spec_of(release(), volumes=volumes)
    bench.bundle("identity", release(claim=True, extra=True), mode="Plan", planned=planned)
    bench.kube.forget_requests()
    bench.reconcile()
    assert entries(bench)["keystone"]["objects"] == [
        f"{verb} PersistentVolumeClaim/keystone-backup",
        "delete Service/keystone-extra",
    ]
    assert not [one for one in bench.kube.writes if one.kind == "PersistentVolumeClaim" and not one.dry_run]


def test_what_helm_leaves_by_itself_is_never_reported_as_lost(bench: Bench) -> None:
    bench.bundle("identity", release(claim=True))
    bench.settle()
    note = {"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}}
    bench.kube.merge_patch(PVC, "keystone-backup", NAMESPACE, note)
    planned = spec_of(release(), volumes="Delete")
    bench.bundle("identity", release(claim=True), mode="Plan", planned=planned)
    bench.reconcile()
    assert entries(bench)["keystone"]["objects"] == ["keep PersistentVolumeClaim/keystone-backup"]


def test_hooks_are_reported_in_the_order_in_which_helm_runs_them(running: Bench) -> None:
    running.helm.hooks_of["keystone"] = (
        Hook("keystone-bootstrap", weight=5),
        Hook("keystone-db-init", weight=-5),
        Hook("keystone-test", events="test"),
        Hook("keystone-check", events="pre-upgrade", weight=9),
    )
    running.bundle("identity", release(conf="a"), mode="Plan", planned=spec_of(release(conf="b")))
    running.reconcile()
    assert entries(running)["keystone"]["hooks"] == [
        "Job/keystone-check",
        "Job/keystone-db-init",
        "Job/keystone-bootstrap",
    ]


def test_a_plan_writes_nothing_but_the_bundles_status(running: Bench) -> None:
    running.bundle("identity", release(conf="a"), mode="Plan", planned=spec_of(release(conf="b")))
    running.kube.forget_requests()
    running.reconcile()
    assert {(one.kind, one.subresource) for one in running.kube.writes} == {("HelmBundle", "status")}


def test_the_same_plan_is_not_made_again_at_every_look(running: Bench) -> None:
    running.bundle("identity", release(conf="a"), mode="Plan", planned=spec_of(release(conf="b")))
    running.reconcile()
    assert isinstance(running.helm, RenderingHelm)
    renders = running.helm.renders
    running.reconcile()
    running.reconcile()
    assert running.helm.renders == renders
    running.clock.advance(400)
    running.reconcile()
    assert running.helm.renders > renders


def test_a_first_install_makes_not_even_the_installations_key(bench: Bench) -> None:
    asked = []
    bench.digest_key = lambda: asked.append(1) or b"key"  # type: ignore[func-returns-value]
    bench.restart()
    bench.bundle("identity", mode="Plan", planned=spec_of(release(conf="a")))
    bench.reconcile()
    assert entries(bench)["keystone"]["action"] == "Install"
    assert asked == []


def test_a_secret_that_is_not_there_yet_does_not_hide_the_plan(bench: Bench) -> None:
    reference = {"$secretRef": {"name": "mine", "key": "word"}}
    bench.bundle("identity", mode="Plan", planned=spec_of(release(conf=reference)))
    bench.reconcile()
    entry = entries(bench)["keystone"]
    assert entry["action"] == "Install"
    assert "1 credential is still missing" in entry["message"]


def test_a_secret_that_no_value_may_come_from_is_reported_by_the_plan(bench: Bench) -> None:
    meta = {"name": "mine", "namespace": NAMESPACE}
    type_ = "kubernetes.io/service-account-token"
    bench.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_})
    reference = {"$secretRef": {"name": "mine", "key": "token"}}
    bench.bundle("identity", mode="Plan", planned=spec_of(release(conf=reference), release("glance")))
    bench.reconcile()
    problem = entries(bench)["keystone"]["problem"]
    assert problem.startswith('Secret "mine" is ')
    assert entries(bench)["glance"]["objects"]


def test_a_chart_whose_repository_lacks_its_login_is_reported_by_the_plan(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(chart: ChartRef) -> str:
        raise SecretMissing("login", "password")

    monkeypatch.setattr(bench.charts, "digest", digest)
    bench.bundle("identity", mode="Plan", planned=spec_of(release()))
    bench.reconcile()
    problem = entries(bench)["keystone"]["problem"]
    assert problem == 'Secret "login" has no key "password", and it is referenced'


def test_a_login_that_is_taken_away_before_the_render_is_reported_by_the_plan(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locate(chart: ChartRef) -> str:
        raise SecretMissing("login", "password")

    monkeypatch.setattr(bench.charts, "locate", locate)
    bench.bundle("identity", mode="Plan", planned=spec_of(release()))
    bench.reconcile()
    assert 'Secret "login" has no key "password"' in entries(bench)["keystone"]["problem"]


def test_a_secret_that_the_chart_cannot_write_is_reported_by_the_plan(bench: Bench) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": NAMESPACE}}
    bench.kube.create({**secret, "data": {"word": base64.b64encode(b"pa$word").decode()}})
    reference = {"$secretRef": {"name": "mine", "key": "word"}}
    values = {"endpoints": {"identity": {"auth": {"glance": {"password": reference}}}}}
    chart = {"name": "keystone", "version": "2025.2.0", "repository": "https://charts.example.org"}
    desired = {"name": "keystone", "chart": chart, "values": values}
    bench.bundle("identity", mode="Plan", planned={"volumes": "Retain", "releases": [desired]})
    bench.reconcile()
    assert 'has a "$", which this chart cannot write into a file' in entries(bench)["keystone"]["problem"]


def test_a_rotated_secret_is_planned_and_not_shown(bench: Bench) -> None:
    def put(word: str) -> None:
        data = {"word": base64.b64encode(word.encode()).decode()}
        there = bench.kube.get(SECRET, "mine", NAMESPACE)
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": NAMESPACE}}
        if there:
            bench.kube.merge_patch(SECRET, "mine", NAMESPACE, {"data": data})
        else:
            bench.kube.create({**body, "data": data})

    put("planted-one")
    desired = release(conf={"$secretRef": {"name": "mine", "key": "word"}})
    bench.bundle("identity", desired)
    bench.settle()
    bench.bundle("identity", desired, mode="Plan")
    bench.reconcile()
    assert "releases" not in plan(bench)
    digests = []
    for word in ("planted-two", "planted-three"):
        put(word)
        bench.reconcile()
        digests.append(plan(bench)["digest"])
        assert entries(bench)["keystone"]["restarts"] == ["Deployment/keystone-api"]
    assert digests[0] != digests[1]
    assert "planted" not in str(bench.status("identity"))
    assert bench.helm.calls == [("Install", "keystone")]


def test_accounts_that_were_never_rotated_plan_nothing(bench: Bench) -> None:
    name = {"$secretRef": {"name": "mine", "key": "account-suffix", "prefix": "nova"}}
    bench.bundle("identity", release(conf=name))
    bench.settle()
    bench.bundle("identity", release(conf=name), mode="Plan")
    bench.reconcile()
    assert "releases" not in plan(bench)


def test_a_release_that_was_rolled_back_by_name_stays_there(running: Bench) -> None:
    running.bundle("identity", release(conf="b"))
    running.settle()
    running.annotate("identity", {f"{ROLLBACK_RELEASE_PREFIX}/keystone": "1 once"})
    running.settle()
    assert running.release("identity", "keystone")["reason"] == "RolledBack"
    running.bundle("identity", release(conf="b"), mode="Plan")
    running.reconcile()
    assert "releases" not in plan(running)


def test_a_suspended_release_has_no_plan(running: Bench) -> None:
    planned = spec_of({**release(conf="b"), "suspend": True})
    running.bundle("identity", release(conf="a"), mode="Plan", planned=planned)
    running.reconcile()
    assert "releases" not in plan(running)


# -- what mode Plan leaves alone, and what it finishes


def test_an_edit_of_the_bundle_itself_is_planned_and_held_back(running: Bench) -> None:
    running.bundle("identity", release(conf="b"), mode="Plan")
    running.reconcile()
    assert running.release("identity", "keystone")["reason"] == "PlanPending"
    assert entries(running)["keystone"]["action"] == "Upgrade"
    assert running.helm.calls == [("Install", "keystone")]


def test_a_release_that_failed_is_tried_again(bench: Bench) -> None:
    bench.helm.fails["keystone"] = "hook failed"
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    bench.bundle("identity", release(conf="a"), mode="Plan")
    del bench.helm.fails["keystone"]
    bench.clock.advance(600)
    bench.settle()
    assert bench.release("identity", "keystone")["state"] == "Deployed"
    assert "releases" not in plan(bench)


def test_a_release_that_was_cut_off_is_freed_and_finished(running: Bench) -> None:
    digest = running.release("identity", "keystone")["valuesDigest"]
    labels = {BUNDLE_LABEL: "identity", DIGEST_LABEL: digest, REVISION_LABEL: "2"}
    running.helm.record("keystone", 2, "pending-upgrade", **labels)
    running.settle()
    assert running.helm.calls == [("Install", "keystone"), ("Upgrade", "keystone")]


def test_a_removal_is_held_back_too(running: Bench) -> None:
    running.bundle("identity", mode="Plan")
    running.reconcile()
    assert entries(running)["keystone"]["action"] == "Uninstall"
    assert running.helm.calls == [("Install", "keystone")]


def test_a_bundle_with_mode_plan_that_is_removed_takes_its_releases_along(running: Bench) -> None:
    running.kube.delete(HELMBUNDLE, "identity", NAMESPACE)
    running.settle()
    assert running.helm.calls[-1] == ("Uninstall", "keystone")


def test_back_to_apply_the_plan_goes_from_the_status(running: Bench) -> None:
    running.bundle("identity", release(conf="b"), mode="Plan")
    running.reconcile()
    running.bundle("identity", release(conf="b"))
    running.settle()
    assert "plan" not in running.status("identity")
    assert running.helm.calls[-1] == ("Upgrade", "keystone")


# -- sizes

NOISE = base64.b64encode(random.Random(3).randbytes(1_000_000)).decode()


@pytest.mark.slow
def test_a_release_that_is_too_large_never_reaches_helm_and_what_runs_is_untouched(bench: Bench) -> None:
    bench.bundle("identity", release(conf="a"))
    bench.settle()
    bench.bundle("identity", release(conf="a", large=NOISE))
    bench.settle()
    found = bench.release("identity", "keystone")
    assert (found["state"], found["reason"], found["revision"]) == ("Failed", "ReleaseTooLarge", 1)
    assert "a Secret holds at most 1024 KiB" in found["message"]
    assert bench.helm.calls == [("Install", "keystone")]
    assert any(text.startswith("ReleaseTooLarge") for _, text in bench.events.emitted)
    bench.bundle("identity", release(conf="b"))
    bench.settle()
    assert bench.release("identity", "keystone")["state"] == "Deployed"


def test_a_large_release_is_installed_and_warned_of_also_after_a_restart(bench: Bench) -> None:
    bench.bundle("identity", release(large=NOISE[:400_000]))
    bench.settle()
    for _ in range(2):
        ready = bench.condition("identity", "Ready")
        assert ready["status"] == "True"
        assert "of what a Secret can hold" in ready["message"]
        bench.restart()
        bench.reconcile()
    assert bench.release("identity", "keystone")["bytes"] > 700_000
    assert any(text.startswith("ReleaseLarge") for _, text in bench.events.emitted)


@pytest.mark.slow
def test_a_plan_of_a_release_that_is_too_large_is_a_problem(running: Bench) -> None:
    planned = spec_of(release(large=NOISE))
    running.bundle("identity", release(conf="a"), mode="Plan", planned=planned)
    running.reconcile()
    assert "a Secret holds at most" in entries(running)["keystone"]["problem"]
