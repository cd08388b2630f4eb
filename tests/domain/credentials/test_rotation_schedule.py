"""When credentials are rotated by themselves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from controller.domain.api.region_spec import CredentialRotationFeature, parse_features
from controller.domain.credentials.rotation.schedule import RotationSchedule, rotation_schedule

NIGHTLY = CredentialRotationFeature("90d", "22:00", "4h")
WEEKENDS = CredentialRotationFeature("90d", "22:00", "4h", ("Saturday", "Sunday"))


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def following(feature: CredentialRotationFeature, last: str, now: str) -> str:
    schedule = rotation_schedule(feature)
    assert schedule is not None
    return datetime.fromtimestamp(schedule.next(at(last), at(now)), UTC).strftime("%Y-%m-%d %H:%M")


def test_the_spec_of_a_schedule_is_read() -> None:
    window = {"start": "22:00", "duration": "4h", "days": ["Saturday", "Sunday"]}
    features = parse_features({"credentialRotation": {"every": "90d", "window": window}})
    assert features.credential_rotation == WEEKENDS


@pytest.mark.parametrize(
    "feature",
    [
        CredentialRotationFeature(),
        CredentialRotationFeature("0d"),
        CredentialRotationFeature("soon"),
        CredentialRotationFeature("90d", "late", "4h"),
        CredentialRotationFeature("90d", "22:00", "for long"),
        CredentialRotationFeature("90d", "22:00", "0s"),
    ],
)
def test_nothing_is_rotated_without_a_schedule_that_can_be_read(feature: CredentialRotationFeature) -> None:
    assert rotation_schedule(feature) is None


def test_without_a_window_it_is_time_at_any_hour() -> None:
    assert rotation_schedule(CredentialRotationFeature("90d")) == RotationSchedule(90 * 86400)
    assert (
        following(CredentialRotationFeature("1d"), "2026-11-01 12:00", "2026-11-22 20:00")
        == "2026-11-02 12:00"
    )


@pytest.mark.parametrize(
    ("now", "begins"),
    [
        ("2026-11-01 12:00", "2026-12-31 22:00"),  # long before
        ("2026-12-31 12:00", "2026-12-31 22:00"),  # the window of that day is still to come
        ("2026-12-31 22:00", "2026-12-31 22:00"),
        ("2027-01-01 01:59", "2026-12-31 22:00"),  # all through the window, which ends on the next day
        ("2027-01-01 02:00", "2027-01-01 22:00"),  # missed: the next one
    ],
)
def test_it_begins_in_the_window_after_its_time(now: str, begins: str) -> None:
    assert following(NIGHTLY, "2026-10-02 03:00", now) == begins


def test_what_comes_due_inside_a_window_begins_then() -> None:
    assert following(NIGHTLY, "2026-10-02 23:30", "2026-12-31 22:10") == "2026-12-31 23:30"


@pytest.mark.parametrize(
    ("now", "begins"),
    [
        ("2026-11-23 12:00", "2026-11-28 22:00"),  # a Monday: on Saturday
        ("2026-11-29 01:00", "2026-11-28 22:00"),
        ("2026-11-30 01:00", "2026-11-29 22:00"),  # Monday by now, in the window of Sunday
        ("2026-11-30 02:00", "2026-12-05 22:00"),
    ],
)
def test_a_window_opens_on_its_days_only(now: str, begins: str) -> None:
    assert following(WEEKENDS, "2026-01-01 00:00", now) == begins
