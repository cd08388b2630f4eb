"""The words for a region's progress, for a terminal and for a log. Pure."""

from __future__ import annotations

from controller.cli.region_progress import Progress, TimedRow, is_done
from controller.cli.release_rows import Phase, short_duration

MARKS = {
    Phase.WAITING: ("·", "dim"),
    Phase.INSTALLING: ("…", "cyan"),
    Phase.UPGRADING: ("…", "cyan"),
    Phase.INSTALLED: ("✓", "green"),
    Phase.FAILED: ("!", "red"),
    Phase.REMOVING: ("…", "yellow"),
    Phase.SUSPENDED: ("-", "dim"),
}


def change_line(timed: TimedRow) -> str:
    """One change for a log: `keystone: installed, revision 1, in 3.1 s`."""
    row = timed.row
    text = f"{row.release}: {row.phase}"
    if row.phase == Phase.INSTALLED:
        text += f", revision {row.revision}" if row.revision else ""
        text += f", in {short_duration(timed.seconds)}" if timed.seconds is not None else ""
    elif row.phase == Phase.FAILED:
        text += f" {_times(row.failures)}: {row.message}" if row.message else f" {_times(row.failures)}"
    elif row.message:
        text += f": {row.message}"
    return text


def note(timed: TimedRow) -> str:
    """What a table says beside a release."""
    row = timed.row
    if row.phase == Phase.INSTALLED:
        return f"revision {row.revision}" if row.revision else ""
    if row.phase == Phase.FAILED and row.failures > 1:
        return f"{_times(row.failures)}: {row.message}"
    return row.message


def summary_line(progress: Progress) -> str:
    """Where it stands, in a line: `9/14 releases installed; nova installing 38 s; WorkloadsFailing: …`."""
    parts = [f"{progress.done}/{len(progress.rows)} releases installed"] if progress.rows else []
    active = [timed for timed in progress.rows if not is_done(timed.row) and timed.row.phase != Phase.WAITING]
    parts += [f"{timed.row.release} {timed.row.phase}{_for(timed)}" for timed in active[:4]]
    if len(active) > 4:
        parts.append(f"and {len(active) - 4} more")
    if not active and progress.verdict.message:
        parts.append(f"{progress.verdict.reason}: {progress.verdict.message}")
    return "; ".join(parts) or progress.verdict.message


def reasons_against(progress: Progress) -> tuple[str, ...]:
    """Why the region is not Ready, the cause first; for the end of a wait."""
    verdict = progress.verdict
    lines = [f"{verdict.reason or 'Unknown'}: {verdict.message or 'the status gives no message'}"]
    for row in progress.failing:
        if row.message and row.message not in verdict.message:
            lines.append(f"{row.release} failed {_times(row.failures)}: {row.message}")
    return tuple(lines)


def _for(timed: TimedRow) -> str:
    return f" {short_duration(timed.seconds)}" if timed.seconds is not None else ""


def _times(failures: int) -> str:
    return "once" if failures <= 1 else f"{failures} times"
