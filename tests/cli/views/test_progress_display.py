"""Progress on a terminal, and in a log."""

from __future__ import annotations

import io

from rich.console import Console

from controller.cli.views.progress.display import LiveTable, PlainLines, fit, progress_display
from controller.cli.views.progress.region_progress import ProgressTracker, RegionRows, TimedRow
from controller.cli.views.release_rows import ReleaseRow, RowState
from tests.cli.objects import bundle, condition, region, release
from tests.fakes.world import FakeClock

PENDING = region(condition("Ready", "False", "ReleasesPending"))


def progress(*releases: dict[str, object]) -> RegionRows:
    return ProgressTracker("region-one", "openstack", 1, 0.0).observe(
        PENDING, [bundle("identity", *releases)], 3.0
    )


def terminal(height: int = 40) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, width=100, height=height, _environ={"TERM": "xterm"}
    )


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_each_change_is_a_line_with_the_time_in_utc():
    console, clock = Console(file=io.StringIO(), width=500), FakeClock(start=1_772_357_400.0)
    PlainLines(console, clock).show(progress(release("keystone", "Installing")))
    assert text_of(console) == "2026-03-01T09:30:00Z keystone: installing\n"


def test_each_step_of_an_upgrade_is_a_line():
    steps = [{"name": "identity", "service": "identity", "phase": "ControlPlane", "state": "Running"}]
    upgrade = {"from": "2025.2", "to": "2026.1", "phase": "ControlPlane", "steps": steps}
    console, clock = Console(file=io.StringIO(), width=500), FakeClock(start=1_772_357_400.0)
    tracker, lines = ProgressTracker("region-one", "openstack", 1, 0.0), PlainLines(console, clock)
    for state in ("Running", "Running", "Done"):
        steps[0]["state"] = state
        osdpl = region(condition("Ready", "False", "RegionUpgrading"), upgrade=upgrade)
        lines.show(tracker.observe(osdpl, [], 3.0))
    said = [line for line in text_of(console).splitlines() if "2025.2 → 2026.1" in line]
    assert said == [
        "2026-03-01T09:30:00Z region-one: 2025.2 → 2026.1, 0 of 1 step done: identity running",
        "2026-03-01T09:30:00Z region-one: 2025.2 → 2026.1, 1 of 1 step done",
    ]


def test_a_long_silence_is_broken_by_a_sign_of_life():
    console, clock = Console(file=io.StringIO(), width=500), FakeClock()
    lines = PlainLines(console, clock)
    clock.advance(31)
    unchanged = progress()
    lines.show(RegionRows(**{**vars(unchanged), "changed": (), "readiness_changed": False}))
    assert "still waiting" in text_of(console)


def test_a_message_cannot_move_the_cursor():
    console = Console(file=io.StringIO(), width=500)
    entry = release("nova", "Failed", lastAttempt={"error": "\x1b[2J\x07gone", "failures": 1})
    PlainLines(console, FakeClock()).show(progress(entry))
    assert "\x1b" not in text_of(console)


def test_a_pipe_gets_lines_and_a_terminal_a_table():
    assert isinstance(progress_display(Console(file=io.StringIO()), FakeClock()), PlainLines)
    assert isinstance(progress_display(terminal(), FakeClock()), LiveTable)


def test_a_dumb_terminal_gets_lines():
    dumb = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert isinstance(progress_display(dumb, FakeClock()), PlainLines)


def test_a_long_error_does_not_squeeze_the_names_out_of_the_table():
    console = terminal()
    table = LiveTable(console)
    table.show(progress(release("rabbitmq", "Failed", lastAttempt={"error": "x" * 900, "failures": 3})))
    table.close()
    assert "rabbitmq" in text_of(console)
    assert "3 times, tried again" in text_of(console)


def _timed(name: str, phase: RowState) -> TimedRow:
    return TimedRow(ReleaseRow("s", name, phase), 1.0)


def test_all_rows_are_shown_where_they_fit():
    rows = [_timed(str(n), RowState.INSTALLED) for n in range(5)]
    assert fit(rows, 5) == (rows, "")


def test_installed_releases_make_room_for_those_that_are_not():
    rows = [_timed(f"done-{n}", RowState.INSTALLED) for n in range(10)] + [
        _timed("open", RowState.INSTALLING)
    ]
    shown, hidden = fit(rows, 4)
    assert [timed.row.release for timed in shown] == ["done-8", "done-9", "open"]
    assert hidden == "and 8 more installed"


def test_even_open_releases_never_fill_more_than_the_terminal():
    shown, hidden = fit([_timed(str(n), RowState.WAITING) for n in range(50)], 10)
    assert len(shown) == 9
    assert hidden == "and 41 more"
