"""docs/safety.md names tests and guards that there are."""

from __future__ import annotations

import re
from pathlib import Path

from tests.world.guards import GUARDS as OF_HOSTS
from tests.world.releases.guards import GUARDS as OF_RELEASES

GUARDS = (*OF_HOSTS, *OF_RELEASES)
ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| guard")]


def test_every_guard_names_a_test_that_is_there() -> None:
    assert len(ROWS) > 20
    for row in ROWS:
        named = re.findall(r"`(tests/[^`]+)::(\w+)`", row)
        assert named, row
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), row


def test_each_that_is_shown_to_be_needed_is_switched_off_by_a_test_of_its_name() -> None:
    shown = [row.split("|")[1].strip() for row in ROWS if row.split("|")[2].strip() == "●"]
    assert [name for name in GUARDS if not any(one.startswith(name) for one in shown)] == []
    assert [one for one in shown if not any(one.startswith(name) for name in GUARDS)] == []
