"""`python -m tools.value_schemas` (make schemas): writes values.schema.json of every lean chart.

They differ only in which keys a chart takes. charts/values-schemas.yaml says which, and what each key may
hold; a test compares the files with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

CHARTS = Path(__file__).parents[1] / "charts"
SOURCE = CHARTS / "values-schemas.yaml"
_ANY_MAP = {"type": "object"}


def schemas() -> dict[str, str]:
    """The text of values.schema.json by chart."""
    source = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    return {
        name: _text(name, [*source["everywhere"], *own], source) for name, own in source["charts"].items()
    }


def _text(chart: str, keys: list[str], source: dict[str, Any]) -> str:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Values of the lean {chart} chart",
        "type": "object",
        "required": source["required"],
        "properties": {key: source["keys"].get(key, _ANY_MAP) for key in sorted(keys)},
        "additionalProperties": False,
    }
    return f"{json.dumps(schema, indent=2)}\n"


def main() -> None:
    """Writes the files."""
    for chart, text in schemas().items():
        (CHARTS / chart / "values.schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
