"""Credentials are rotated by the schedule of the region, in its window, one service after the other."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.credentials.rotation.accounts import Server
from controller.domain.shared import metrics
from controller.ports.kubernetes import OSDPL, SECRET
from controller.reconcile.shared.status_metrics import measured_region, secret_series
from tests.fakes.metrics import FakeMetrics
from tests.reconcile.credentials.rotation_bed import NS, REGION, ROTATE, RotationBed

DAY = 86400
# FakeClock begins at 22:13:20.
SERVICES = ("identity", "image", "compute")
NIGHT = {"start": "23:00", "duration": "4h"}


@pytest.fixture
def bed() -> RotationBed:
    return RotationBed()


def schedule(bed: RotationBed, every: str = "90d", **window: Any) -> None:
    given = {"every": every} | ({"window": window} if window else {})
    bed.set_spec({"features": {"credentialRotation": given}})


def suffix(bed: RotationBed, service: str) -> str:
    return bed.texts(f"{service}-credentials").get("account-suffix", "")


def test_what_is_older_than_the_schedule_allows_is_rotated(bed: RotationBed) -> None:
    schedule(bed)
    bed.settle()
    assert (suffix(bed, "compute"), suffix(bed, "image")) == ("", "")
    bed.clock.advance(90 * DAY)
    bed.settle(40)
    assert (suffix(bed, "compute"), suffix(bed, "image")) == ("-2", "-2")
    assert bed.failures() == []


@pytest.mark.slow
def test_each_is_rotated_once_in_its_time(bed: RotationBed) -> None:
    schedule(bed)
    for _ in range(3):
        bed.clock.advance(91 * DAY)
        bed.settle(40)
        bed.settle(3)
    assert (suffix(bed, "compute"), suffix(bed, "image")) == ("-4", "-4")


def test_one_service_comes_after_the_other(bed: RotationBed) -> None:
    schedule(bed)
    bed.clock.advance(90 * DAY)
    bed.reconcile()
    under_way = [one for one in SERVICES if bed.rotation(one).get("since")]
    assert len(under_way) == 1
    for other in set(SERVICES) - set(under_way):
        assert bed.rotation(other)["message"] == f"Secret {under_way[0]}-credentials is rotated first"


def test_a_clock_that_was_ahead_puts_off_no_rotation(bed: RotationBed) -> None:
    schedule(bed)
    ahead = {"osctl.dev/rotated-at": timestamp(bed.clock.now() + 3650 * DAY)}
    bed.kube.merge_patch(SECRET, "compute-credentials", NS, {"metadata": {"annotations": ahead}})
    bed.settle()
    assert suffix(bed, "compute") == ""
    bed.clock.advance(90 * DAY)
    bed.settle(40)
    assert suffix(bed, "compute") == "-2"
    assert bed.published("compute")["lastRotation"] <= timestamp(bed.clock.now())


@pytest.mark.parametrize(
    "word", ["last week", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "{}"]
)
def test_what_is_no_time_holds_up_nothing(bed: RotationBed, word: str) -> None:
    schedule(bed)
    for note in ("osctl.dev/rotated-at", ROTATE):
        patch = {"metadata": {"annotations": {note: word}}}
        bed.kube.merge_patch(SECRET, "compute-credentials", NS, patch)
    bed.settle()
    # Whatever its text, the annotation asks.
    assert suffix(bed, "compute") == "-2"
    assert bed.published("compute")["lastRotation"] <= timestamp(bed.clock.now())


def test_a_rotation_that_was_asked_for_counts(bed: RotationBed) -> None:
    schedule(bed)
    bed.clock.advance(60 * DAY)
    bed.ask("compute")
    bed.settle()
    done = bed.clock.now()
    bed.clock.advance(31 * DAY)
    bed.settle(40)
    assert (suffix(bed, "compute"), suffix(bed, "image")) == ("-2", "-2")
    assert bed.published("compute")["lastRotation"] <= timestamp(done)


def test_none_begins_outside_of_the_window(bed: RotationBed) -> None:
    schedule(bed, **NIGHT)
    bed.clock.advance(90 * DAY)
    bed.settle(3)
    assert bed.rotation("compute") == {}
    assert bed.published("compute")["nextRotation"].endswith("T23:00:00Z")
    bed.clock.advance(3600)
    bed.reconcile()
    assert {bed.rotation(one)["phase"] for one in SERVICES} == {"Rolling", "Waiting"}


def test_what_has_begun_goes_on_after_the_window_and_nothing_else_begins(bed: RotationBed) -> None:
    schedule(bed, **NIGHT)
    bed.clock.advance(90 * DAY + 3600)
    bed.reconcile()
    [begun] = [one for one in SERVICES if bed.rotation(one).get("since")]
    bed.clock.advance(6 * 3600)
    bed.settle(10)
    assert [one for one in SERVICES if "lastRotation" in bed.published(one)] == [begun]
    assert bed.rotation(begun) == {}


@pytest.mark.parametrize("mode", ["Plan", "Paused"])
def test_a_region_that_is_left_alone_begins_none(bed: RotationBed, mode: str) -> None:
    bed.set_spec({"mode": mode, "features": {"credentialRotation": {"every": "1d"}}})
    bed.clock.advance(9 * DAY)
    bed.settle(3)
    assert suffix(bed, "compute") == ""
    assert bed.rotation("compute") == {}


def test_a_server_that_is_away_is_waited_for_until_the_window_ends(bed: RotationBed) -> None:
    schedule(bed, **NIGHT)
    bed.servers.down = {Server.BROKER}
    bed.clock.advance(90 * DAY + 3600)
    bed.reconcile()
    assert bed.rotation("compute")["phase"] == "Waiting"
    bed.clock.advance(6 * 3600)
    bed.reconcile()
    assert bed.rotation("compute") == {}
    assert suffix(bed, "compute") == ""


def test_what_cannot_be_rotated_has_no_time_and_is_not_written(bed: RotationBed) -> None:
    schedule(bed, every="1d")
    bed.edit("compute", lambda values: values.update(tls={"oslo_db": True}))
    bed.upgrade("compute")
    bed.replace_pods("compute")
    bed.clock.advance(9 * DAY)
    bed.settle(20)
    assert "nextRotation" not in bed.published("compute")
    assert "nextRotation" not in bed.published("database")
    assert "RotationRefused" not in [reason for _, reason, _ in bed.events.seen]
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.changes == []


def test_when_it_was_and_will_be_rotated_is_published_and_measured(bed: RotationBed) -> None:
    schedule(bed)
    bed.ask("compute")
    bed.settle()
    last = bed.published("compute")["lastRotation"]
    measured = FakeMetrics()
    measured_region(measured, secret_series)(None, bed.kube.get(OSDPL, REGION, NS) or {})
    at = measured.value(metrics.SECRET_NEXT_ROTATION, region=REGION, secret="compute-credentials")
    assert at is not None
    assert bed.published("compute")["nextRotation"] == timestamp(at)
    assert timestamp(at - 90 * DAY) == last
    assert "lastRotation" not in bed.published("image")


def test_a_second_look_between_rotations_writes_nothing(bed: RotationBed) -> None:
    schedule(bed, **NIGHT)
    bed.reconcile()
    bed.kube.forget_requests()
    for _ in range(3):
        bed.clock.advance(3600)
        bed.reconcile()
    assert bed.kube.changes == []
