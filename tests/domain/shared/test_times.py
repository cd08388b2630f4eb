"""Times that people and other programs write: what is none is as if there were none."""

from __future__ import annotations

import time

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.shared.times import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-22T12:00:00Z", 1795348800.0),
        ("2026-11-22T13:00:00+01:00", 1795348800.0),
        ("2026-11-22T12:00:00.123456Z", 1795348800.123456),
        ("yesterday", 0.0),
        ("2026-13-40T12:00:00Z", 0.0),
        ("1795348800", 0.0),
        (1795348800, 0.0),
        (None, 0.0),
    ],
)
def test_a_time_is_read_with_its_zone(text: object, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_time_without_a_zone_is_utc_wherever_the_process_is(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert seconds_of("2026-11-22T12:00:00") == 1795348800.0
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00"]
)
def test_what_no_status_can_say_again_is_no_time(text: str) -> None:
    assert seconds_of(text) == 0.0
    assert timestamp(seconds_of(text)) == "1970-01-01T00:00:00Z"
