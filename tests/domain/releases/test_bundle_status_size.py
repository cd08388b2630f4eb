"""The status of a bundle has a bound, however many releases fail however loudly."""

from __future__ import annotations

import json

import pytest

from controller.domain.api.reasons import Reason
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.bundle_status import ReleaseView, release_entries
from controller.domain.releases.reported_state import ReportedState

LOUD = "the server says: " + "x" * 5000 + " at the end"


def views(number: int) -> list[ReleaseView]:
    attempt = Attempt("Install", "", 0.0, 1, error=LOUD)
    return [
        ReleaseView(
            f"web{index}",
            "openstack",
            ReportedState.FAILED,
            Reason.BACKING_OFF,
            LOUD,
            last_attempt=attempt,
        )
        for index in range(number)
    ]


@pytest.mark.parametrize("number", [1, 64, 500])
def test_the_texts_of_many_releases_share_the_room(number: int) -> None:
    entries = release_entries(views(number))
    assert len(json.dumps(entries)) < 600_000
    for entry in entries:
        for text in (entry["message"], entry["lastAttempt"]["error"]):
            assert text.startswith("the server says") and text.endswith("at the end")


def test_the_texts_of_few_releases_are_reported_at_length() -> None:
    [entry] = release_entries(views(1))
    assert len(entry["message"]) > 900
