"""docs/architecture.md is true: what it names is there, and its rows are the contracts that are checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = sorted(
    set(re.findall(r"`((?:controller|containers|values|docs|domain|reconcile|adapters)/[\w./-]+)`", PAGE))
)
# A folder holds what a newcomer can read through in one go.
MOST_MODULES = 20


@pytest.mark.parametrize("name", NAMED)
def test_a_file_that_the_page_names_is_there(name: str) -> None:
    assert (ROOT / name).exists() or (ROOT / "controller" / name).exists()


def test_the_page_answers_twenty_questions() -> None:
    assert len(re.findall(r"^\| .*\? \| `", PAGE, re.M)) >= 20


def _subjects(layer: str) -> set[str]:
    return {path.parent.name for path in (ROOT / "controller" / layer).glob("*/__init__.py")}


@pytest.mark.parametrize("layer", ["domain", "reconcile"])
def test_each_subject_has_its_row_and_its_place_in_the_contract(layer: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [contract] = [one for one in contracts if one.get("containers") == [f"controller.{layer}"]]
    checked = {name.strip() for row in contract["layers"] for name in row.split("|")}
    rows = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", PAGE, re.M))))
    assert _subjects(layer) == checked
    assert checked <= rows


@pytest.mark.parametrize(
    "folder",
    sorted({path.parent for path in (ROOT / "controller").rglob("*.py")}),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_folder_holds_no_more_than_one_can_oversee(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_MODULES
