"""The texts for a region's progress, for a terminal and for a log. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.cli.views.progress.region_progress import RegionRows, TimedRow, is_done
from controller.cli.views.readiness import RegionOutcome
from controller.cli.views.release_rows import ReleaseRow, RowState, short_duration
from controller.domain.api.reasons import Reason

MARKS = {
    RowState.WAITING: ("·", "dim"),
    RowState.INSTALLING: ("…", "cyan"),
    RowState.UPGRADING: ("…", "cyan"),
    RowState.INSTALLED: ("✓", "green"),
    RowState.FAILED: ("!", "red"),
    RowState.REMOVING: ("…", "yellow"),
    RowState.SUSPENDED: ("-", "dim"),
}


MOST_REASONS = 8
# Reasons of Ready whose message repeats the rows of the releases.
_SHOWN_BY_ROWS = frozenset(map(str, (Reason.APPLYING, Reason.RELEASES_PENDING, Reason.RELEASES_FAILING)))


def change_lines(changed: Iterable[TimedRow]) -> list[str]:
    """The changes for a log, a line each; waiting and already installed releases share one."""
    waiting, before, lines = [], [], []
    for timed in changed:
        if timed.row.phase == RowState.WAITING:
            waiting.append(timed.row.release)
        elif timed.row.phase == RowState.INSTALLED and timed.seconds is None:
            before.append(timed.row.release)
        else:
            lines.append(_change(timed))
    shared = (("installed before", before), ("waiting", waiting))
    return [f"{title}: {', '.join(names)}" for title, names in shared if names] + lines


def _change(timed: TimedRow) -> str:
    """`keystone: installed, revision 1, in 3.1 s`."""
    row = timed.row
    if row.phase == RowState.FAILED:
        return failure(row)
    text = f"{row.release}: {row.phase}"
    if row.phase == RowState.INSTALLED:
        text += f", revision {row.revision}" if row.revision else ""
        text += f", in {short_duration(timed.seconds)}" if timed.seconds is not None else ""
    elif row.error or row.message:
        text += f": {row.error or row.message}"
    return text


def failure(row: ReleaseRow) -> str:
    """`rabbitmq: failed 3 times: <error>`."""
    return f"{row.release}: {_failed(row)}{f': {row.message}' if row.message else ''}"


def _failed(row: ReleaseRow) -> str:
    return f"failed {row.failures} times" if row.failures > 1 else "failed"


def note(timed: TimedRow) -> str:
    """The text of a release in the table; the error of a failed one follows in full below it."""
    row = timed.row
    if row.phase == RowState.INSTALLED:
        return f"revision {row.revision}" if row.revision else ""
    if row.phase == RowState.FAILED:
        return f"{row.failures} times, tried again" if row.failures > 1 else "tried again"
    return row.message


def summary_line(progress: RegionRows) -> str:
    """The progress in a line: `9/14 releases installed; nova installing 38 s`."""
    parts = [f"{progress.done}/{len(progress.rows)} releases installed"] if progress.rows else []
    active = [
        timed for timed in progress.rows if not is_done(timed.row) and timed.row.phase != RowState.WAITING
    ]
    parts += [f"{timed.row.release} {_state(timed)}" for timed in active[:4]]
    if len(active) > 4:
        parts.append(f"and {len(active) - 4} more")
    if not active:
        parts.append(f"{progress.readiness.reason}: {progress.readiness.message}")
    return "; ".join(parts)


def _state(timed: TimedRow) -> str:
    if timed.row.phase == RowState.FAILED:
        return _failed(timed.row)
    lasting = f" {short_duration(timed.seconds)}" if timed.seconds is not None else ""
    doing = f" ({timed.row.message})" if timed.row.message else ""
    return f"{timed.row.phase}{lasting}{doing}"


def verdict_line(progress: RegionRows) -> str:
    """The message of Ready, empty while the releases' own rows say the same."""
    readiness = progress.readiness
    if progress.rows and readiness.reason in _SHOWN_BY_ROWS and readiness.outcome == RegionOutcome.PENDING:
        return ""
    return f"{readiness.reason}: {readiness.message}" if readiness.message else readiness.reason


def causes(progress: RegionRows) -> tuple[str, ...]:
    """The present obstacles, the nearest cause first: errors, then the message of Ready."""
    found = [failure(row) for row in progress.failing]
    found += [f"{timed.row.release}: {timed.row.error}" for timed in progress.rows if timed.row.error]
    reported = verdict_line(progress)
    return tuple([*found, reported] if reported else found)


def reasons_against(progress: RegionRows) -> tuple[str, ...]:
    """Why the region is not Ready, for the end of a wait; never empty."""
    found = causes(progress)
    if found:
        return found
    open_ = [timed for timed in progress.rows if not is_done(timed.row)]
    shown = tuple(_change(timed) for timed in open_[:MOST_REASONS])
    more = len(open_) - len(shown)
    rest = (f"and {more} more",) if more > 0 else ()
    return (*shown, *rest) or (f"{progress.readiness.reason}: {progress.readiness.message}",)
