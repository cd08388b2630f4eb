"""Rows of several regions, of one cluster or of many. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from controller.cli.output import Cell, Row
from controller.cli.views.readiness import RegionOutcome
from controller.cli.views.release_rows import short_duration
from controller.cli.views.status import RegionView, as_data

HEADERS = ("NAMESPACE", "NAME", "READY", "REASON", "VERSION", "STATE", "RELEASES", "AGE")
_STYLES = {RegionOutcome.READY: "green", RegionOutcome.PENDING: "yellow"}


@dataclass(frozen=True)
class RegionRow:
    """One region; `view` is None and `error` says why if its cluster, or the region, could not be read."""

    context: str
    view: RegionView | None = None
    age: float | None = None
    error: str = ""


def region_table(rows: Iterable[RegionRow], *, several: bool) -> tuple[tuple[str, ...], list[Row]]:
    """Headers and rows; the context only if there are `several`."""
    headers = ("CONTEXT", *HEADERS) if several else HEADERS
    return headers, [_row(one, several) for one in rows]


def _row(row: RegionRow, several: bool) -> Row:
    context = [row.context] if several else []
    view = row.view
    if view is None:
        return [*context, "-", "-", Cell("?", "red"), Cell(row.error, "red"), "-", "-", "-", "-"]
    ready = view.outcome == RegionOutcome.READY
    return [
        *context,
        view.namespace,
        view.name,
        Cell("True" if ready else "False", _STYLES.get(view.outcome, "red")),
        view.reason or "-",
        view.version or "-",
        view.state,
        view.progress or "-",
        "-" if row.age is None else short_duration(row.age),
    ]


def region_rows_data(rows: Iterable[RegionRow]) -> list[dict[str, Any]]:
    """The rows for programs: each region as `osctl status` has it, with its context."""
    return [
        {"context": row.context, **(as_data(row.view) if row.view else {"error": row.error})} for row in rows
    ]
