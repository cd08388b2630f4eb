"""Shows a region's progress: a live table on a terminal, otherwise one line in UTC for each change."""

from __future__ import annotations

from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from controller.cli.output import soft_wrapped
from controller.cli.views.progress.region_progress import RegionRows, TimedRow, is_done
from controller.cli.views.progress.text import MARKS, causes, change_lines, note, summary_line, verdict_line
from controller.cli.views.readiness import RegionOutcome
from controller.cli.views.release_rows import RowState, short_duration
from controller.domain.api.conditions import timestamp
from controller.ports.system import Clock

# A log that stays silent for longer makes people think of a hang.
SIGN_OF_LIFE = 30.0
# Lines of a terminal that are not rows of the table: header, titles, two causes of up to four lines.
FURNITURE = 10


class ProgressDisplay(Protocol):
    """Where progress is shown."""

    def show(self, progress: RegionRows, hint: str = "") -> None:
        """One more update; `hint` is shown with the cause."""
        ...

    def close(self) -> None:
        """Restores the terminal, with the last state on it."""
        ...


def progress_display(console: Console, clock: Clock) -> ProgressDisplay:
    """The display for the console's target."""
    return (
        LiveTable(console)
        if console.is_terminal and not console.is_dumb_terminal
        else PlainLines(console, clock)
    )


class PlainLines:
    """One line for each change, `2026-03-01T09:41:03Z keystone: installing`."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console = console
        self._clock = clock
        self._last = clock.monotonic()
        self._hint = ""

    def show(self, progress: RegionRows, hint: str = "") -> None:
        for line in change_lines(progress.changed):
            self.say(line)
        if progress.upgrade:
            self.say(f"{progress.name}: {progress.upgrade}")
        reported = verdict_line(progress)
        if reported and progress.readiness_changed and progress.readiness.outcome != RegionOutcome.READY:
            self.say(f"{progress.name}: {reported}")
        if hint and not self._hint:
            self.say(hint)
        self._hint = hint
        if self._clock.monotonic() - self._last >= SIGN_OF_LIFE:
            self.say(f"still waiting: {summary_line(progress)}")

    def say(self, text: str) -> None:
        """Prints one line with the time."""
        self._last = self._clock.monotonic()
        self._console.print(f"{timestamp(self._clock.now())} {soft_wrapped(' '.join(text.split()))}")

    def close(self) -> None:
        """Nothing is left open by lines."""


class LiveTable:
    """A table that is redrawn at every update."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._open = False
        self._last: RegionRows | None = None

    def show(self, progress: RegionRows, hint: str = "") -> None:
        self._last = progress
        if not self._open:
            self._live.start()
            self._open = True
        self._live.update(self._draw(progress, hint), refresh=True)

    def close(self) -> None:
        if self._open and self._last is not None:
            # The end of the wait reports the obstacle again, in full.
            self._live.update(Group(*self._outline(self._last)))
            self._live.stop()
            self._open = False

    def _outline(self, progress: RegionRows) -> list[RenderableType]:
        table = [_table(progress, self._console.height - FURNITURE)] if progress.rows else []
        return [_header(progress), *table]

    def _draw(self, progress: RegionRows, hint: str) -> RenderableType:
        parts = self._outline(progress)
        if progress.readiness.outcome != RegionOutcome.READY:
            parts += [_cause(text, "yellow") for text in causes(progress)[:2]]
        if hint:
            parts.append(_cause(hint, "bold yellow"))
        return Group(*parts)


def _cause(text: str, style: str) -> RenderableType:
    """Some lines of a terminal at most: a long message would push the table off the screen."""
    flat = soft_wrapped(" ".join(text.split()))
    return Padding(Text(f"{flat[:300]}{'…' if len(flat) > 300 else ''}", style), (0, 0, 0, 2))


def _header(progress: RegionRows) -> RenderableType:
    total = len(progress.rows)
    line = Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=total or 1, completed=progress.done, width=24, complete_style="green")
    line.add_row(
        Text(progress.name, "bold"),
        Text(f"releases {progress.done}/{total}" if total else "no release yet"),
        bar,
        Text(short_duration(progress.waited), "dim"),
    )
    return line


def _table(progress: RegionRows, height: int) -> RenderableType:
    shown, hidden = fit(list(progress.rows), height)
    cells = [_cells(timed) for timed in shown]
    if hidden:
        cells.append([Text(), Text(hidden, "dim"), Text(), Text(), Text(), Text()])
    headers = ("", "RELEASE", "SERVICE", "STATE", "TIME", "")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", expand=True)
    for index, header in enumerate(headers):
        if index == len(headers) - 1:
            table.add_column(header, no_wrap=True, overflow="ellipsis", ratio=1)
        else:
            # Rich would shrink these for the last column.
            width = max([len(header), *(line[index].cell_len for line in cells)])
            table.add_column(
                header, no_wrap=True, min_width=width, justify="right" if header == "TIME" else "left"
            )
    for line in cells:
        table.add_row(*line)
    return table


def _cells(timed: TimedRow) -> list[Text]:
    mark, style = MARKS[timed.row.phase]
    return [
        Text(mark, style),
        Text(timed.row.release),
        Text(timed.row.service, "dim"),
        Text(str(timed.row.phase), style),
        Text("" if timed.seconds is None else short_duration(timed.seconds), "dim"),
        Text(soft_wrapped(note(timed)), "red" if timed.row.phase == RowState.FAILED else "dim"),
    ]


def fit(rows: list[TimedRow], height: int) -> tuple[list[TimedRow], str]:
    """The rows that fit into the lines, and a text for omitted rows: installed ones are omitted first."""
    if len(rows) <= max(height, 1):
        return rows, ""
    room = max(height - 1, 1)
    open_ = [timed for timed in rows if not is_done(timed.row)]
    done = len(rows) - len(open_)
    kept = set(map(id, open_[:room]))
    spare = room - len(kept)
    if spare > 0:
        kept |= {id(timed) for timed in [one for one in rows if is_done(one.row)][-spare:]}
    remaining = len(rows) - len(kept)
    text = f"and {remaining} more" if len(open_) > room else f"and {remaining} more installed"
    return [timed for timed in rows if id(timed) in kept], text if done or remaining else ""
