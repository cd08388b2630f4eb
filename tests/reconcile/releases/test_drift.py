"""Objects of deployed releases: what others change is found, reported, corrected; the rest is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from controller.domain.releases.bundle import DriftIgnore
from controller.domain.releases.drift.difference import Change, Drift
from controller.domain.shared import metrics
from controller.errors import ApiUnavailable, Forbidden, ObjectMissing, ObjectRefused
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import CONFIGMAP, DEPLOYMENT, JOB, SECRET, STATEFULSET, Resource
from controller.reconcile.releases.drift.index import Followed
from controller.reconcile.releases.drift.watch import REFUSED_SECONDS, Correction, DriftWatch
from controller.reconcile.releases.parts import DriftRates
from tests.fakes.kube import FakeKube, Request
from tests.fakes.metrics import FakeMetrics
from tests.fakes.release import NAMESPACE, FakeWatch, ReleasesOnFake
from tests.fakes.world import FakeClock

KEY = (NAMESPACE, "web")
BUNDLE = (NAMESPACE, "pages")
PACE = DriftRates(qps=20, resync=3600, settle=10)


def obj(api_version: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}


WEB = obj("apps/v1", "Deployment", "web", spec={"replicas": 1, "paused": False})
SETTINGS = obj("v1", "ConfigMap", "settings", data={"a": "1", "b": "2"})
PASSWORDS = obj("v1", "Secret", "passwords", data={"word": "aHVzaC1odXNo"})
HOOK = {
    **obj("batch/v1", "Job", "db-sync", spec={"backoffLimit": 3}),
    "metadata": {"name": "db-sync", "annotations": {"helm.sh/hook": "post-install"}},
}


class NotCancelled:
    cancelled = False

    overdue = ""

    def cancel(self, overdue: str = "") -> None:
        self.cancelled = True


class World:
    """A release deployed on a cluster, and a process that looks after it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.releases = ReleasesOnFake(self.kube)
        self.releases.deploy("web", 1, WEB, SETTINGS, PASSWORDS, HOOK)
        self.start()

    def start(self, pace: DriftRates = PACE) -> None:
        """A new process, which remembers nothing."""
        self.measures = FakeMetrics()
        self.changed: list[tuple[str, str]] = []
        self.due: list[float] = []
        self.watch = FakeWatch(self.kube)
        self.lookout = DriftWatch(
            kube=self.kube,
            records=cast(ReleaseRecords, self.releases),
            watch=self.watch,
            clock=self.clock,
            reconcile_after=self.due.append,
            changed_bundle=self.changed.append,
            pace=pace,
            measures=self.measures,
        )

    def follow(self, revision: int = 1, rules: tuple[DriftIgnore, ...] = ()) -> None:
        self.lookout.follow(KEY, Followed(BUNDLE, revision, rules))

    def run(self, seconds: float) -> None:
        """Lets time pass, looking whenever it is due."""
        end = self.clock.monotonic() + seconds
        while True:
            again = self.lookout.reconcile()
            left = end - self.clock.monotonic()
            if again is None or again > left:
                self.clock.advance(max(left, 0.0))
                return
            self.clock.advance(again)

    def settled(self, rules: tuple[DriftIgnore, ...] = ()) -> World:
        """Followed, read and compared once."""
        self.follow(rules=rules)
        self.run(100)
        self.kube.forget_requests()
        self.releases.reads = 0
        return self

    def drift(self, revision: int = 1) -> Drift:
        return self.lookout.known(KEY, revision)

    def found(self) -> dict[str, tuple[str, ...]]:
        return {str(one.object): one.paths or (str(one.change),) for one in self.drift().objects}

    def events(self) -> None:
        self.watch.deliver()
        self.run(2)

    def correct(self) -> Correction:
        return self.lookout.correct(KEY, 1, NotCancelled())


@pytest.fixture
def world() -> World:
    return World()


def edit(world: World, **spec: Any) -> None:
    world.kube.merge_patch(DEPLOYMENT, "web", NAMESPACE, {"spec": spec})


# -- finding


def test_a_release_as_helm_left_it_does_not_drift(world: World) -> None:
    world.settled()
    assert world.drift() == Drift()
    assert world.changed == []
    assert world.watch.kinds == ["ConfigMap", "Deployment", "Job", "Secret"]


def test_an_edited_field_is_reported_by_its_path_and_the_bundle_looked_at(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}
    assert world.changed == [BUNDLE]


def test_what_is_found_is_counted_once_and_again_when_it_comes_back(world: World) -> None:
    counted: list[float | None] = []
    world.settled()
    for replicas in (4, 4, 1, 4):
        edit(world, replicas=replicas)
        world.events()
        counted.append(world.measures.value(metrics.DRIFT_FOUND, release="web"))
    assert counted == [1, 1, 1, 2]


def test_one_event_costs_one_read_one_dry_run_and_the_record(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.forget_requests()
    world.events()
    asked = [(r.verb, r.kind, r.dry_run) for r in world.kube.requests]
    # Who scales it is asked only where the number of replicas differs.
    assert asked == [
        ("get", "Deployment", False),
        ("apply", "Deployment", True),
        ("list", "HorizontalPodAutoscaler", False),
    ]
    assert world.releases.reads == 1


def test_a_removed_field_is_drift_and_an_added_one_is_not(world: World) -> None:
    world.settled()
    world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": None, "mine": "3"}})
    world.events()
    assert world.found() == {"ConfigMap/settings": ("/data/a",)}


def test_labels_and_annotations_of_others_are_theirs(world: World) -> None:
    world.settled()
    patch = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}, "labels": {"x": "y"}}}
    world.kube.merge_patch(DEPLOYMENT, "web", NAMESPACE, patch)
    world.events()
    assert world.drift() == Drift()


def test_helms_own_marks_are_part_of_the_release(world: World) -> None:
    world.settled()
    patch = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}}
    world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, patch)
    world.events()
    assert world.found() == {"ConfigMap/settings": ("/metadata/labels/app.kubernetes.io~1managed-by",)}


def test_a_deleted_object_is_drift(world: World) -> None:
    world.settled()
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.events()
    assert world.found() == {"ConfigMap/settings": ("Deleted",)}


def test_a_deleted_hook_job_is_drift_as_pods_wait_for_it(world: World) -> None:
    world.settled()
    world.kube.delete(JOB, "db-sync", NAMESPACE)
    world.events()
    assert world.found() == {"Job/db-sync": ("Deleted",)}


def test_a_job_that_kubernetes_takes_away_by_itself_is_not_missed(world: World) -> None:
    once = obj("batch/v1", "Job", "once", spec={"ttlSecondsAfterFinished": 60})
    world.releases.deploy("web", 1, WEB, once)
    world.settled()
    world.kube.delete(JOB, "once", NAMESPACE)
    world.events()
    assert world.drift() == Drift()


def test_no_value_is_shown_only_its_place(world: World) -> None:
    world.settled()
    world.kube.merge_patch(SECRET, "passwords", NAMESPACE, {"data": {"word": "cGxhbnRlZA=="}})
    world.events()
    told = str(world.drift()) + str(world.drift().entries())
    assert "/data/word" in told
    assert "cGxhbnRlZA" not in told
    assert "aHVzaC1odXNo" not in told


def test_no_correction_takes_claims_along_with_the_pods_that_a_person_has_added(world: World) -> None:
    claims = {"whenScaled": "Delete"}
    spec = {
        "replicas": 1,
        "persistentVolumeClaimRetentionPolicy": claims,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    }
    world.releases.deploy("web", 1, obj("apps/v1", "StatefulSet", "store", spec=spec))
    world.settled()
    world.kube.merge_patch(STATEFULSET, "store", NAMESPACE, {"spec": {"replicas": 3}})
    world.events()
    [found] = world.drift().objects
    assert found.change == Change.REFUSED
    assert "from 3 to 1 replicas deletes the claims of the removed pods" in found.message
    world.correct()
    live = world.kube.get(STATEFULSET, "store", NAMESPACE)
    assert live is not None
    assert live["spec"]["replicas"] == 3


def test_what_is_changed_back_is_no_drift_any_more(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    edit(world, replicas=1)
    world.events()
    assert world.drift() == Drift()
    assert world.changed == [BUNDLE, BUNDLE]


def test_an_edit_while_no_process_ran_is_found_in_the_first_round(world: World) -> None:
    edit(world, replicas=4)
    world.settled()
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}


def test_an_edit_that_no_watch_reported_is_found_in_the_next_round(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.run(600)
    assert world.drift() == Drift()
    world.run(3600 * 1.2)
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}


def test_a_watch_that_begins_again_finds_what_it_missed(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.watch.list_anew(DEPLOYMENT, NAMESPACE)
    world.watch.list_anew(CONFIGMAP, NAMESPACE)
    world.run(2)
    assert set(world.found()) == {"Deployment/web", "ConfigMap/settings"}


ROLE = obj("rbac.authorization.k8s.io/v1", "ClusterRole", "nodes", rules=[{"verbs": ["get"]}])
ELSEWHERE = {
    **obj("v1", "ConfigMap", "dashboard", data={"a": "1"}),
    "metadata": {"name": "dashboard", "namespace": "monitoring"},
}


def test_objects_of_the_cluster_and_of_other_namespaces_are_watched_too(world: World) -> None:
    world.releases.deploy("web", 1, ROLE, ELSEWHERE, SETTINGS)
    world.settled()
    assert world.watch.kinds == ["ClusterRole", "ConfigMap", "ConfigMap"]
    role = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
    world.kube.merge_patch(role, "nodes", None, {"rules": []})
    world.kube.delete(CONFIGMAP, "dashboard", "monitoring")
    world.events()
    assert world.found() == {"ClusterRole/nodes": ("/rules",), "ConfigMap/dashboard": ("Deleted",)}


# -- what belongs to others


def test_rules_name_what_is_not_drift(world: World) -> None:
    rules = (DriftIgnore(kind="Deployment", paths=("/spec/replicas",)), DriftIgnore(paths=("/data/*",)))
    world.settled(rules)
    edit(world, replicas=4)
    world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": "9"}})
    world.events()
    assert world.drift() == Drift()


def test_a_correction_leaves_what_a_rule_names(world: World) -> None:
    world.settled((DriftIgnore(name="web", paths=("/spec/replicas",)),))
    edit(world, replicas=4, paused=True)
    world.events()
    assert world.found() == {"Deployment/web": ("/spec/paused",)}
    world.correct()
    live = world.kube.get(DEPLOYMENT, "web", NAMESPACE)
    assert live is not None
    assert (live["spec"]["replicas"], live["spec"]["paused"]) == (4, False)


def test_a_correction_that_another_write_overtakes_is_made_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.settled((DriftIgnore(name="web", paths=("/spec/replicas",)),))
    edit(world, replicas=4, paused=True)
    world.events()
    apply, others = world.kube.apply, iter((5, 6))

    def overtaken(obj: Mapping[str, Any], *, dry_run: bool = False, **more: Any) -> Any:
        if not dry_run and (replicas := next(others, 0)):
            edit(world, replicas=replicas)
        return apply(obj, dry_run=dry_run, **more)

    monkeypatch.setattr(world.kube, "apply", overtaken)
    assert world.correct().remaining == ()
    live = world.kube.get(DEPLOYMENT, "web", NAMESPACE)
    assert live is not None
    assert (live["spec"]["replicas"], live["spec"]["paused"]) == (6, False)


def meanwhile(world: World, act: Callable[[], object]) -> None:
    """What others do once, right before a correction is written."""

    def before(request: Request) -> None:
        if request.verb == "apply" and not request.dry_run:
            world.kube.before_write = lambda other: None
            act()

    world.kube.before_write = before


THEIRS = {"meta.helm.sh/release-name": "theirs", "meta.helm.sh/release-namespace": NAMESPACE}


def make_theirs(world: World) -> None:
    """Someone's release makes the ConfigMap, by Helm, which writes under the same name as ours."""
    meta = {"name": "settings", "namespace": NAMESPACE, "annotations": THEIRS}
    world.kube.apply({**SETTINGS, "metadata": meta, "data": {"a": "theirs"}}, manager="helm")


def test_what_another_release_takes_in_the_middle_of_a_correction_is_left_to_it(world: World) -> None:
    world.settled()
    world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": "edited"}})
    world.events()
    take = {"metadata": {"annotations": THEIRS}}
    meanwhile(world, lambda: world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, take))
    [left] = world.correct().remaining
    assert left.message.startswith('the object now belongs to release "theirs"')
    live = world.kube.get(CONFIGMAP, "settings", NAMESPACE)
    assert live is not None
    assert live["data"]["a"] == "edited"


def test_what_another_release_makes_in_the_place_of_an_edited_object_is_its_own(world: World) -> None:
    world.settled()
    world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": "edited"}})
    world.events()

    def replace() -> None:
        world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
        make_theirs(world)

    meanwhile(world, replace)
    [left] = world.correct().remaining
    assert left.message.startswith('the object now belongs to release "theirs"')
    live = world.kube.get(CONFIGMAP, "settings", NAMESPACE)
    assert live is not None
    assert live["data"] == {"a": "theirs"}


def test_what_another_release_makes_right_before_a_missing_object_is_made_again_is_its_own(
    world: World,
) -> None:
    world.settled()
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.events()
    meanwhile(world, lambda: make_theirs(world))
    [left] = world.correct().remaining
    assert left.message.startswith('the object now belongs to release "theirs"')
    live = world.kube.get(CONFIGMAP, "settings", NAMESPACE)
    assert live is not None
    assert live["data"] == {"a": "theirs"}


def test_an_object_that_is_deleted_in_the_middle_of_a_correction_is_made_again(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    meanwhile(world, lambda: world.kube.delete(DEPLOYMENT, "web", NAMESPACE))
    assert world.correct().remaining == ()
    live = world.kube.get(DEPLOYMENT, "web", NAMESPACE)
    assert live is not None
    assert live["spec"]["replicas"] == 1


def test_replicas_under_an_autoscaler_are_the_autoscalers(world: World) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = obj("autoscaling/v2", "HorizontalPodAutoscaler", "web", spec={"scaleTargetRef": target})
    scaler["metadata"]["namespace"] = NAMESPACE
    world.kube.create(scaler)
    world.settled()
    edit(world, replicas=4, paused=True)
    world.events()
    assert world.found() == {"Deployment/web": ("/spec/paused",)}


# -- putting right


def test_a_correction_restores_edited_and_deleted_objects_and_nothing_is_left(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.kube.delete(JOB, "db-sync", NAMESPACE)
    world.events()
    correction = world.correct()
    assert {str(one.object) for one in correction.corrected} == {
        "Deployment/web", "ConfigMap/settings", "Job/db-sync",
    }  # fmt: skip
    assert correction.remaining == ()
    assert world.drift() == Drift()
    assert [request.manager for request in world.kube.changes[-3:]] == ["helm"] * 3


def test_our_own_writes_are_not_compared_again(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    world.correct()
    world.kube.forget_requests()
    world.events()
    assert world.kube.requests == []


def test_a_correction_is_cut_short_when_another_spec_is_there(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    cancelled = NotCancelled()
    cancelled.cancel()
    assert world.lookout.correct(KEY, 1, cancelled) == Correction()
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}


def test_a_correction_of_another_revision_does_nothing(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    assert world.lookout.correct(KEY, 2, NotCancelled()) == Correction()


def refusing(kind: str, text: str) -> Callable[[Request], None]:
    def refuse(request: Request) -> None:
        if request.verb == "apply" and request.kind == kind:
            raise ObjectRefused(text)

    return refuse


def test_what_cannot_be_changed_is_reported_without_the_servers_words(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    words = 'spec.replicas: Invalid value: "hush-hush": field is immutable'
    world.kube.before_write = refusing("Deployment", words)
    world.events()
    [one] = world.drift().objects
    assert one.change == Change.REFUSED
    assert one.message == "a field that differs cannot be changed (spec.replicas)"
    assert "hush-hush" not in str(world.drift())
    correction = world.correct()
    assert [str(left.object) for left in correction.remaining] == ["Deployment/web"]


def forbidding(kind: str) -> Callable[[Request], None]:
    def forbid(request: Request) -> None:
        if request.verb == "apply" and request.kind == kind:
            raise Forbidden('configmaps "settings" is forbidden: hush-hush')

    return forbid


def test_what_may_not_be_compared_is_reported_and_compared_once_the_right_is_there(world: World) -> None:
    world.settled()
    world.kube.before_write = forbidding("ConfigMap")
    world.lookout.changed(CONFIGMAP, {"name": "settings", "namespace": NAMESPACE}, gone=False)
    world.run(2)
    [one] = world.drift().objects
    assert (str(one.object), one.change) == ("ConfigMap/settings", Change.REFUSED)
    assert one.message.startswith(
        "the controller cannot compare the object: a right of the controller is missing"
    )
    assert "hush-hush" not in str(world.drift())
    world.kube.before_write = lambda request: None
    world.run(REFUSED_SECONDS + 2)
    assert world.drift() == Drift()


@pytest.mark.parametrize(
    ("api_version", "kind", "text", "told"),
    [
        ("apps/v1", "Deployment", 'PATCH /x: 404 namespaces "away" not found', True),
        ("example.org/v1", "Octopus", 'PATCH /x: 404 namespaces "away" not found', True),
        ("example.org/v1", "Octopus", "the server could not find the requested resource", False),
        (
            "gateway.networking.k8s.io/v1",
            "GatewayClass",
            "the server could not find the requested resource",
            False,
        ),
        ("storage.k8s.io/v9", "ClassOfTomorrow", "the server could not find the requested resource", False),
    ],
)
def test_a_kind_that_is_not_found_where_it_is_looked_for_is_not_missed(
    world: World, api_version: str, kind: str, text: str, told: bool
) -> None:
    """Its plural, or that it lies in a namespace, is a guess: what Helm has made there would be called
    broken forever. A namespace that is gone is no guess."""
    world.releases.deploy("web", 1, obj(api_version, kind, "octopus"))

    def not_there(request: Request) -> None:
        if request.verb == "apply":
            raise ObjectMissing(text)

    world.kube.before_write = not_there
    world.settled()
    assert bool(world.drift().objects) == told


def test_what_is_known_to_differ_stays_known_while_it_may_not_be_compared(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    edit(world, replicas=5)
    world.kube.before_write = forbidding("Deployment")
    world.events()
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}


def test_what_may_not_be_put_right_does_not_keep_the_others_from_it(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.kube.delete(SECRET, "passwords", NAMESPACE)
    world.events()
    world.kube.before_write = forbidding("ConfigMap")
    correction = world.correct()
    assert {str(one.object) for one in correction.corrected} == {"Deployment/web", "Secret/passwords"}
    [left] = correction.remaining
    assert (str(left.object), left.change) == ("ConfigMap/settings", Change.REFUSED)
    assert "hush-hush" not in str(left)
    assert set(world.found()) == {"ConfigMap/settings"}


def test_a_record_that_cannot_be_read_does_not_make_drift_forgotten(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    edit(world, replicas=5)
    world.releases.broken = True
    world.events()
    assert world.drift().error
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}


def test_a_hook_job_of_another_make_is_left_alone(world: World) -> None:
    world.settled()
    world.kube.before_write = refusing("Job", "spec.template: Invalid value: x: field is immutable")
    world.lookout.changed(JOB, {"name": "db-sync", "namespace": NAMESPACE, "generation": 9}, gone=False)
    world.run(2)
    assert world.drift() == Drift()


def test_how_often_and_against_whom_is_remembered_for_an_hour(world: World) -> None:
    world.settled()
    for _ in range(3):
        edit(world, replicas=4)
        world.events()
        world.correct()
    edit(world, replicas=4)
    world.events()
    assert world.drift().corrections == 3
    world.run(3700)
    assert world.drift().corrections == 0


# -- what it costs


def test_without_events_nothing_is_asked_before_the_next_round(world: World) -> None:
    world.settled()
    world.events()
    world.run(2000)
    assert world.kube.requests == []
    assert world.releases.reads == 0


def test_a_new_status_is_no_reason_to_ask(world: World) -> None:
    world.settled()
    patch = {"status": {"readyReplicas": 1}}
    world.kube.merge_patch(DEPLOYMENT, "web", NAMESPACE, patch, subresource="status")
    world.events()
    assert world.kube.requests[1:] == []


def test_a_followed_release_is_not_begun_again_at_every_look(world: World) -> None:
    world.settled()
    due = len(world.due)
    for _ in range(10):
        world.follow()
    world.run(10)
    assert len(world.due) == due
    assert world.kube.requests == []


def test_an_object_that_changes_all_the_time_is_compared_once_a_second(world: World) -> None:
    world.settled()
    for replicas in range(2, 22):
        edit(world, replicas=replicas)
        world.watch.deliver()
        world.lookout.reconcile()
        world.clock.advance(0.1)
    assert len([r for r in world.kube.requests if r.dry_run]) <= 3


def test_a_round_is_no_faster_than_the_rate_allows(world: World) -> None:
    many = [obj("v1", "ConfigMap", f"settings-{n}", data={"a": "1"}) for n in range(100)]
    world.releases.deploy("web", 1, *many)
    world.start(DriftRates(qps=5, resync=3600, settle=0))
    world.follow()
    world.kube.forget_requests()
    seconds = []
    for _ in range(100):
        world.kube.forget_requests()
        world.run(1)
        seconds.append(len([r for r in world.kube.requests if r.dry_run]))
    assert sum(seconds) == 100
    assert max(seconds) <= 2 * 5
    assert len([one for one in seconds if one]) >= 100 / 5 / 2


def test_a_round_costs_two_calls_for_each_object_and_few_reads_of_the_record(world: World) -> None:
    world.settled()
    world.run(3600 * 1.2)
    assert len(world.kube.requests) == 2 * 4
    assert world.releases.reads == 1


# -- when things go wrong


def test_when_the_api_server_is_away_nothing_due_is_forgotten(world: World) -> None:
    world.settled()
    edit(world, replicas=4)

    def away(request: Request) -> None:
        if request.dry_run:
            raise ApiUnavailable("down")

    world.kube.before_write = away
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.kube.delete(SECRET, "passwords", NAMESPACE)
    world.watch.deliver()
    with pytest.raises(ApiUnavailable):
        world.lookout.reconcile()
    world.kube.before_write = lambda request: None
    world.run(10)
    assert set(world.found()) == {"Deployment/web", "ConfigMap/settings", "Secret/passwords"}


def test_while_the_api_server_is_away_events_do_not_make_it_asked_more_often(world: World) -> None:
    world.settled()
    asked = 0

    def away(request: Request) -> None:
        nonlocal asked
        asked += 1
        raise ApiUnavailable("down")

    for replicas in range(2, 62):
        world.kube.before_write = lambda request: None
        edit(world, replicas=replicas)
        world.kube.before_write = away
        world.watch.deliver()
        world.clock.advance(1)
        world.lookout.reconcile()
    assert 3 <= asked <= 7


def unanswered(*kinds: str) -> Callable[[Request], None]:
    def fail(request: Request) -> None:
        if request.verb == "apply" and request.kind in kinds:
            raise ApiUnavailable('500 failed calling webhook "x": timeout')

    return fail


@pytest.mark.parametrize("kinds", [("ConfigMap",), ("ConfigMap", "Secret")])
def test_an_object_without_an_answer_does_not_keep_others_from_being_looked_at(
    world: World, kinds: tuple[str, ...]
) -> None:
    world.settled()
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.kube.delete(SECRET, "passwords", NAMESPACE)
    edit(world, replicas=4)
    world.kube.before_write = unanswered(*kinds)
    world.events()
    assert "Deployment/web" in world.found()
    assert not any(one.startswith(kinds) for one in world.found())
    world.kube.before_write = lambda request: None
    world.run(10)
    assert len(world.found()) == 3


def test_many_objects_without_an_answer_let_the_others_have_their_turn(world: World) -> None:
    """A webhook for all Secrets does not answer: that looks as if nothing did, until something does."""
    many = [obj("v1", "Secret", f"password-{number}") for number in range(12)]
    world.releases.deploy("web", 1, *many, SETTINGS)
    world.settled()
    for one in many:
        world.kube.delete(SECRET, one["metadata"]["name"], NAMESPACE)
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.kube.before_write = unanswered("Secret")
    world.watch.deliver()
    for _ in range(60):
        try:
            world.run(10)
        except ApiUnavailable:
            world.clock.advance(10)
    assert world.found() == {"ConfigMap/settings": ("Deleted",)}


def test_an_object_without_an_answer_is_asked_for_more_and_more_rarely(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.before_write = unanswered("Deployment")
    world.events()
    world.kube.forget_requests()
    world.run(3000)
    # An object is read before its dry run.
    asked = [one for one in world.kube.requests if (one.verb, one.kind) == ("get", "Deployment")]
    assert 8 <= len(asked) <= 20


def test_an_object_without_an_answer_does_not_keep_others_from_being_put_right(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.events()
    world.kube.before_write = unanswered("Deployment")
    correction = world.correct()
    assert [str(one.object) for one in correction.corrected] == ["ConfigMap/settings"]
    assert [str(one.object) for one in correction.remaining] == ["Deployment/web"]
    assert set(world.found()) == {"Deployment/web"}


# -- what could not be corrected


def test_what_a_correction_could_not_put_right_is_not_fresh_but_another_finding_is(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    assert world.drift().fresh
    world.kube.before_write = forbidding("Deployment")
    world.correct()
    world.kube.before_write = lambda request: None
    edit(world, replicas=5)
    world.events()
    assert world.found() == {"Deployment/web": ("/spec/replicas",)}
    assert not world.drift().fresh
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.events()
    assert world.drift().fresh


NO_DRY_RUN = '400 admission webhook "x" does not support dry run'


def without_dry_run(request: Request) -> None:
    if request.verb == "apply" and request.kind == "ConfigMap" and request.dry_run:
        raise ObjectRefused(NO_DRY_RUN)


def test_where_no_dry_run_may_be_asked_for_nothing_is_known_to_differ(world: World) -> None:
    world.settled()
    world.kube.before_write = without_dry_run
    world.kube.merge_patch(CONFIGMAP, "settings", NAMESPACE, {"data": {"a": "mine"}})
    world.events()
    assert world.drift() == Drift()


def test_where_no_dry_run_may_be_asked_for_a_missing_object_is_made_again(world: World) -> None:
    world.settled()
    world.kube.before_write = without_dry_run
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.events()
    correction = world.correct()
    assert str(correction) == "ConfigMap/settings is missing"
    assert correction.remaining == ()
    assert world.kube.get(CONFIGMAP, "settings", NAMESPACE)


def test_what_the_dry_run_refuses_is_not_applied(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.kube.before_write = refusing("Deployment", "spec.replicas: Invalid value: field is immutable")
    world.events()
    world.kube.forget_requests()
    world.correct()
    assert world.kube.writes == []


def test_a_release_under_an_action_has_no_drift(world: World) -> None:
    world.settled()
    edit(world, replicas=4)
    world.events()
    world.lookout.leave(KEY)
    assert world.drift() == Drift()
    world.events()
    assert world.drift() == Drift()


def test_another_revision_is_read_again(world: World) -> None:
    world.settled()
    world.releases.deploy("web", 2, {**WEB, "spec": {"replicas": 4, "paused": False}})
    world.follow(revision=2)
    world.run(100)
    assert world.drift(2) == Drift()
    world.kube.delete(CONFIGMAP, "settings", NAMESPACE)
    world.events()
    assert world.drift(2) == Drift()


def test_a_record_that_is_gone_has_the_bundle_looked_at_and_is_not_asked_for_again(world: World) -> None:
    world.follow(revision=7)
    world.run(100)
    assert world.changed == [BUNDLE]
    world.run(1000)
    assert world.releases.reads == 1


def test_a_bundle_that_is_gone_takes_its_releases_along(world: World) -> None:
    world.settled()
    world.lookout.leave_bundle(BUNDLE)
    edit(world, replicas=4)
    world.kube.forget_requests()
    world.events()
    assert world.kube.requests == []
    assert world.lookout.reconcile() is None
