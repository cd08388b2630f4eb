"""What docs/values.md and docs/credentials.md list is what there is."""

from __future__ import annotations

import html
import re
from pathlib import Path

from controller.domain.values.layer_order import LayerKind
from tests.render.region import library

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "values.md").read_text(encoding="utf-8")


def test_the_table_of_layers_is_the_order_of_merging() -> None:
    table = PAGE.split("| Layer |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| (?!-)([^|]+) \|", table.partition("\n")[2], re.M)
    assert [html.unescape(row) for row in rows] == [str(kind) for kind in LayerKind]


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without quotes of code."""
    table = text.split(heading, 1)[1].split("\n\n", 1)[0]
    lines = table.strip().splitlines()[1:]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_daemonsets_has_each_that_can_differ_by_node() -> None:
    assert rows(PAGE, "| service | chart | DaemonSets |") == [
        [service.name, name, ", ".join(chart.daemonsets)]
        for service in library().catalogue.services.values()
        for name, chart in service.charts.items()
        if chart.daemonsets
    ]


def test_the_table_of_credentials_has_every_name_of_each_service() -> None:
    page = (DOCS / "credentials.md").read_text(encoding="utf-8")
    assert rows(page, "| service | names |") == [
        [service.name, ", ".join(service.credentials)]
        for service in library().catalogue.services.values()
        if service.credentials
    ]
