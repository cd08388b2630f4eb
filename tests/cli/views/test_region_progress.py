"""What changed between two passes, and for how long."""

from __future__ import annotations

from controller.cli.views.progress.region_progress import ProgressTracker
from controller.cli.views.progress.text import (
    causes,
    change_lines,
    reasons_against,
    summary_line,
    verdict_line,
)
from controller.cli.views.release_rows import RowState
from tests.cli.objects import bundle, condition, region, release

APPLYING = region(condition("Ready", "False", "ReleasesPending", "keystone Waiting"))
READY = region(condition("Ready", "True", "RegionReady", "done"))


def tracker() -> ProgressTracker:
    return ProgressTracker("region-one", "openstack", 1, started=100.0)


def test_a_phase_lasts_from_when_it_was_first_seen():
    track = tracker()
    track.observe(APPLYING, [bundle("identity", release("keystone", "Installing"))], 101.0)
    progress = track.observe(APPLYING, [bundle("identity", release("keystone", "Installing"))], 104.5)
    assert progress.rows[0].seconds == 3.5
    assert progress.waited == 4.5


def test_an_installation_seen_here_shows_how_long_it_took():
    track = tracker()
    track.observe(APPLYING, [bundle("identity", release("keystone", "Installing"))], 101.0)
    done = release("keystone", "Deployed", revision=1, lastAttempt={"duration": "3.1s"})
    progress = track.observe(READY, [bundle("identity", done)], 105.0)
    assert change_lines(progress.changed) == ["keystone: installed, revision 1, in 3.1 s"]


def test_what_was_installed_before_shows_no_time_and_shares_a_line():
    done = [release(name, "Deployed", lastAttempt={"duration": "3.1s"}) for name in ("a", "b")]
    progress = tracker().observe(READY, [bundle("identity", *done)], 101.0)
    assert change_lines(progress.changed) == ["installed before: a, b"]


def test_a_release_that_appears_installed_later_shows_how_long_it_took():
    track = tracker()
    track.observe(APPLYING, [], 101.0)
    done = release("keystone", "Deployed", revision=1, lastAttempt={"duration": "3.1s"})
    progress = track.observe(READY, [bundle("identity", done)], 105.0)
    assert change_lines(progress.changed) == ["keystone: installed, revision 1, in 3.1 s"]


def test_another_revision_of_an_installed_release_is_news():
    track = tracker()
    track.observe(READY, [bundle("identity", release("keystone", "Deployed", revision=1))], 101.0)
    progress = track.observe(READY, [bundle("identity", release("keystone", "Deployed", revision=2))], 102.0)
    assert [timed.row.revision for timed in progress.changed] == [2]


def test_releases_that_begin_to_wait_share_a_line():
    waiting = bundle("identity", release("a", "Waiting"), release("b", "Waiting"))
    assert change_lines(tracker().observe(APPLYING, [waiting], 101.0).changed) == ["waiting: a, b"]


def test_nothing_is_reported_twice():
    track = tracker()
    objects = [bundle("identity", release("keystone", "Installing"))]
    track.observe(APPLYING, objects, 101.0)
    progress = track.observe(APPLYING, objects, 102.0)
    assert progress.changed == ()
    assert not progress.readiness_changed


def test_a_second_failure_is_news_and_the_same_one_is_not():
    track = tracker()

    def lines_after(failures: int) -> list[str]:
        entry = release("nova", "Failed", lastAttempt={"failures": failures, "error": "no"})
        return change_lines(track.observe(APPLYING, [bundle("compute", entry)], 101.0).changed)

    assert lines_after(1) == ["nova: failed: no"]
    assert lines_after(1) == []
    assert lines_after(2) == ["nova: failed 2 times: no"]


def test_a_release_of_an_earlier_spec_is_not_done():
    stale = bundle("identity", release("keystone", "Deployed"), observed=0)
    progress = tracker().observe(APPLYING, [stale], 101.0)
    assert progress.done == 0
    assert progress.rows[0].row.phase == RowState.WAITING


def test_an_action_under_way_is_shown_although_the_spec_is_newer():
    stale = bundle("identity", release("keystone", "Upgrading"), observed=0)
    assert tracker().observe(APPLYING, [stale], 101.0).rows[0].row.phase == RowState.UPGRADING


def test_the_summary_names_what_is_being_worked_on():
    track = tracker()
    objects = [bundle("x", release("a", "Deployed"), release("b", "Installing"), release("c", "Waiting"))]
    track.observe(APPLYING, objects, 101.0)
    assert (
        summary_line(track.observe(APPLYING, objects, 105.0)) == "1/3 releases installed; b installing 4.0 s"
    )


def test_ready_is_not_quoted_where_it_repeats_the_rows():
    progress = tracker().observe(APPLYING, [bundle("x", release("a", "Waiting"))], 101.0)
    assert verdict_line(progress) == ""
    assert causes(progress) == ()


def test_ready_is_quoted_where_the_rows_cannot_say_it():
    sick = region(condition("Ready", "False", "WorkloadsFailing", "nova-scheduler 0/2"))
    progress = tracker().observe(sick, [bundle("x", release("a", "Deployed"))], 101.0)
    assert causes(progress) == ("WorkloadsFailing: nova-scheduler 0/2",)


def test_the_error_of_a_release_comes_before_what_ready_says():
    sick = region(condition("Ready", "False", "WorkloadsFailing", "nova-scheduler 0/2"))
    entry = release("nova", "Failed", lastAttempt={"error": "image not found", "failures": 1})
    progress = tracker().observe(sick, [bundle("compute", entry)], 101.0)
    assert causes(progress) == ("nova: failed: image not found", "WorkloadsFailing: nova-scheduler 0/2")


def test_the_end_of_a_wait_says_what_is_left_where_nothing_has_failed():
    entry = release("nova", "Waiting", message="waits for keystone to be deployed")
    progress = tracker().observe(APPLYING, [bundle("compute", entry)], 101.0)
    assert reasons_against(progress) == ("nova: waiting: waits for keystone to be deployed",)


def test_the_end_of_a_wait_without_any_release_quotes_ready():
    assert reasons_against(tracker().observe(region(observed=0), [], 101.0)) == (
        "Initializing: the controller has not read the spec yet",
    )
