"""health: from watched workloads to the region's status, never from half a picture."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from controller.domain.health.probes import Probed
from controller.domain.health.region_health import ComponentHealth
from controller.domain.health.workload_health import Health as Unwell
from controller.domain.health.workload_health import WorkloadHealth
from controller.ports.helm import ReleaseRecords, RenderedRelease
from controller.ports.kubernetes import DEPLOYMENT, POD, Resource
from controller.reconcile.health.parts import HealthPorts, HealthSettings
from controller.reconcile.health.probes import ServiceProbes
from controller.reconcile.health.status import PARSERS, WORKLOADS, HealthReconciler
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.pod_output import at_once
from tests.domain.health_objects import at, crashing, daemonset, deployment, job, pod
from tests.fakes.kube import Request
from tests.fakes.world import FakeClock
from tests.reconcile.watched import NAME, Records, WatchedCluster

KEY = ("openstack", NAME)
RESYNC = 300.0


class SilentEvents:
    """Remembers what was emitted."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, str]] = []

    def emit(self, obj: Any, *, type_: str, reason: str, message: str, logged: bool = False) -> None:
        self.emitted.append((type_, reason))


class Health:
    """The container on a cluster whose watches the test delivers."""

    def __init__(self) -> None:
        self.clock = FakeClock(start=1_780_000_000.0)
        self.cluster = WatchedCluster(self.clock)
        self.records = Records()
        self.events = SilentEvents()
        self.beside: Callable[[Callable[[], None]], None] = at_once
        self.looks_asked = 0
        self.start()

    def start(self, **settings: float) -> None:
        """A new process: it knows nothing, and its watches list what there is when the test says so."""
        self.store = ObjectStore(self.cluster.kube, self.clock, "openstack", PARSERS)
        self.cluster.store = self.store
        self.reconciler = HealthReconciler(
            HealthPorts(self.cluster.kube, self.clock, self.events, cast(ReleaseRecords, self.records)),
            HealthSettings("openstack", RESYNC, **settings),
            store=self.store,
            changed=self.reported,
            beside=self.beside,
        )

    def reported(self) -> None:
        self.looks_asked += 1

    def reconcile(self, after: float = 2.0) -> float | None:
        self.clock.advance(after)
        return self.reconciler.reconcile(KEY)

    def component(self, name: str = "api") -> dict[str, Any]:
        application = (self.cluster.status().get("health") or {}).get("nova") or {}
        found: dict[str, Any] = application.get(name) or {}
        return found

    def writes(self) -> list[Request]:
        return [one for one in self.cluster.kube.writes if one.manager == "osctl-health"]


@pytest.fixture
def health() -> Health:
    world = Health()
    world.cluster.region()
    world.cluster.bundle("nova")
    return world


COUNTS = ("currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable")
BROKEN: dict[str, Any] = {"readyReplicas": 0, "availableReplicas": 0}


def test_a_healthy_region_is_said_to_be_so(health: Health) -> None:
    health.cluster.put(deployment())
    assert health.reconcile() == RESYNC
    assert (health.component()["status"], health.component()["ready"]) == ("Ready", 2)
    reported = health.cluster.condition("WorkloadsHealthy")
    assert (reported["status"], reported["reason"], reported["observedGeneration"]) == (
        "True",
        "WorkloadsHealthy",
        1,
    )


def test_a_crashing_pod_turns_it_over_and_it_heals_unaided(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.put(deployment(2, **BROKEN))
    health.cluster.put(pod("nova-api-bbb-1", ("ReplicaSet", "nova-api-bbb"), **crashing("no such filter")))
    health.reconcile()
    assert health.component()["status"] == "Unhealthy"
    assert "CrashLoopBackOff" in health.component()["message"]
    assert "no such filter" in health.component()["message"]
    assert health.cluster.condition("WorkloadsHealthy")["reason"] == "WorkloadsFailing"
    health.cluster.put(deployment())
    health.reconcile()
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "True"
    assert [reason for _, reason in health.events.emitted] == [
        "WorkloadsHealthy",
        "WorkloadsFailing",
        "WorkloadsHealthy",
    ]


def test_nothing_new_writes_nothing(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.kube.forget_requests()
    health.reconcile()
    health.start()
    health.cluster.relist(*PARSERS)
    health.reconcile()
    assert health.writes() == []


def test_other_entries_of_the_status_are_not_touched(health: Health) -> None:
    before = {one["type"]: one for one in health.cluster.status()["conditions"]}
    health.cluster.put(deployment())
    health.reconcile()
    after = {one["type"]: one for one in health.cluster.status()["conditions"]}
    assert {name for name in before if before[name] != after[name]} == {"WorkloadsHealthy"}


def test_a_storm_of_events_is_written_at_most_once_a_second(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.kube.forget_requests()
    for number in range(50):
        broken = number % 2 == 0
        health.cluster.put(deployment(2, **(BROKEN if broken else {})))
        pause = health.reconcile(after=0.1)
        assert pause is not None
    assert 1 <= len(health.writes()) <= 5


def test_nothing_is_said_before_the_first_list_is_complete(health: Health) -> None:
    health.cluster.cut = True
    health.cluster.put(deployment())
    health.cluster.put(deployment(2, name="nova-scheduler", **BROKEN))
    health.cluster.cut = False
    health.cluster.deliver(None, health.cluster.kube.objects("Deployment")[0])
    again = health.reconcile()
    assert again is not None
    assert again < 1
    assert health.writes() == []
    health.cluster.relist(*WORKLOADS)
    health.reconcile()
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "False"


def test_after_a_restart_the_status_stays_until_everything_is_known(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    before = copy.deepcopy(health.cluster.status())
    health.start()
    health.reconcile()
    assert health.cluster.status() == before
    health.cluster.relist(*PARSERS)
    health.reconcile()
    assert health.cluster.status() == before


def test_a_deletion_that_no_watch_reported_is_noticed_when_the_watch_begins_again(health: Health) -> None:
    health.cluster.put(deployment())
    health.cluster.put(deployment(name="nova-scheduler"))
    health.reconcile()
    health.cluster.cut = True
    health.cluster.remove("Deployment", "nova-scheduler")
    health.cluster.relist(*WORKLOADS)
    health.reconcile()
    assert set(health.cluster.status()["health"]["nova"]) == {"api"}


def test_a_deletion_that_nothing_reported_is_noticed_in_time(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.cut = True
    health.cluster.remove("Deployment", "nova-api")
    health.reconcile()
    assert health.component()
    health.reconcile(after=RESYNC)
    assert not health.component()


def test_a_change_that_the_watch_has_not_reported_yet_is_no_reason_to_forget(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.cut = True
    health.cluster.put(deployment(name="nova-scheduler"))
    health.reconcile(after=RESYNC + 1)
    assert health.component()["status"] == "Ready"


def test_what_comes_while_the_list_is_under_way_is_kept(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    plain = health.cluster.kube.list_metadata

    def slow(resource: Resource, *args: Any, **selectors: Any) -> list[dict[str, Any]]:
        listed = plain(resource, *args, **selectors)
        if resource == DEPLOYMENT:
            health.cluster.put(deployment(name="nova-scheduler"))
        return listed

    health.cluster.kube.list_metadata = slow  # type: ignore[method-assign]
    health.reconcile(after=RESYNC + 1)
    assert health.component("scheduler")["status"] == "Ready"


def test_a_pod_made_again_under_its_name_survives_the_late_end_of_the_old_one(health: Health) -> None:
    old = health.cluster.put(pod("mariadb-server-0", ("StatefulSet", "mariadb-server")))
    health.cluster.remove("Pod", "mariadb-server-0")
    health.cluster.put(pod("mariadb-server-0", ("StatefulSet", "mariadb-server")))
    health.cluster.deliver("DELETED", old)
    assert [one.name for one in health.store.facts(POD)] == ["mariadb-server-0"]


def test_an_older_event_does_not_undo_a_newer_one(health: Health) -> None:
    first = health.cluster.put(deployment(2, **BROKEN))
    health.cluster.put(deployment())
    health.cluster.deliver("MODIFIED", first)
    health.reconcile()
    assert health.component()["status"] == "Ready"


def test_an_event_that_changes_nothing_of_interest_is_reported_as_none(health: Health) -> None:
    there = health.cluster.put(deployment())
    again = copy.deepcopy(there)
    again["metadata"]["annotations"]["someone"] = "was here"
    again["metadata"]["resourceVersion"] = "999"
    resource = WORKLOADS[0]
    assert not health.store.feed(resource, "MODIFIED", again)
    assert health.store.feed(resource, "DELETED", again)


def test_unknown_until_the_first_release_is_deployed(health: Health) -> None:
    health.cluster.bundle("nova", state="Installing", settled=False)
    health.cluster.put(deployment(2, **BROKEN))
    health.reconcile()
    reported = health.cluster.condition("WorkloadsHealthy")
    assert (reported["status"], reported["reason"]) == ("Unknown", "Initializing")
    assert health.component()["status"] == "Progressing"


def test_a_region_without_bundles_is_left_alone() -> None:
    world = Health()
    world.cluster.region()
    world.cluster.put(deployment())
    assert world.reconcile() is None
    assert world.writes() == []


def test_an_osdpl_that_is_gone_is_no_error(health: Health) -> None:
    health.cluster.remove("OpenStackDeployment", NAME)
    assert health.reconcile() is None


def test_the_verdict_is_about_a_generation_only_when_its_bundles_are_deployed(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.region(observed=2)
    health.cluster.bundle("nova", "placement", state="Upgrading", settled=False)
    health.cluster.kube.forget_requests()
    health.reconcile()
    assert "list" not in [request.verb for request in health.cluster.kube.requests]
    assert health.cluster.condition("WorkloadsHealthy")["observedGeneration"] == 1
    health.cluster.bundle("nova", "placement")
    health.reconcile()
    assert health.cluster.condition("WorkloadsHealthy")["observedGeneration"] == 2


def test_the_verdict_is_not_about_a_generation_whose_rollout_was_not_seen_yet(health: Health) -> None:
    health.cluster.put(deployment())
    health.reconcile()
    health.cluster.region(observed=2)
    health.cluster.cut = True
    health.cluster.put(deployment(2, updatedReplicas=0))
    again = health.reconcile()
    assert again is not None
    assert again < 1
    assert health.cluster.condition("WorkloadsHealthy")["observedGeneration"] == 1
    health.cluster.relist(*WORKLOADS)
    health.reconcile()
    reported = health.cluster.condition("WorkloadsHealthy")
    assert (reported["status"], reported["observedGeneration"]) == ("False", 2)


def rendered(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"component": name.removeprefix("nova-")}},
        "spec": {"replicas": 2},
    }


def test_a_workload_that_someone_deleted_is_missed(health: Health) -> None:
    health.records.manifests["nova", 1] = RenderedRelease(
        (rendered("nova-api"), rendered("nova-scheduler")), ()
    )
    health.cluster.put(deployment())
    health.cluster.put(deployment(name="nova-scheduler"))
    health.reconcile()
    health.cluster.remove("Deployment", "nova-api")
    health.reconcile()
    assert health.component()["message"] == (
        "Deployment nova-api does not exist, but release nova contains it"
    )
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "False"
    health.cluster.put(deployment())
    health.reconcile()
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "True"


def test_what_only_the_watch_has_not_reported_yet_is_not_missed(health: Health) -> None:
    health.records.manifests["nova", 1] = RenderedRelease((rendered("nova-api"),), ())
    health.records.statuses["nova", 1] = "pending-install"
    health.cluster.bundle("nova", state="Installing", settled=False)
    health.reconcile()
    health.cluster.cut = True
    health.cluster.put(deployment())
    health.cluster.cut = False
    health.cluster.bundle("nova")
    again = health.reconcile()
    assert again is not None
    assert again < 1
    assert not health.component()
    health.cluster.relist(*WORKLOADS)
    health.reconcile()
    assert health.component()["status"] == "Ready"


def test_the_record_of_a_release_is_read_once_for_each_revision(health: Health) -> None:
    health.records.manifests["nova", 1] = RenderedRelease((rendered("nova-api"),), ())
    health.records.manifests["nova", 2] = RenderedRelease((), ())
    health.cluster.put(deployment())
    for _ in range(3):
        health.reconcile()
    assert health.records.reads == 1
    health.cluster.bundle("nova", revision=2)
    health.reconcile()
    assert health.records.reads == 2


def test_a_record_that_cannot_be_read_costs_only_the_look_for_what_is_gone_of_that_release(
    health: Health, caplog: pytest.LogCaptureFixture
) -> None:
    health.records.damaged.add(("nova", 1))
    health.cluster.put(deployment())
    health.reconcile()
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "True"
    health.cluster.put(deployment(2, **BROKEN))
    health.reconcile()
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "False"
    assert health.records.reads == 1
    assert caplog.text.count("cannot be read") == 1


@pytest.mark.parametrize("restarted", [False, True], ids=["the same process", "a new process"])
@pytest.mark.parametrize("state", ["Upgrading", "Failed", "Waiting"])
def test_what_is_gone_is_missed_while_its_release_is_not_deployed(
    health: Health, state: str, restarted: bool
) -> None:
    health.records.manifests["nova", 1] = RenderedRelease(
        (rendered("nova-api"), rendered("nova-scheduler")), ()
    )
    for name in ("nova-api", "nova-scheduler"):
        health.cluster.put(deployment(name=name))
    health.reconcile()
    health.cluster.remove("Deployment", "nova-api")
    health.reconcile()
    health.records.manifests["nova", 2] = RenderedRelease((rendered("nova-api"),), ())
    health.records.statuses["nova", 2] = "failed" if state == "Failed" else "pending-upgrade"
    health.cluster.bundle("nova", state=state, revision=2, settled=False)
    if restarted:
        health.start()
        health.cluster.relist(*PARSERS)
    health.reconcile()
    assert "does not exist" in health.component()["message"]
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "False"


def test_what_an_upgrade_takes_away_is_not_missed_meanwhile(health: Health) -> None:
    health.records.manifests["nova", 1] = RenderedRelease(
        (rendered("nova-api"), rendered("nova-scheduler")), ()
    )
    for name in ("nova-api", "nova-scheduler"):
        health.cluster.put(deployment(name=name))
    health.reconcile()
    # The bundle's status tells of the upgrade, and not yet of the revision that it makes.
    health.cluster.bundle("nova", state="Upgrading", settled=False)
    health.reconcile()
    health.records.manifests["nova", 2] = RenderedRelease((rendered("nova-api"),), ())
    health.records.statuses["nova", 2] = "pending-upgrade"
    health.cluster.remove("Deployment", "nova-scheduler")
    health.reconcile()
    assert set(health.cluster.status()["health"]["nova"]) == {"api"}
    assert health.cluster.condition("WorkloadsHealthy")["status"] == "True"


def test_a_release_that_was_never_deployed_lacks_nothing(health: Health) -> None:
    health.records.manifests["nova", 1] = RenderedRelease((rendered("nova-scheduler"),), ())
    health.records.statuses["nova", 1] = "pending-install"
    health.cluster.bundle("nova", state="Installing", settled=False)
    health.cluster.put(deployment())
    health.reconcile()
    assert set(health.cluster.status()["health"]["nova"]) == {"api"}


def crash(health: Health, message: str) -> None:
    health.cluster.put(deployment(2, **BROKEN))
    health.cluster.put(pod("nova-api-bbb-1", ("ReplicaSet", "nova-api-bbb"), **crashing(message)))


def test_a_password_that_a_container_prints_reaches_no_status(health: Health) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "compute-credentials", "namespace": "openstack"},
        "stringData": {"password": "correct-horse"},
    }
    health.cluster.put(secret)
    health.cluster.bundle("nova", secret="compute-credentials")
    crash(health, "access denied with correct-horse at mysql://nova:someone-elses@db/nova")
    health.reconcile()
    assert "access denied with [redacted] at mysql://nova:[redacted]@db/nova" in health.component()["message"]


def test_the_log_speaks_for_a_container_that_died_without_a_word(health: Health) -> None:
    health.cluster.kube.logs["openstack", "nova-api-bbb-1", "api"] = "ERROR: no such filter\n"
    crash(health, "")
    health.reconcile()
    assert health.component()["message"].endswith('"ERROR: no such filter"')


def test_a_log_that_is_slow_to_come_holds_up_nothing(health: Health) -> None:
    work: list[Callable[[], None]] = []
    health.beside = work.append
    health.start()
    health.cluster.relist(*PARSERS)
    health.cluster.kube.logs["openstack", "nova-api-bbb-1", "api"] = "ERROR: no such filter\n"
    crash(health, "")
    health.reconcile()
    bare = health.component()["message"]
    assert bare.endswith("ended with exit code 1")
    health.reconcile()
    assert (len(work), health.looks_asked) == (1, 0)
    work.pop()()
    assert health.looks_asked == 1
    health.reconcile()
    assert health.component()["message"] == f'{bare}: "ERROR: no such filter"'
    health.cluster.kube.forget_requests()
    health.start()
    health.cluster.relist(*PARSERS)
    health.reconcile()
    assert health.writes() == []


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (
            daemonset(
                2, currentNumberScheduled=0, updatedNumberScheduled=0, numberReady=0, numberAvailable=0
            ),
            "2 of 2",
        ),
        (job(), "no pod"),
    ],
    ids=["DaemonSet", "Job"],
)
def test_the_cause_of_missing_pods_is_reported_when_it_takes_too_long(
    health: Health, workload: dict[str, Any], words: str
) -> None:
    for age, quota in ((300, "an older quota"), (20, "exceeded quota: compute")):
        health.cluster.kube.create(refusal(workload, f"Error creating: pods forbidden: {quota}", at(age)))
    health.cluster.kube.forget_requests()
    health.cluster.put(workload)
    health.reconcile()
    name = workload["metadata"]["labels"]["component"]
    assert (health.component(name)["status"], health.looks_asked) == ("Progressing", 0)
    assert words in health.component(name)["message"]
    health.reconcile(after=600)
    assert health.component(name)["status"] == "Unhealthy"
    assert health.component(name)["message"].endswith(
        ': "Error creating: pods forbidden: exceeded quota: compute"'
    )
    health.reconcile()
    assert [one.kind for one in health.cluster.kube.requests if one.verb == "list"].count("Event") == 1


def refusal(workload: dict[str, Any], message: str, last: str) -> dict[str, Any]:
    name = workload["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{last}", "namespace": "openstack"},
        "involvedObject": {"kind": workload["kind"], "name": name},
        "reason": "FailedCreate",
        "message": message,
        "lastTimestamp": last,
    }


def test_flapping_is_reported_and_ends_by_itself(health: Health) -> None:
    for _ in range(3):
        health.cluster.put(deployment())
        health.reconcile()
        health.cluster.put(deployment(2, **BROKEN))
        health.reconcile()
    health.cluster.put(deployment())
    again = health.reconcile()
    assert health.component()["status"] == "Unhealthy"
    assert "became unready" in health.component()["message"]
    assert again == 10.0
    health.reconcile(after=60)
    assert health.component()["status"] == "Ready"


class _Probes:
    """Says of every probe that is wanted that it fails."""

    ended = False

    def end(self) -> None:
        self.ended = True

    def components(self, desired: Probed, known: Mapping[str, Any]) -> dict[tuple[str, str], ComponentHealth]:
        self.known = known
        lost = WorkloadHealth(Unwell.UNHEALTHY, 1, 2, "1 of 2 compute services down: cmp1")
        return {("probes", name): ComponentHealth(lost, 0) for name in desired.asked}

    def due_in(self) -> float:
        return 4.0


def test_what_the_regions_own_services_say_counts_too(health: Health) -> None:
    health.cluster.bundle("nova", "keystone")
    computes = daemonset(2)
    computes["metadata"]["labels"]["component"] = "compute"
    health.cluster.put(computes)
    probes = _Probes()
    health.reconciler._probes = cast(ServiceProbes, probes)
    again = health.reconcile()
    entry = health.cluster.status()["health"]["probes"]["compute-services"]
    assert (entry["status"], entry["ready"], entry["desired"]) == ("Unhealthy", 1, 2)
    assert "probes compute-services 1/2: 1 of 2" in health.cluster.condition("WorkloadsHealthy")["message"]
    assert again == 4.0
    health.reconcile()
    assert probes.known["compute-services"] == entry


def test_the_probes_end_with_the_region(health: Health) -> None:
    probes = _Probes()
    health.reconciler._probes = cast(ServiceProbes, probes)
    health.cluster.bundle("nova", "keystone")
    health.reconcile()
    assert not probes.ended
    health.cluster.remove("OpenStackDeployment", NAME)
    health.reconcile()
    assert probes.ended


@pytest.mark.parametrize("seconds", [60, 1200])
def test_a_setting_says_when_missing_pods_are_a_failure(health: Health, seconds: float) -> None:
    health.start(progress_deadline=seconds)
    health.cluster.relist(*PARSERS)
    health.cluster.put(job())
    component = job()["metadata"]["labels"]["component"]
    health.reconcile()
    health.reconcile(after=seconds - 3)
    assert health.component(component)["status"] == "Progressing"
    health.reconcile(after=3)
    assert health.component(component)["status"] == "Unhealthy"
