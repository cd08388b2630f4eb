"""What docs/values.md and docs/credentials.md list is what there is."""

from __future__ import annotations

import html
import re
from pathlib import Path

from controller.domain.values.layer_order import LayerKind
from tests.render.region import library
from tools.service_tables import tables, with_table

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "values.md").read_text(encoding="utf-8")


def test_the_table_of_layers_is_the_order_of_merging() -> None:
    table = PAGE.split("| Layer |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| (?!-)([^|]+) \|", table.partition("\n")[2], re.M)
    assert [html.unescape(row) for row in rows] == [str(kind) for kind in LayerKind]


def test_the_tables_of_services_are_as_make_service_writes_them() -> None:
    for path, heads, lines in tables(library().catalogue):
        page = path.read_text(encoding="utf-8")
        assert len(lines) > 3 and with_table(page, heads, lines) == page, path.name
