"""From HelmBundles to the rows that people read."""

from __future__ import annotations

import pytest

from controller.cli.views.release_rows import RowState, release_rows, short_duration
from tests.cli.objects import bundle, condition, release


def test_a_release_comes_after_those_it_depends_on():
    rows = release_rows(
        [
            bundle("compute", release("nova", "Waiting"), needs={"nova": ["keystone"]}),
            bundle("identity", release("keystone", "Waiting"), needs={"keystone": ["mariadb"]}),
            bundle("database", release("mariadb", "Deployed")),
        ]
    )
    assert [row.release for row in rows] == ["mariadb", "keystone", "nova"]


def test_a_circle_of_dependencies_does_not_hang():
    rows = release_rows(
        [bundle("x", release("a", "Waiting"), release("b", "Waiting"), needs={"a": ["b"], "b": ["a"]})]
    )
    assert {row.release for row in rows} == {"a", "b"}


def test_a_release_that_no_status_mentions_yet_is_waiting():
    (row,) = release_rows([bundle("identity", desired=("keystone",))])
    assert (row.release, row.phase) == ("keystone", RowState.WAITING)


def test_a_release_that_is_no_longer_wanted_is_shown_while_it_is_removed():
    (row,) = release_rows([bundle("image", release("glance", "Uninstalling"))])
    assert row.phase == RowState.REMOVING
    gone = bundle("image", release("glance", "Uninstalling"))
    gone["spec"]["releases"] = []
    assert [row.release for row in release_rows([gone])] == ["glance"]


def test_a_failed_release_shows_its_error_and_not_the_time_of_the_next_attempt():
    entry = release(
        "nova",
        "Failed",
        message="hook failed (failed 2 times, next try at …)",
        lastAttempt={"error": "hook failed", "failures": 2, "duration": "3.5s"},
    )
    (row,) = release_rows([bundle("compute", entry)])
    assert (row.message, row.failures, row.seconds) == ("hook failed", 2, 3.5)


def test_a_running_hook_is_named():
    entry = release("nova", "Installing", hooks=[{"name": "nova-db-sync", "phase": "Running"}])
    (row,) = release_rows([bundle("compute", entry)])
    assert row.message == "hook nova-db-sync is running"


def test_a_bundle_that_cannot_be_read_fails_all_its_releases_with_the_reason():
    stalled = (
        condition("Ready", "False", "SpecInvalid", "spec.releases[0].chart: required"),
        condition("Stalled", "True", "SpecInvalid"),
    )
    (row,) = release_rows([bundle("compute", release("nova", "Deployed"), conditions=stalled)])
    assert (row.phase, row.message) == (RowState.FAILED, "spec.releases[0].chart: required")


def test_a_status_about_an_earlier_spec_is_not_current():
    (row,) = release_rows([bundle("compute", release("nova", "Deployed"), observed=0)])
    assert not row.current


def test_a_state_of_a_newer_version_does_not_break_the_table():
    (row,) = release_rows(
        [bundle("compute", release("nova", "Levitating", lastAttempt={"duration": "1m2s"}))]
    )
    assert (row.phase, row.seconds) == (RowState.WAITING, None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (60, "1 m"),
        (72, "1 m 12 s"),
        (3600, "1 h"),
        (11100, "3 h 5 m"),
        (86400 * 12, "12 d"),
    ],
)
def test_durations_read_well(seconds: float, text: str):
    assert short_duration(seconds) == text
