"""Numbers with their nouns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.domain.shared.plurals import count

ROOT = Path(__file__).parents[3]


def test_one_has_the_singular_and_all_else_the_plural() -> None:
    assert [count(number, "release") for number in (0, 1, 2)] == ["0 releases", "1 release", "2 releases"]
    assert [count(number, "node is", "nodes are") for number in (1, 3)] == ["1 node is", "3 nodes are"]


@pytest.mark.slow
def test_no_message_leaves_the_choice_to_the_reader() -> None:
    """`1 release(s)`."""
    sources = [*(ROOT / "controller").rglob("*.py"), *(ROOT / "containers").rglob("*.py")]
    found = [
        f"{path}: {text}" for path in sources for text in re.findall(r"\w+\} \w+\(s\)", path.read_text())
    ]
    assert found == []
