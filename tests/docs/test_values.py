"""docs/values.md tells the layers that there are, in the order in which they are merged."""

from __future__ import annotations

import html
import re
from pathlib import Path

from controller.domain.values.layer_order import LayerKind

PAGE = (Path(__file__).parents[2] / "docs" / "values.md").read_text(encoding="utf-8")


def test_the_table_of_layers_is_the_order_of_merging() -> None:
    table = PAGE.split("| Layer |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| (?!-)([^|]+) \|", table.partition("\n")[2], re.M)
    assert [html.unescape(row) for row in rows] == [str(kind) for kind in LayerKind]
