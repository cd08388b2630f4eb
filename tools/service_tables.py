"""The tables in docs/ that list facts of every service, from the folders below values/services.

`make service` writes them after each change of a folder; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from controller.adapters.system.service_folders import read_entries
from controller.domain.values.catalogue import Catalogue

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

Row = Sequence[str]


def tables(catalogue: Catalogue) -> Iterator[tuple[Path, Row, Sequence[Row]]]:
    """The page, the heads and the rows of each table, in the order of services."""
    services = sorted(catalogue.services.values(), key=lambda entry: (entry.order, entry.name))
    credentials = [
        (entry.name, ", ".join(f"`{name}`" for name in entry.credentials))
        for entry in services
        if entry.credentials
    ]
    yield DOCS / "credentials.md", ("service", "names"), credentials
    daemonsets = [
        (entry.name, name, ", ".join(f"`{one}`" for one in chart.daemonsets))
        for entry in services
        for name, chart in entry.charts.items()
        if chart.daemonsets
    ]
    yield DOCS / "values.md", ("service", "chart", "DaemonSets"), daemonsets


def with_table(page: str, heads: Row, rows: Sequence[Row]) -> str:
    """The page with these rows below the heads. Raises ValueError where no table has the heads."""
    lines = page.splitlines(keepends=True)
    first = lines.index(_line(heads)) + 2
    end = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    return "".join((*lines[:first], *map(_line, rows), *lines[end:]))


def _line(cells: Row) -> str:
    return f"| {' | '.join(cells)} |\n"


def write_tables() -> list[Path]:
    """Writes every table; the pages that changed."""
    changed = []
    for path, heads, rows in tables(read_entries(ROOT / "values")):
        before = path.read_text(encoding="utf-8")
        after = with_table(before, heads, rows)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed
