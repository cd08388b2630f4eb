"""docs/upgrade.md says of an upgrade what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from controller.domain.region.upgrade import next_step, node_choice
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import StepState

PAGE = (Path(__file__).parents[4] / "docs" / "upgrade.md").read_text(encoding="utf-8")


def rows(text: str, title: str) -> list[str]:
    """The rows of the table whose heading begins so."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(title):
            break
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append(line)
    assert found, title
    return found[1:]


def test_the_table_of_phases_is_that_of_the_state_machine() -> None:
    module = inspect.getdoc(next_step) or ""
    assert rows(PAGE, "| phase | leaves") == rows(module, "| phase | leaves")


def test_every_state_of_a_step_is_explained() -> None:
    words = [re.findall(r"`(\w+)`", row)[0] for row in rows(PAGE, "| State of a step")]
    assert words == [str(state) for state in StepState]


def test_numbers_are_those_of_the_code() -> None:
    assert f"takes longer than {node_choice.MOST_SECONDS / 60:.0f} minutes" in " ".join(PAGE.split())
    assert f"computes: {{batch: {UpgradePolicy().batch}, maxFailed: {UpgradePolicy().max_failed}}}" in PAGE
    assert f"healthyFor: 2m       # default: {UpgradePolicy().healthy_for}s" in PAGE
