"""Examples of the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.render.region import ROOT


def blocks(page: str, title: str) -> Iterator[Any]:
    """The documents of YAML below a title of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    [section] = re.findall(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", text, re.M | re.S)
    for body in re.findall(r"^```yaml\n(.*?)^```", section, re.M | re.S):
        yield from yaml.load_all(body, yaml.CSafeLoader)
