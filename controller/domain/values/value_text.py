"""Values as people read them in one line: secrets by their reference, long ones cut. Pure."""

from __future__ import annotations

import json
from typing import Any

from controller.domain.values.chart_values import SECRET_REF, is_secret_ref
from controller.domain.values.merge import Deleted
from controller.domain.values.values_diff import Absent

WIDTH = 80


def value_text(value: Any, width: int = WIDTH) -> str:
    """JSON in one line; `secret <name>/<key>` for a reference, words for what is not there."""
    if isinstance(value, Absent):
        return "(not set)"
    if isinstance(value, Deleted):
        return "(deleted)"
    if is_secret_ref(value):
        target = value[SECRET_REF]
        return f"secret {target['name']}/{target['key']}"
    text = value if _plain(value) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _plain(value: Any) -> bool:
    """Whether a text reads the same without quotes."""
    return isinstance(value, str) and bool(value) and value.isprintable() and value.strip() == value
