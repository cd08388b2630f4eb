"""What counts as a write in an audit log."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox import audit

OURS = "system:serviceaccount:openstack:openstack-controller"


def event(verb: str = "patch", resource: str = "configmaps", **over: Any) -> dict[str, Any]:
    return {
        "requestReceivedTimestamp": "2026-01-02T03:04:05.000006Z",
        "verb": verb,
        "requestURI": f"/api/v1/namespaces/a/{resource}/x",
        "user": {"username": OURS},
        "userAgent": "osctl",
        "objectRef": {"resource": resource, "namespace": "a", "name": "x"},
        "responseStatus": {"code": 200},
    } | over


def log_of(tmp_path: Path, *events: dict[str, Any]) -> Path:
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events))
    return path


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
def test_a_write_verb_counts(tmp_path: Path, verb: str) -> None:
    (write,) = audit.writes(log_of(tmp_path, event(verb)))
    assert (write.verb, write.resource, write.namespace, write.name, write.code) == (
        verb,
        "configmaps",
        "a",
        "x",
        200,
    )


@pytest.mark.parametrize("verb", ["get", "list", "watch"])
def test_a_read_does_not_count(tmp_path: Path, verb: str) -> None:
    assert audit.writes(log_of(tmp_path, event(verb))) == []


def test_a_dry_run_does_not_count(tmp_path: Path) -> None:
    log = log_of(tmp_path, event(requestURI="/api/v1/namespaces/a/configmaps/x?fieldManager=m&dryRun=All"))
    assert audit.writes(log) == []


def test_a_deletion_whose_options_ask_for_a_dry_run_does_not_count(tmp_path: Path) -> None:
    assert audit.writes(log_of(tmp_path, event("delete", requestObject={"dryRun": ["All"]}))) == []


@pytest.mark.parametrize("resource", ["leases", "events"])
def test_leases_and_events_count_only_when_asked_for(tmp_path: Path, resource: str) -> None:
    log = log_of(tmp_path, event("update", resource))
    assert audit.writes(log) == []
    assert len(audit.writes(log, leases=True, events=True)) == 1


@pytest.mark.parametrize("resource", ["selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"])
def test_a_question_put_as_a_create_does_not_count(tmp_path: Path, resource: str) -> None:
    assert audit.writes(log_of(tmp_path, event("create", resource))) == []


def test_writes_of_one_user_only(tmp_path: Path) -> None:
    log = log_of(tmp_path, event(), event(user={"username": "admin"}))
    assert [write.user for write in audit.writes(log, user=OURS)] == [OURS]
    assert [write.user for write in audit.writes(log)] == [OURS, "admin"]


def test_writes_since_an_instant_only(tmp_path: Path) -> None:
    log = log_of(tmp_path, event(), event(requestReceivedTimestamp="2026-01-02T03:04:06.500000Z"))
    since = datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    assert [write.time.microsecond for write in audit.writes(log, since)] == [500000]


def test_a_status_write_names_its_subresource(tmp_path: Path) -> None:
    target = {"resource": "helmbundles", "subresource": "status", "namespace": "a", "name": "identity"}
    (write,) = audit.writes(log_of(tmp_path, event(objectRef=target)))
    assert write.resource == "helmbundles/status"


def test_refused_writes_are_left_out_when_asked(tmp_path: Path) -> None:
    log = log_of(tmp_path, event(responseStatus={"code": 409}))
    assert len(audit.writes(log)) == 1
    assert audit.writes(log, refused=False) == []


def test_a_line_being_written_is_skipped(tmp_path: Path) -> None:
    log = log_of(tmp_path, event())
    with log.open("a") as file:
        file.write('{"verb": "pat')
    assert len(audit.writes(log)) == 1


def test_writes_in_a_rotated_log_count_too(tmp_path: Path) -> None:
    log = log_of(tmp_path, event(objectRef={"resource": "configmaps", "name": "old"}))
    log.rename(tmp_path / "audit-2026-01-02T03-04-06.000.log")
    log_of(tmp_path, event(objectRef={"resource": "configmaps", "name": "new"}))
    assert [write.name for write in audit.writes(log)] == ["old", "new"]


def test_who_acts_as_another_user_counts_as_that_one(tmp_path: Path) -> None:
    charts = f"{OURS}-charts"
    log = log_of(tmp_path, event("get"), event("get", impersonatedUser={"username": charts}))
    assert [one.user for one in audit.requests(log)] == [OURS, charts]
    assert [len(list(audit.requests(log, user=user))) for user in (OURS, charts, (OURS, charts))] == [1, 1, 2]
