"""Waiting for a region: until it is Ready or gone, until the time is up, or until only an edit helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.waiting import Goal, wait_for_region
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import Resource
from tests.cli.objects import bundle, condition, region, release
from tests.fakes.world import FakeClock

READY = region(condition("Ready", "True", "RegionReady", "done"))
PENDING = region(condition("Ready", "False", "ReleasesPending", "not yet"))
BUNDLE = bundle("identity", release("keystone", "Deployed", revision=1))


class Script:
    """An API server that tells one state after the other; the last one forever."""

    def __init__(self, *states: Any) -> None:
        self._states: Iterator[Any] = iter(states)
        self._now: Any = None
        self.bundles: list[dict[str, Any]] = [BUNDLE]
        self.jobs: list[dict[str, Any]] = []
        self.pods: list[dict[str, Any]] = []

    def get(self, *_: Any) -> Any:
        self._now = next(self._states, self._now)
        if isinstance(self._now, Exception):
            raise self._now
        return self._now

    def list(self, resource: Resource, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return {"HelmBundle": self.bundles, "Job": self.jobs, "Pod": self.pods}[resource.kind]


def wait(script: Script, *, goal: Goal = Goal.READY, timeout: float = 60.0) -> tuple[ExitCode, FakeClock]:
    clock = FakeClock()
    sleep: Callable[[float], None] = clock.advance
    cluster = Cluster(script)  # type: ignore[arg-type] - the two calls that waiting makes
    return wait_for_region(cluster, PENDING, goal=goal, timeout=timeout, clock=clock, sleep=sleep), clock


def test_it_ends_well_when_the_region_becomes_ready(capsys: pytest.CaptureFixture[str]):
    code, _ = wait(Script(PENDING, PENDING, READY))
    assert code == ExitCode.OK
    assert capsys.readouterr().out == "region-one: Ready, 1 release installed, in 2.0 s\n"


def test_it_gives_up_when_the_time_is_up_and_says_why(capsys: pytest.CaptureFixture[str]):
    script = Script(PENDING)
    script.bundles = [bundle("identity", release("keystone", "Failed", lastAttempt={"error": "no image"}))]
    code, clock = wait(script, timeout=10.0)
    assert code == ExitCode.NOT_READY
    assert clock.monotonic() == 10.0
    out = capsys.readouterr().out
    assert "not Ready after 10 s" in out
    assert "keystone: failed: no image" in out


def test_a_timeout_of_zero_looks_once():
    code, clock = wait(Script(READY), timeout=0.0)
    assert (code, clock.monotonic()) == (ExitCode.OK, 0.0)


def test_it_ends_at_once_when_only_an_edit_helps(capsys: pytest.CaptureFixture[str]):
    invalid = region(
        condition("Ready", "False", "SpecInvalid", "spec.preset: unknown value"),
        condition("Stalled", "True", "SpecInvalid"),
    )
    code, clock = wait(Script(PENDING, invalid), timeout=600.0)
    assert code == ExitCode.NEEDS_EDIT
    assert clock.monotonic() < 2
    assert "spec.preset: unknown value" in capsys.readouterr().out


def test_a_server_that_is_away_for_a_while_does_not_end_it():
    code, _ = wait(Script(PENDING, ApiUnavailable("down"), ApiUnavailable("down"), READY))
    assert code == ExitCode.OK


def test_a_server_that_never_comes_back_is_named(capsys: pytest.CaptureFixture[str]):
    code, _ = wait(Script(ApiUnavailable("down")), timeout=5.0)
    assert code == ExitCode.NOT_READY
    assert "does not answer" in capsys.readouterr().out


def test_a_region_deleted_meanwhile_ends_it(capsys: pytest.CaptureFixture[str]):
    code, _ = wait(Script(PENDING, None))
    assert code == ExitCode.REFUSED
    assert "deleted meanwhile" in capsys.readouterr().out


def test_another_region_of_the_same_name_is_not_the_one():
    other = {**READY, "metadata": {**READY["metadata"], "uid": "another"}}
    code, _ = wait(Script(PENDING, other))
    assert code == ExitCode.REFUSED


def test_deletion_is_complete_when_its_bundles_are_gone_too():
    script = Script(None)
    code, _ = wait(script, goal=Goal.DELETED, timeout=3.0)
    assert code == ExitCode.NOT_READY
    script = Script(None)
    script.bundles = []
    code, _ = wait(script, goal=Goal.DELETED, timeout=3.0)
    assert code == ExitCode.OK


def test_an_interrupt_shows_how_to_wait_again(capsys: pytest.CaptureFixture[str]):
    class Impatient(Script):
        def get(self, *_: Any) -> Any:
            raise KeyboardInterrupt

    code, _ = wait(Impatient())
    assert code == ExitCode.INTERRUPTED
    assert "osctl wait region-one -n openstack" in capsys.readouterr().err


def test_the_job_that_a_release_waits_for_is_reported_with_its_trouble(capsys: pytest.CaptureFixture[str]):
    script = Script(PENDING)
    script.bundles = [bundle("compute", release("nova", "Installing"))]
    started = {"startTime": "2023-11-14T22:13:00Z"}  # twenty seconds before the fake clock's start
    script.jobs = [{"metadata": {"name": "nova-db-sync"}, "status": started}]
    state = {"waiting": {"reason": "ImagePullBackOff"}}
    script.pods = [
        {
            "metadata": {"labels": {"batch.kubernetes.io/job-name": "nova-db-sync"}},
            "status": {"containerStatuses": [{"name": "sync", "image": "nova:1", "state": state}]},
        }
    ]
    wait(script, timeout=40.0)
    reported = capsys.readouterr()
    assert "nova: installing: nova-db-sync: ImagePullBackOff nova:1" in reported.err
    assert "nova: nova-db-sync: ImagePullBackOff nova:1" in reported.out
    assert "nova installing 30 s (Job nova-db-sync runs for" in reported.err


TAKEN = release(
    "keystone",
    "Failed",
    reason="ObjectNameTaken",
    lastAttempt={"error": "Secret/keys has no owner; to hand it over: kubectl annotate secret/keys a=b"},
)
RETRIED = release("keystone", "Installing", reason="Installing")
NEXT = release("nova", "Waiting", reason="WaitingForDependency", message="waits for keystone to be deployed")


class Releases(Script):
    """A region that is never Ready, whose releases are as the test says at each look."""

    def __init__(self, *looks: tuple[dict[str, Any], ...]) -> None:
        super().__init__(PENDING)
        self._looks = iter(looks)
        self._releases: tuple[dict[str, Any], ...] = ()

    def get(self, *arguments: Any) -> Any:
        self._releases = next(self._looks, self._releases)
        self.bundles = [bundle("identity", *self._releases)]
        return super().get(*arguments)


@pytest.mark.slow
def test_it_ends_when_releases_have_failed_of_what_only_a_person_can_mend(capsys: pytest.CaptureFixture[str]):
    """Also where it is tried again every half minute, and others wait for it."""
    tries = [(RETRIED if second % 30 == 29 else TAKEN, NEXT) for second in range(600)]
    code, clock = wait(Releases(*tries), timeout=600.0)
    assert code == ExitCode.NEEDS_EDIT
    assert 45 <= clock.monotonic() < 60
    out = capsys.readouterr().out
    assert "region-one: will not become Ready before a person acts" in out
    assert "kubectl annotate secret/keys" in out


def test_it_ends_at_fields_that_are_fixed_and_kinds_that_are_missing_too():
    fixed = {"error": "PersistentVolumeClaim/data: storage class a → b", "lasting": True}
    code, _ = wait(
        Releases((release("glance", "Failed", reason="BackingOff", lastAttempt=fixed),)), timeout=99
    )
    assert code == ExitCode.NEEDS_EDIT


def test_it_waits_on_while_another_release_may_give_the_object_up():
    leaving = (TAKEN, release("glance", "Uninstalling", reason="Uninstalling"))
    code, clock = wait(Releases(*[leaving] * 100, (TAKEN,)), timeout=600.0)
    assert code == ExitCode.NEEDS_EDIT
    assert 145 <= clock.monotonic() < 150


@pytest.mark.parametrize(
    "other",
    [
        release("glance", "Waiting", reason="PullingChart"),
        release("glance", "Waiting", reason="SecretMissing"),
        release("glance", "Failed", reason="BackingOff", lastAttempt={"error": "a hook failed"}),
        release("glance", "Failed", reason="RepositoryUnavailable"),
    ],
    ids=lambda one: str(one["reason"]),
)
def test_it_waits_on_while_something_may_heal_by_itself(other: dict[str, Any]):
    code, _ = wait(Releases((TAKEN, other)), timeout=300.0)
    assert code == ExitCode.NOT_READY


def test_a_release_that_gets_through_after_all_counts_from_the_start():
    code, _ = wait(Releases(*[(TAKEN, NEXT)] * 40, (RETRIED, NEXT), *[(NEXT,)] * 2), timeout=100.0)
    assert code == ExitCode.NOT_READY


def test_a_deletion_is_waited_for_anyway():
    code, _ = wait(Releases((TAKEN,)), goal=Goal.DELETED, timeout=100.0)
    assert code == ExitCode.NOT_READY
