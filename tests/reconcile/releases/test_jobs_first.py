"""Schema before code: the Jobs that new pods wait for succeed before Helm sends the first new workload."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from controller.domain.api.names import ROLLBACK_RELEASE_PREFIX
from controller.ports.kubernetes import CONFIGMAP, DEPLOYMENT, JOB, Resource
from tests.fakes.helm import Hook
from tests.reconcile.bundles import NAMESPACE, Bench

ROLE = Resource("rbac.authorization.k8s.io/v1", "Role", "roles")


def waiting(image: str, *jobs: str) -> dict[str, Any]:
    """A pod template as both chart sources have it."""
    variables = [
        {"name": "DEPENDENCY_SERVICE", "value": ""},
        {"name": "DEPENDENCY_JOBS", "value": ",".join(jobs)},
    ]
    wait = {"name": "init", "image": "entrypoint:1", "env": variables}
    return {"spec": {"initContainers": [wait], "containers": [{"name": "main", "image": image}]}}


def api(image: str, conf: str) -> dict[str, Any]:
    meta = {"name": "api", "namespace": NAMESPACE}
    template = {"metadata": {"annotations": {"conf": conf}}, **waiting(image, "db-sync")}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"template": template},
    }


def config(text: str) -> dict[str, Any]:
    meta = {"name": "etc", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"conf": text}}


def rights(number: int) -> list[dict[str, Any]]:
    """What the migration is granted, other things with each number."""
    api, meta = "rbac.authorization.k8s.io/v1", {"name": "sync", "namespace": NAMESPACE}
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [f"of-{number}"], "verbs": ["get"]}
    subject = {"kind": "ServiceAccount", "name": "sync", "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sync"}
    return [
        {"apiVersion": api, "kind": "Role", "metadata": meta, "rules": [rule]},
        {"apiVersion": api, "kind": "RoleBinding", "metadata": meta, "roleRef": role, "subjects": [subject]},
    ]


def migration(number: int) -> dict[str, Any]:
    found = waiting(f"sync:{number}", "db-init")
    found["spec"] |= {"serviceAccountName": "sync"}
    found["spec"] |= {"volumes": [{"name": "etc", "configMap": {"name": "etc"}}]}
    return found


class World:
    """One release with an API and the Jobs that its pods wait for, deployed."""

    def __init__(self, *, installed: bool = True) -> None:
        self.bench = Bench()
        began = self.runs("db-init")
        self.ask(1)
        self.bench.until(began, "the first install")
        if not installed:
            return
        self.finish("db-init", "db-sync", "bootstrap")
        self.bench.settle()
        assert self.image() == "api:1"
        self.bench.helm.calls.clear()

    def ask(
        self, number: int, *, code: int | None = None, conf: str = "a", files: bool = True, **values: Any
    ) -> None:
        """An edit: images of that number, of the API alone with `code`; a file of its own with `conf`, and
        none without `files`."""
        pods = api(f"api:{code or number}", conf)
        self.bench.helm.objects_of["api"] = [pods, *([config(conf)] if files else []), *rights(number)]
        self.bench.helm.hooks_of["api"] = [
            Hook("db-init", weight=-5, template=waiting("init:1")),
            Hook("db-sync", weight=-4, template=migration(number)),
            Hook("bootstrap", weight=5, template=waiting(f"boot:{number}")),
            Hook("clean", "pre-delete"),
        ]
        self.bench.bundle(
            "pages", {"name": "api", "values": {"n": number, "code": code or number, "conf": conf, **values}}
        )

    def runs(self, job: str) -> Callable[[], bool]:
        """Whether a Job of that name was made since this was asked for."""
        before = self.uid(job)
        return lambda: self.uid(job) not in ("", before)

    def finish(self, *jobs: str) -> None:
        for one in jobs:
            self.bench.helm.finish(one)

    def image(self) -> str:
        found = self.bench.kube.get(DEPLOYMENT, "api", NAMESPACE)
        assert found is not None
        image: str = found["spec"]["template"]["spec"]["containers"][0]["image"]
        return image

    def conf(self) -> str:
        found = self.bench.kube.get(DEPLOYMENT, "api", NAMESPACE)
        return str(found["spec"]["template"]["metadata"]["annotations"]["conf"]) if found else ""

    def uid(self, job: str) -> str:
        found = self.bench.kube.get(JOB, job, NAMESPACE)
        return str(found["metadata"]["uid"]) if found else ""

    def revisions(self) -> list[tuple[str, str]]:
        return [
            (one.status, "half" if one.jobs_for else "whole")
            for one in self.bench.helm.observe(NAMESPACE)["api"]
        ]


@pytest.fixture
def world() -> World:
    return World()


def test_earlier_pods_serve_until_the_jobs_of_the_new_ones_have_succeeded(world: World) -> None:
    before = world.uid("db-sync")
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    assert world.image() == "api:1"
    assert world.uid("db-sync") != before, "the old Job would let new pods begin"
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    synced = world.bench.kube.get(JOB, "db-sync", NAMESPACE)
    assert synced is None or synced["spec"]["template"]["spec"]["containers"][0]["image"] == "sync:2"
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert world.bench.helm.calls == [("Upgrade", "api")] * 2
    assert world.bench.release("pages", "api")["reason"] == "InSync"


def file(world: World) -> str:
    found = world.bench.kube.get(CONFIGMAP, "etc", NAMESPACE)
    return str(found["data"]["conf"]) if found else ""


def test_files_of_old_pods_stay_until_then(world: World) -> None:
    began = world.runs("db-init")
    world.ask(2, conf="b")
    world.bench.until(began, "the Jobs run")
    assert file(world) == "a"
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: file(world) == "b", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_a_job_reads_new_files_and_has_new_rights_while_old_pods_read_the_old_ones(world: World) -> None:
    def rules() -> list[dict[str, Any]]:
        found = world.bench.kube.get(ROLE, "sync", NAMESPACE)
        return list(found["rules"]) if found else []

    began = world.runs("db-sync")
    world.ask(2, conf="b")
    world.finish("db-init")
    world.bench.until(began, "the migration runs")
    job = world.bench.kube.get(JOB, "db-sync", NAMESPACE)
    assert job is not None
    [volume] = job["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == "etc-jobs-first"
    assert file(world) == "a"
    assert [one["resourceNames"] for one in rules()] == [["of-2"]]
    world.finish("db-sync")
    world.bench.until(lambda: world.conf() == "b", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert file(world) == "b"


def test_only_jobs_that_pods_wait_for_run_before_them(world: World) -> None:
    before = world.uid("bootstrap")
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    assert world.uid("bootstrap") == before
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert world.uid("bootstrap") != before


def test_a_migration_that_fails_leaves_all_pods_serving_and_says_so(world: World) -> None:
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    world.finish("db-init")
    world.bench.helm.finish("db-sync", "Failed")
    world.bench.until(lambda: world.bench.release("pages", "api").get("state") == "Failed", "it fails")
    assert world.image() == "api:1"
    error = world.bench.release("pages", "api")["lastAttempt"]["error"]
    assert "Job db-sync" in error
    assert "the old pods keep serving" in error
    # The image is repaired.
    began = world.runs("db-init")
    world.ask(3, code=2)
    world.bench.until(began, "another try")
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert world.bench.release("pages", "api")["reason"] == "InSync"


@pytest.mark.slow
def test_killed_between_the_two_it_goes_on_with_the_second(world: World) -> None:
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    world.finish("db-init", "db-sync")
    world.bench.wait(lambda: not world.bench.slots.busy(), "the first half")
    assert (world.revisions()[-1], world.image()) == (("deployed", "half"), "api:1")
    world.bench.restart()
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    assert world.revisions()[-1] == ("pending-upgrade", "whole")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


@pytest.mark.slow
def test_in_mode_plan_what_has_begun_is_finished(world: World) -> None:
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    world.finish("db-init", "db-sync")
    world.bench.wait(lambda: not world.bench.slots.busy(), "the first half")
    world.bench.bundle("pages", {"name": "api", "values": {"n": 2, "code": 2, "conf": "a"}}, mode="Plan")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_a_change_of_values_that_changes_no_image_deletes_no_job(world: World) -> None:
    before = world.uid("db-sync")
    began = world.runs("db-init")
    world.ask(1, conf="b")
    world.bench.until(began, "the upgrade")
    assert world.revisions()[-1] == ("pending-upgrade", "whole")
    assert world.uid("db-sync") == before
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


@pytest.mark.parametrize("how", ["gone", "failed"])
def test_a_job_that_has_not_succeeded_runs_before_pods_that_would_wait_for_it(world: World, how: str) -> None:
    """Also where no image changes: the old pods would go, and the new ones not begin."""
    if how == "gone":
        world.bench.kube.delete(JOB, "db-sync", NAMESPACE)
    else:
        live = world.bench.kube.get(JOB, "db-sync", NAMESPACE)
        assert live is not None
        world.bench.kube.replace({**live, "status": {"failed": 1}}, subresource="status")
    began = world.runs("db-init")
    world.ask(1, conf="b")
    world.bench.until(began, "the Jobs run")
    assert (world.revisions()[-1], world.conf()) == (("pending-upgrade", "half"), "a")
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.conf() == "b", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_another_image_of_the_pods_alone_has_their_jobs_run_first(world: World) -> None:
    before = world.uid("db-sync")
    began = world.runs("db-init")
    world.ask(1, code=2)
    world.bench.until(began, "the Jobs run")
    assert (world.image(), world.revisions()[-1]) == ("api:1", ("pending-upgrade", "half"))
    assert world.uid("db-sync") != before
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_accounts_with_other_names_have_their_jobs_run_first(world: World) -> None:
    def account(name: str) -> dict[str, Any]:
        return {"endpoints": {"oslo_db": {"auth": {"api": {"username": name}}}}}

    began = world.runs("db-init")
    world.ask(1, conf="b", **account("one"))
    world.bench.until(began, "an account is named")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    began = world.runs("db-init")
    world.ask(1, conf="c", **account("two"))
    world.bench.until(began, "the Jobs run")
    assert (world.revisions()[-1], world.conf()) == (("pending-upgrade", "half"), "b")
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.conf() == "c", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_no_release_goes_back_to_the_first_half_of_an_upgrade(world: World) -> None:
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    world.finish("db-init", "db-sync", "db-init", "db-sync", "bootstrap")
    world.finish("db-init")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    world.bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/api": "2 now"})
    world.bench.settle()
    assert world.bench.release("pages", "api")["reason"] == "RollbackImpossible"


def test_where_nothing_was_ever_deployed_it_is_enough_that_the_old_jobs_are_gone() -> None:
    """No pods serve: they wait for Jobs that never succeeded, or for those that did."""
    world = World(installed=False)
    world.finish("db-init", "db-sync")
    world.bench.helm.finish("bootstrap", "Failed")
    world.bench.until(lambda: world.bench.release("pages", "api").get("state") == "Failed", "it fails")
    assert world.uid("db-sync")
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "another try")
    assert (world.revisions()[-1], world.image()) == (("pending-upgrade", "whole"), "api:2")
    assert not world.uid("db-sync"), "the new pods would begin with the old schema"
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_a_try_after_a_failure_of_a_later_job_runs_none_of_them_alone(world: World) -> None:
    """The pods are as they are to be already."""
    world.ask(1, conf="b")
    world.finish("db-init")
    world.bench.helm.finish("db-sync", "Failed")
    world.bench.until(lambda: world.bench.release("pages", "api").get("state") == "Failed", "it fails")
    assert world.conf() == "b"
    world.bench.clock.advance(600)
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert {half for _, half in world.revisions()} == {"whole"}


def test_the_first_half_and_the_upgrade_are_reported_by_names_of_their_own(world: World) -> None:
    def reported() -> list[str]:
        return [
            text.partition(":")[0] for _, text in world.bench.events.emitted if text.startswith("Upgrade")
        ]

    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    assert reported() == ["UpgradeJobsSucceeded"]
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert reported() == ["UpgradeJobsSucceeded", "UpgradeSucceeded"]


@pytest.mark.slow
def test_a_first_half_that_no_secret_can_hold_is_refused_before_anything_is_touched(world: World) -> None:
    """It has each object twice, in its values and as it is sent."""
    large = random.Random(1).randbytes(220_000).hex()
    world.ask(1, conf=large)
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    before, revisions = world.uid("db-sync"), world.revisions()
    world.ask(2, conf=large)
    world.bench.until(lambda: world.bench.release("pages", "api").get("state") == "Failed", "it fails")
    error = world.bench.release("pages", "api")["lastAttempt"]["error"]
    assert "a Secret holds at most 1024 KiB" in error
    assert (world.uid("db-sync"), world.revisions(), world.image()) == (before, revisions, "api:1")


def test_an_image_that_was_given_to_pods_by_hand_is_no_change_of_the_chart(world: World) -> None:
    before = world.uid("db-sync")
    live = world.bench.kube.get(DEPLOYMENT, "api", NAMESPACE)
    assert live is not None
    template = {"metadata": {"annotations": {"conf": "a"}}, **waiting("api:mended", "db-sync")}
    world.bench.kube.replace({**live, "spec": {"template": template}})
    began = world.runs("db-init")
    world.ask(1, conf="b")
    world.bench.until(began, "the upgrade")
    assert (world.revisions()[-1], world.uid("db-sync")) == (("pending-upgrade", "whole"), before)
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()


def test_a_copy_of_files_takes_no_name_that_another_has(world: World) -> None:
    theirs = {**config("own"), "metadata": {"name": "etc-jobs-first", "namespace": NAMESPACE}}
    world.bench.kube.create(theirs)
    before = world.uid("db-sync")
    world.ask(2, conf="b")
    world.bench.until(lambda: world.bench.release("pages", "api").get("state") == "Failed", "it fails")
    assert "etc-jobs-first" in world.bench.release("pages", "api")["lastAttempt"]["error"]
    assert (world.uid("db-sync"), world.image()) == (before, "api:1")


def test_what_another_release_has_taken_is_not_in_the_first_half(world: World) -> None:
    theirs = {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": NAMESPACE},
    }
    world.bench.kube.merge_patch(CONFIGMAP, "etc", NAMESPACE, {"metadata": theirs, "data": {"conf": "own"}})
    began = world.runs("db-init")
    world.ask(2, files=False)
    world.bench.until(began, "the Jobs run")
    half = world.bench.helm.observe(NAMESPACE)["api"][-1]
    assert half.jobs_for
    sent = world.bench.helm.manifest("api", NAMESPACE, half.version).manifest
    assert "ConfigMap" not in {one["kind"] for one in sent}
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
    assert file(world) == "own"


def test_pods_that_were_changed_by_hand_stay_so_until_then(world: World) -> None:
    """They serve as they are, and not as Helm's record has them."""
    live = world.bench.kube.get(DEPLOYMENT, "api", NAMESPACE)
    assert live is not None
    template = {"metadata": {"annotations": {"conf": "a"}}, **waiting("api:mended", "db-sync")}
    world.bench.kube.replace({**live, "spec": {"template": template}})
    began = world.runs("db-init")
    world.ask(2)
    world.bench.until(began, "the Jobs run")
    assert (world.revisions()[-1], world.image()) == (("pending-upgrade", "half"), "api:mended")
    world.finish("db-init", "db-sync")
    world.bench.until(lambda: world.image() == "api:2", "the upgrade follows")
    world.finish("db-init", "db-sync", "bootstrap")
    world.bench.settle()
