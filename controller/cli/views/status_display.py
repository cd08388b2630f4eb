"""Layout of `osctl status`: one screen about a region."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from controller.cli.output import Cell, print_notes, print_table, soft_wrapped
from controller.cli.views.progress.text import MARKS
from controller.cli.views.readiness import RegionOutcome
from controller.cli.views.release_rows import ReleaseRow, RowState
from controller.cli.views.status import RegionView, ServiceLine

_READY = {RegionOutcome.READY: ("True", "green"), RegionOutcome.PENDING: ("False", "yellow")}


def print_view(console: Console, view: RegionView) -> None:
    """Header, causes, table, and notes."""
    ready, style = _READY.get(view.outcome, ("False", "red"))
    header = Text()
    header.append(view.name, "bold")
    header.append(f"  {view.version}  {view.preset}/{view.size}  {view.state}  ")
    if view.progress:
        header.append(f"releases {view.progress}  ")
    header.append(f"Ready: {ready}", f"bold {style}")
    if view.outcome != RegionOutcome.READY and view.reason:
        header.append(f"  {view.reason}", style)
    console.print(header, soft_wrap=True)
    for cause in view.causes:
        console.print(Padding(Text(soft_wrapped(cause.message)), (0, 0, 0, 2), expand=False))
        if cause.set_by:
            console.print(Text(f"  → set by {cause.set_by}", "cyan"), soft_wrap=True)
    if view.warnings:
        console.print(Text(f"  warning: {soft_wrapped(view.warnings)}", "yellow"))
    if view.services:
        console.print()
        headers = ("SERVICE", "VERSION", "RELEASES", "HEALTH", "NOTE")
        print_table(console, headers, [_line(line) for line in view.services])
    notes = (("UPGRADE", view.upgrade), ("PLAN", view.plan), ("SECRETS", view.secrets), ("NODES", view.nodes))
    footer = [(title, text) for title, text in notes if text]
    if footer:
        console.print()
        print_notes(console, footer)


def _line(line: ServiceLine) -> list[Cell | str]:
    health = f"{line.ready}/{line.components}" if line.components else "-"
    sick = line.ready < line.components
    note_style = "red" if any(row.phase == RowState.FAILED for row in line.releases) else "yellow"
    return [
        line.service,
        line.version or "-",
        " ".join(_mark(row) for row in line.releases),
        Cell(health, "yellow" if sick else ""),
        Cell(soft_wrapped(line.note), note_style),
    ]


def _mark(row: ReleaseRow) -> str:
    return f"{row.release} {MARKS[row.phase][0]}"
