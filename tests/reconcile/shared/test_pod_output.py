"""Reading what explains a failure: a few at a time, beside the pass, and never twice at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.health.region_health import ComponentHealth, ComponentKey
from controller.domain.health.workload_health import Health, WorkloadHealth
from controller.errors import ApiUnavailable, Forbidden
from controller.reconcile.shared.pod_output import (
    KEPT,
    LACKING_FOR,
    READ_AT_ONCE,
    TEXT_KEPT,
    UNREADY_FOR,
    PodOutput,
    in_thread,
)
from sandbox.patience import patient
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock


class Reading:
    """Some components whose pods died silently; reading is done when the test says so."""

    def __init__(self, count: int) -> None:
        self.clock, self.kube = FakeClock(), FakeKube()
        self.work: list[Callable[[], None]] = []
        self.told = 0
        self.output = PodOutput(
            self.kube, self.clock, "openstack", beside=self.work.append, changed=self.tell
        )
        self.components = {
            ("nova", str(number)): ComponentHealth(
                WorkloadHealth(Health.UNHEALTHY, 0, 1, "crashes", silent=(f"pod-{number}", "api")), 1
            )
            for number in range(count)
        }
        for number in range(count):
            self.kube.logs["openstack", f"pod-{number}", "api"] = f"words of {number}\n"

    def tell(self) -> None:
        self.told += 1

    def observe(self) -> dict[ComponentKey, WorkloadHealth]:
        added = self.output.added(self.components)
        return {key: component.verdict for key, component in added.items()}

    def read(self) -> None:
        self.work.pop(0)()


def test_a_few_are_read_at_once_and_all_in_the_end() -> None:
    reading = Reading(READ_AT_ONCE + 2)
    reading.observe()
    reading.read()
    known = reading.observe()
    assert sum(bool(one.output) for one in known.values()) == READ_AT_ONCE
    assert sum(one.awaited for one in known.values()) == 2
    reading.read()
    assert {one.output for one in reading.observe().values()} == {f"words of {n}" for n in range(7)}
    assert reading.told == 2


def test_nothing_is_read_while_something_is_being_read() -> None:
    reading = Reading(1)
    for _ in range(3):
        reading.observe()
        reading.clock.advance(KEPT)
    assert len(reading.work) == 1


def test_what_brings_nothing_new_asks_for_no_look() -> None:
    reading = Reading(1)
    reading.observe()
    reading.read()
    reading.clock.advance(KEPT)
    reading.kube.logs.clear()
    reading.observe()
    reading.read()
    assert reading.told == 1
    assert reading.observe()["nova", "0"].output == "words of 0"


def test_a_failure_while_reading_does_not_end_reading_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading(1)
    with monkeypatch.context() as patch:
        patch.setattr(reading.kube, "pod_log", None)
        reading.observe()
        with pytest.raises(TypeError):
            reading.read()
    reading.observe()
    reading.read()
    assert reading.observe()["nova", "0"].output == "words of 0"


def test_without_the_right_to_list_events_there_are_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading(0)
    lacking = WorkloadHealth(Health.UNHEALTHY, 0, 1, "does not exist", lacking=("DaemonSet", "nova-compute"))
    reading.components["nova", "compute"] = ComponentHealth(lacking, 1)

    def forbidden(*_: object, **__: object) -> None:
        raise Forbidden("events")

    monkeypatch.setattr(reading.kube, "list", forbidden)
    reading.observe()
    reading.clock.advance(LACKING_FOR)
    reading.observe()
    reading.read()
    verdict = reading.observe()["nova", "compute"]
    assert (verdict.output, verdict.awaited) == ("", False)


class Refused(Reading):
    """Workloads whose pods the cluster does not make, each with an Event that says why."""

    def __init__(self, count: int, message: str = "exceeded quota") -> None:
        super().__init__(0)
        for number in range(count):
            name = f"nova-{number}"
            lacking = WorkloadHealth(Health.PROGRESSING, 0, 1, "does not exist", lacking=("DaemonSet", name))
            self.components["nova", name] = ComponentHealth(lacking, 1)
            self.kube.create(
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": name, "namespace": "openstack"},
                    "involvedObject": {"kind": "DaemonSet", "name": name},
                    "reason": "FailedCreate",
                    "message": message,
                    "lastTimestamp": timestamp(self.clock.now()),
                }
            )

    def words(self) -> list[str]:
        return [one.output for one in self.observe().values()]


def test_pods_that_are_refused_are_explained_soon_while_they_are_still_on_their_way() -> None:
    refused = Refused(1)
    refused.observe()
    refused.clock.advance(LACKING_FOR - 1)
    refused.observe()
    assert refused.work == []
    refused.clock.advance(1)
    refused.observe()
    refused.read()
    assert refused.words() == ["exceeded quota"]
    assert refused.observe()["nova", "nova-0"].health == Health.PROGRESSING


def test_the_newest_of_many_similar_words_is_shown_without_a_note_about_them() -> None:
    refused = Refused(1, "(combined from similar events): exceeded quota")
    refused.observe()
    refused.clock.advance(LACKING_FOR)
    refused.observe()
    refused.read()
    assert refused.words() == ["exceeded quota"]


def test_a_word_of_former_times_explains_nothing() -> None:
    refused = Refused(1)
    refused.observe()
    refused.clock.advance(TEXT_KEPT + 1)
    refused.observe()
    refused.read()
    assert refused.words() == [""]


def test_an_api_server_that_is_away_is_asked_once_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    refused, asked = Refused(READ_AT_ONCE), list[str]()

    def away(*_: object, fields: str, **__: object) -> None:
        asked.append(fields)
        raise ApiUnavailable("503")

    refused.observe()
    refused.clock.advance(LACKING_FOR)
    with monkeypatch.context() as patch:
        patch.setattr(refused.kube, "list", away)
        for _ in range(2):
            refused.observe()
            refused.read()
    assert len(set(asked)) == len(asked) == 2
    refused.observe()
    refused.read()
    assert refused.words().count("exceeded quota") == READ_AT_ONCE - 2


def test_a_thread_that_cannot_be_started_does_not_end_reading_forever() -> None:
    reading = Reading(1)

    def no_thread(_: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    reading.output._beside = no_thread
    reading.observe()
    reading.output._beside = reading.work.append
    reading.observe()
    reading.read()
    assert reading.observe()["nova", "0"].output == "words of 0"


def test_beside_is_another_thread() -> None:
    done: list[int] = []
    ended = threading.Event()

    def work() -> None:
        done.append(threading.get_ident())
        ended.set()

    in_thread(work)
    assert ended.wait(patient(60))
    assert done != [threading.get_ident()]


class Unready(Reading):
    """A container that ended without an error, was started again, and is not ready."""

    def __init__(self) -> None:
        super().__init__(0)
        self.made = self.clock.now()
        verdict = WorkloadHealth(
            Health.UNHEALTHY, 0, 1, "crashes", silent=("rpc-0", "rpc"), probed=("rpc-0", "rpc", self.made)
        )
        self.components["neutron", "rpc-server"] = ComponentHealth(verdict, 1)

    def event(
        self, message: str, *, reason: str = "Unhealthy", container: str = "rpc", age: float = 0
    ) -> None:
        self.kube.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"event-{len(message)}-{reason}", "namespace": "openstack"},
                "involvedObject": {
                    "kind": "Pod",
                    "name": "rpc-0",
                    "fieldPath": f"spec.containers{{{container}}}",
                },
                "type": "Warning",
                "reason": reason,
                "message": message,
                "lastTimestamp": timestamp(self.clock.now() - age),
            }
        )

    def words(self) -> str:
        self.observe()
        self.clock.advance(UNREADY_FOR)
        while self.work:
            self.read()
            self.observe()
        self.observe()
        while self.work:
            self.read()
        return self.observe()["neutron", "rpc-server"].output


def test_what_a_container_said_before_it_was_started_again_is_reported_and_not_its_new_beginning() -> None:
    unready = Unready()
    unready.kube.logs["openstack", "rpc-0", "rpc"] = "starting"
    unready.kube.previous_logs["openstack", "rpc-0", "rpc"] = "no connection to the broker"
    assert unready.words() == "no connection to the broker"


def test_what_a_probe_said_stands_before_the_log() -> None:
    unready = Unready()
    unready.kube.previous_logs["openstack", "rpc-0", "rpc"] = "told to stop"
    unready.event("Readiness probe failed: too early", age=-1)
    unready.clock.advance(5)
    unready.event("Liveness probe failed: no connection to port 3306")
    unready.event("Back-off restarting failed container", reason="BackOff")
    assert unready.words() == "Liveness probe failed: no connection to port 3306; told to stop"


def test_the_probe_of_another_container_and_of_an_earlier_pod_explains_nothing() -> None:
    unready = Unready()
    unready.event("Liveness probe failed: of another container", container="proxy")
    unready.event("Liveness probe failed: of an earlier pod", age=60)
    assert unready.words() == ""


def test_events_of_a_pod_that_has_just_begun_to_start_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    unready = Unready()
    verdict = WorkloadHealth(
        Health.PROGRESSING, 0, 1, "is not ready yet", probed=("rpc-0", "rpc", unready.made)
    )
    unready.components["neutron", "rpc-server"] = ComponentHealth(verdict, 1)
    unready.observe()
    unready.clock.advance(UNREADY_FOR - 1)
    assert not unready.observe()["neutron", "rpc-server"].awaited
    assert unready.work == []
