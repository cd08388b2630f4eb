"""The start-up wait of OpenStack-Helm's pods: what its variables ask for, and when each is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sandbox.images import entrypoint
from sandbox.images.entrypoint import NotThere, Wanted, check, parse_wanted, wait
from sandbox.patience import patient

HERE = {"NAMESPACE": "openstack", "POD_NAME": "nova-api-0"}


class Api:
    """What the API server has, by path; what is asked of it is noted."""

    def __init__(self, objects: dict[str, Any] | None = None) -> None:
        self.objects = objects or {}
        self.asked: list[str] = []

    def __call__(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        if path not in self.objects:
            raise NotThere("the API server says 404 Not Found")
        found: dict[str, Any] = self.objects[path]
        return found


def pod(name: str, *, ready: bool, node: str = "one") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": {"name": name}, "spec": {"nodeName": node}, "status": {"conditions": conditions}}


def is_there(desired: Wanted, objects: dict[str, Any]) -> bool:
    try:
        check(desired, Api(objects), "nova-api-0", "openstack")
    except NotThere:
        return False
    return True


def test_names_are_in_the_pods_own_namespace_unless_they_say_another() -> None:
    assert parse_wanted(
        {
            **HERE,
            "DEPENDENCY_SERVICE": "openstack:mariadb,ceph:ceph-mon",
            "DEPENDENCY_JOBS": "nova-db-sync, nova-ks-user",
            "DEPENDENCY_DAEMONSET": "",
        }
    ) == [
        Wanted("service", "openstack", "mariadb"),
        Wanted("service", "ceph", "ceph-mon"),
        Wanted("job", "openstack", "nova-db-sync"),
        Wanted("job", "openstack", "nova-ks-user"),
    ]


def test_pods_jobs_and_resources_are_reported_in_json() -> None:
    assert parse_wanted(
        {
            **HERE,
            "DEPENDENCY_POD_JSON": json.dumps([{"labels": {"a": "b"}, "requireSameNode": True}]),
            "DEPENDENCY_JOBS_JSON": json.dumps([{"namespace": "other", "labels": {"c": "d"}}]),
            "DEPENDENCY_CUSTOM_RESOURCE": json.dumps(
                [
                    {
                        "apiVersion": "example.com/v1",
                        "kind": "Thing",
                        "name": "x",
                        "fields": [{"key": "status.phase", "value": "Ready"}],
                    }
                ]
            ),
        }
    ) == [
        Wanted("job", "other", labels={"c": "d"}),
        Wanted("pod", "openstack", labels={"a": "b"}, same_node=True),
        Wanted("Thing", "openstack", "x", api_version="example.com/v1", fields=(("status.phase", "Ready"),)),
    ]


@pytest.mark.parametrize("text", ["", "  ", "[]", "null"])
def test_nothing_is_wanted_without_a_statement(text: str) -> None:
    assert parse_wanted({**HERE, "DEPENDENCY_POD_JSON": text, "DEPENDENCY_SERVICE": ""}) == []


@pytest.mark.parametrize(
    ("subsets", "there"),
    [(None, False), ([{"notReadyAddresses": [{}]}], False), ([{"addresses": [{"ip": "10.0.0.7"}]}], True)],
)
def test_a_service_is_there_with_a_ready_address(subsets: Any, there: bool) -> None:
    desired = Wanted("service", "openstack", "mariadb")
    objects = {"/api/v1/namespaces/openstack/endpoints/mariadb": {"subsets": subsets}}
    assert is_there(desired, objects) is there


@pytest.mark.parametrize(
    ("succeeded", "there"), [({}, False), ({"active": 1}, False), ({"succeeded": 1}, True)]
)
def test_a_job_is_there_when_it_has_succeeded(succeeded: dict[str, int], there: bool) -> None:
    job = {"metadata": {"name": "db-sync"}, "status": succeeded}
    objects = {"/apis/batch/v1/namespaces/openstack/jobs/db-sync": job}
    assert is_there(Wanted("job", "openstack", "db-sync"), objects) is there


def test_of_jobs_by_label_all_must_have_succeeded() -> None:
    path = "/apis/batch/v1/namespaces/openstack/jobs?labelSelector=a%3Db"
    done = {"metadata": {"name": "one"}, "status": {"succeeded": 1}}
    runs = {"metadata": {"name": "two"}, "status": {"active": 1}}
    desired = Wanted("job", "openstack", labels={"a": "b"})
    assert is_there(desired, {path: {"items": [done, done]}})
    assert not is_there(desired, {path: {"items": [done, runs]}})
    assert not is_there(desired, {path: {"items": []}})


@pytest.mark.parametrize(
    ("pods", "same_node", "there"),
    [
        ([], False, False),
        ([pod("a", ready=False), pod("b", ready=True)], False, True),
        ([pod("a", ready=True, node="two")], True, False),
        ([pod("a", ready=True, node="two"), pod("b", ready=True)], True, True),
        ([pod("a", ready=False)], True, False),
    ],
)
def test_of_pods_one_must_be_ready_on_this_node_where_that_is_asked(
    pods: list[dict[str, Any]], same_node: bool, there: bool
) -> None:
    objects = {
        "/api/v1/namespaces/openstack/pods?labelSelector=a%3Db": {"items": pods},
        "/api/v1/namespaces/openstack/pods/nova-api-0": pod("nova-api-0", ready=False),
    }
    assert is_there(Wanted("pod", "openstack", labels={"a": "b"}, same_node=same_node), objects) is there


def test_a_daemonset_is_there_with_its_pod_on_this_node() -> None:
    objects = {
        "/apis/apps/v1/namespaces/openstack/daemonsets/agent": {
            "spec": {"selector": {"matchLabels": {"a": "b"}}}
        },
        "/api/v1/namespaces/openstack/pods?labelSelector=a%3Db": {
            "items": [pod("x", ready=True, node="two")]
        },
        "/api/v1/namespaces/openstack/pods/nova-api-0": pod("nova-api-0", ready=False),
    }
    desired = Wanted("daemonset", "openstack", "agent")
    assert not is_there(desired, objects)
    objects["/api/v1/namespaces/openstack/pods?labelSelector=a%3Db"]["items"].append(pod("y", ready=True))
    assert is_there(desired, objects)


@pytest.mark.parametrize(("phase", "there"), [("Ready", True), ("Waiting", False)])
def test_a_custom_resource_is_there_when_its_fields_say_so(phase: str, there: bool) -> None:
    desired = Wanted(
        "Policy", "openstack", "x", api_version="example.com/v1", fields=(("status.phase", "Ready"),)
    )
    path = "/apis/example.com/v1/namespaces/openstack/policies/x"
    assert is_there(desired, {path: {"status": {"phase": phase}}}) is there


def test_a_container_of_the_pod_is_there_when_it_is_ready() -> None:
    path = "/api/v1/namespaces/openstack/pods/nova-api-0"
    desired = Wanted("container", "openstack", "api")
    assert not is_there(desired, {path: {"status": {"containerStatuses": [{"name": "api", "ready": False}]}}})
    assert is_there(desired, {path: {"status": {"containerStatuses": [{"name": "api", "ready": True}]}}})


def test_what_was_there_once_is_not_asked_for_again_and_each_change_is_reported_once() -> None:
    first = Wanted("job", "openstack", "first")
    second = Wanted("job", "openstack", "second")
    done = {"metadata": {"name": "x"}, "status": {"succeeded": 1}}
    path = "/apis/batch/v1/namespaces/openstack/jobs/"
    api = Api({f"{path}first": done})
    reported: list[str] = []
    pauses = iter(range(3))

    def pause(_: float) -> None:
        if next(pauses) == 2:
            api.objects[f"{path}second"] = done

    wait([first, second], api, "nova-api-0", "openstack", pause=pause, tell=reported.append)
    assert api.asked.count(f"{path}first") == 1
    assert reported == [
        "job openstack/first is there",
        "waiting for job openstack/second: the API server says 404 Not Found",
        "job openstack/second is there",
    ]


def test_nothing_is_asked_for_before_what_it_comes_after_is_there() -> None:
    path = "/apis/batch/v1/namespaces/openstack/jobs/"
    api = Api({f"{path}second": {"metadata": {"name": "x"}, "status": {"succeeded": 1}}})
    desired = [Wanted("job", "openstack", name) for name in ("first", "second")]
    assert entrypoint.first_missing(desired, api, "nova-api-0", "openstack")[0] == 0
    assert api.asked == [f"{path}first"]


def run(environment: dict[str, str], arguments: Iterable[str] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", entrypoint.__file__, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_the_program_becomes_its_command_when_nothing_is_wanted() -> None:
    process = run({**HERE, "PATH": os.environ["PATH"], "COMMAND": "printf '%s' 'two words'"})
    assert process.communicate(timeout=patient(60))[0] == "two words"
    assert process.returncode == 0


@pytest.mark.slow
def test_the_program_ends_at_once_when_it_is_asked_to(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv=['x']; import runpy, signal, os, pathlib, ssl\n"
        "ssl.create_default_context = lambda **_: None\n"
        f"sys.path.insert(0, {str(Path(entrypoint.__file__).parent)!r})\n"
        "import entrypoint; entrypoint.ACCOUNT = pathlib.Path('/nowhere'); entrypoint.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**HERE, "DEPENDENCY_SOCKET": str(tmp_path / "never"), "KUBERNETES_SERVICE_HOST": "127.0.0.1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"waiting for socket openstack/{tmp_path / 'never'}: no such file\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(patient(60)) == 128 + signal.SIGTERM
    process.stdout.close()


@pytest.mark.slow
def test_a_variable_of_another_form_is_reported() -> None:
    process = run({**HERE, "DEPENDENCY_POD_JSON": "{"})
    output, _ = process.communicate(timeout=patient(60))
    assert process.returncode == 1
    assert "a DEPENDENCY variable has not the form that is expected" in output
