"""Numbers with their nouns, as messages have them. Pure."""

from __future__ import annotations


def count(number: int, one: str, more: str = "") -> str:
    """`1 error`, `2 errors`; `more` where the words change otherwise: `1 node is`, `2 nodes are`."""
    return f"{number} {one if number == 1 else more or f'{one}s'}"
