"""An order in which no item is always last, for passes that do not reach all items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")


class FairOrder:
    """Goes on after whoever was reached last. One thread at a time."""

    def __init__(self) -> None:
        self._last: Any = None

    def of(self, items: Iterable[Item], key: Callable[[Item], Any]) -> list[Item]:
        """By `key`, beginning after the one that was reached last; from the first where all were reached."""
        ranked = sorted(items, key=key)
        if self._last is None:
            return ranked
        after = [one for one in ranked if key(one) > self._last]
        return after + ranked[: len(ranked) - len(after)]

    def reached(self, key: Any) -> None:
        """The one with this key had its turn, whatever came of it."""
        self._last = key
