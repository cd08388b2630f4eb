"""osctl events and osctl logs on a cluster in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.cli.cluster import Cluster
from controller.cli.commands.overview import events as events_command
from controller.cli.commands.overview import logs as logs_command
from tests.cli.objects import osctl
from tests.fakes.kube import FakeKube
from tests.fakes.survey import FakeSurvey
from tests.fakes.world import FakeClock


class Interrupting:
    """A sleep that does something once, and then is Ctrl-C."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    def __call__(self, _: float) -> None:
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


@pytest.fixture
def survey(kube: FakeKube, monkeypatch: pytest.MonkeyPatch) -> FakeSurvey:
    found = FakeSurvey(kube, FakeClock())
    for module in (events_command, logs_command):
        monkeypatch.setattr(module, "open_cluster", lambda *given: Cluster(kube, given[2]))
    monkeypatch.setattr(logs_command, "open_survey", lambda *_: found)
    return found


def pod(kube: FakeKube, name: str, *containers: str, namespace: str = "openstack", **more: Any) -> None:
    labels = more.pop("labels", {})
    spec = {"containers": [{"name": one, "image": "x"} for one in containers], **more}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def event(
    kube: FakeKube, name: str, kind: str, about: str, reason: str, namespace: str = "openstack"
) -> None:
    kube.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"kind": kind, "name": about, "namespace": namespace},
            "reason": reason,
            "type": "Warning" if reason == "BackOff" else "Normal",
            "message": f"{reason} \x1b[31mof {about}",
            "lastTimestamp": "2026-03-01T09:00:00Z",
        }
    )


def test_events_are_those_of_the_region_its_nodes_and_its_maintenances(kube: FakeKube, survey: FakeSurvey):
    event(kube, "a", "Pod", "nova-api-0", "BackOff")
    event(kube, "b", "Node", "cmp7", "Cordoned", "default")
    event(kube, "c", "Node", "node-of-another-region", "Cordoned", "default")
    event(kube, "d", "ComputeMaintenance", "node-cmp7", "Moving", "default")
    event(kube, "e", "Pod", "nova-api-0", "Killing", "another")
    result = osctl("events", "region-one", "-o", "json")
    found = {(one["object"]["name"], one["reason"]) for one in json.loads(result.stdout)}
    assert found == {("nova-api-0", "BackOff"), ("cmp7", "Cordoned"), ("node-cmp7", "Moving")}


def test_only_warnings_and_no_escapes_of_a_terminal(kube: FakeKube, survey: FakeSurvey):
    event(kube, "a", "Pod", "nova-api-0", "BackOff")
    event(kube, "b", "Pod", "nova-api-0", "Pulled")
    result = osctl("events", "--warnings")
    assert "BackOff" in result.stdout and "Pulled" not in result.stdout
    assert "\x1b" not in result.stdout


def test_watching_prints_what_is_new_and_what_happens_again(
    kube: FakeKube, survey: FakeSurvey, monkeypatch: pytest.MonkeyPatch
):
    event(kube, "a", "Pod", "nova-api-0", "BackOff")

    def again() -> None:
        event(kube, "b", "Pod", "keystone-api-0", "Pulled")

    monkeypatch.setattr(events_command.time, "sleep", Interrupting(again, lambda: None))
    result = osctl("events", "--watch")
    assert result.exit_code == 130
    assert result.stdout.count("BackOff of") + result.stdout.count("BackOff \N{REPLACEMENT CHARACTER}") == 1
    assert result.stdout.splitlines()[-1].startswith(
        "2026-03-01T09:00:00Z  Normal  Pulled  Pod/keystone-api-0"
    )


CONTROLLER = {"app.kubernetes.io/name": "openstack-controller"}


def test_logs_of_a_container_of_the_controller_are_read_for_a_person(kube: FakeKube, survey: FakeSurvey):
    pod(kube, "controller-0", "core", "node", namespace="openstack-controller", labels=CONTROLLER)
    line = {"time": "2026-03-01T09:00:00.5Z", "level": "INFO", "container": "core", "message": "applied"}
    text = json.dumps({**line, "object": "openstack/region-one"})
    kube.logs["openstack-controller", "controller-0", "core"] = f"2026-03-01T09:00:00.5Z {text}"
    kube.logs["openstack-controller", "controller-0", "node"] = "2026-03-01T09:00:01Z other"
    result = osctl("logs", "core")
    assert result.stdout == "2026-03-01T09:00:00.5Z INFO applied  [object=openstack/region-one]\n"


def nova(kube: FakeKube) -> None:
    for name in ("nova-api-0", "nova-scheduler-0"):
        labels = {"release_group": "nova", "component": name.split("-")[1]}
        pod(kube, name, "main", labels=labels)
    kube.logs["openstack", "nova-api-0", "main"] = "2026-03-01T09:00:00.1Z b\n2026-03-01T09:00:02Z d\x1b[31m"
    kube.logs["openstack", "nova-scheduler-0", "main"] = "2026-03-01T09:00:00.09Z a\n2026-03-01T09:00:01.5Z c"


def test_logs_of_a_service_are_of_all_its_pods_in_the_order_of_time(kube: FakeKube, survey: FakeSurvey):
    nova(kube)
    lines = osctl("logs", "compute").stdout.splitlines()
    assert [line.split()[1][0] for line in lines] == ["a", "b", "c", "d"]
    assert lines[0].startswith("nova-scheduler-0/main  ")
    assert "\x1b" not in lines[3]


def test_logs_of_one_component_as_data(kube: FakeKube, survey: FakeSurvey):
    nova(kube)
    result = osctl("logs", "nova", "--component", "api", "-o", "json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["line"] for one in found] == ["b", "d\x1b[31m"]
    assert {one["pod"] for one in found} == {"nova-api-0"}


def test_following_prints_each_line_once_also_of_a_new_pod(
    kube: FakeKube, survey: FakeSurvey, monkeypatch: pytest.MonkeyPatch
):
    nova(kube)

    def more() -> None:
        kube.logs["openstack", "nova-api-0", "main"] += "\n2026-03-01T09:00:02.25Z e"
        pod(kube, "nova-api-1", "main", labels={"release_group": "nova"})
        kube.logs["openstack", "nova-api-1", "main"] = "2026-03-01T09:00:03Z f"

    monkeypatch.setattr(logs_command.time, "sleep", Interrupting(more, lambda: None))
    result = osctl("logs", "nova", "--follow")
    assert result.exit_code == 130
    assert [line.split()[1][0] for line in result.stdout.splitlines()] == ["a", "b", "c", "d", "e", "f"]


def test_a_pod_that_waits_shows_its_init_containers(kube: FakeKube, survey: FakeSurvey):
    init = [{"name": "init", "image": "x"}]
    pod(kube, "nova-api-0", "main", labels={"release_group": "nova"}, initContainers=init)
    found = kube.get(logs_command.POD, "nova-api-0", "openstack")
    assert found is not None
    kube.replace({**found, "status": {"phase": "Pending"}}, subresource="status")
    kube.logs["openstack", "nova-api-0", "init"] = "2026-03-01T09:00:00Z waits for keystone"
    assert "nova-api-0/init  waits for keystone" in osctl("logs", "nova").stdout


def test_a_name_that_is_none_suggests_one(kube: FakeKube, survey: FakeSurvey):
    result = osctl("logs", "nvoa")
    assert result.exit_code == 6
    assert 'did you mean "nova"?' in result.stderr


def test_without_any_pod_the_command_says_where_it_looked(kube: FakeKube, survey: FakeSurvey):
    result = osctl("logs", "core")
    assert result.exit_code == 6
    assert "namespace openstack-controller" in result.stderr


def test_a_log_that_may_not_be_read_is_refused(kube: FakeKube, survey: FakeSurvey):
    nova(kube)
    survey.refused.add("log")
    result = osctl("logs", "nova")
    assert result.exit_code == 6
    assert "forbidden" in result.stderr
