"""Writes the table of values into the README of the controller's chart, from values.yaml and its comments.

`python -m tools.chart_readme` (make chart-readme) writes it; a test compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[1] / "charts" / "openstack-controller"
BEGIN = "<!-- Written by `make chart-readme`; do not edit. -->\n"
END = "<!-- The end of what is written. -->\n"
_KEY = re.compile(r"( *)([A-Za-z]\w*):(?: |$)(.*)")
_LONGEST = 60
# In place of the value of a key that belongs to an item of a list.
_INSIDE = object()


def value_rows(text: str) -> Iterator[tuple[str, str, str]]:
    """Path, default and description of each value of a values.yaml; of a map only its description."""
    values = yaml.safe_load(text)
    above: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        found = _KEY.fullmatch(line)
        if line.lstrip().startswith("#"):
            words = line.lstrip().removeprefix("#").removeprefix(" ")
            # An indented line is an example.
            comment += [words] if words[:1] != " " else []
        elif not line.strip():
            comment = []
        elif found:
            above = [*above[: len(found[1]) // 2], found[2]]
            value = _at(values, above)
            if value is _INSIDE:
                continue
            is_map = isinstance(value, dict) and not found[3]
            described = " ".join(comment)
            if described or not is_map:
                yield ".".join(above), "" if is_map else _default(value), described
            comment = []


def _at(values: Any, path: list[str]) -> Any:
    for name in path:
        if not isinstance(values, dict):
            return _INSIDE
        values = values[name]
    return values


def _default(value: Any) -> str:
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= _LONGEST else "see values.yaml"


def values_table(text: str) -> str:
    """Markdown."""
    lines = ["| value | default | meaning |", "|---|---|---|"]
    for path, default, described in value_rows(text):
        lines.append(f"| `{path}` | {default} | {_escaped(described)} |")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def with_table(page: str, table: str) -> str:
    """The page with the table between its marks."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the README."""
    page = CHART / "README.md"
    table = values_table((CHART / "values.yaml").read_text(encoding="utf-8"))
    page.write_text(with_table(page.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main()
