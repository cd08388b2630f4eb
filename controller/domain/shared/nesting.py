"""How deeply values are nested: what recurses over them stays far from Python's limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def deeper_than(value: Any, levels: int) -> bool:
    """Whether maps and lists are nested deeper, endless ones included; looks at one level at a time."""
    level = [value]
    for _ in range(levels):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, Mapping) else item)
            if isinstance(child, Mapping | list)
        ]
        if not level:
            return False
        # One object that is in several places counts once: aliases must not multiply the work.
        level = list({id(child): child for child in level}.values())
    return True
