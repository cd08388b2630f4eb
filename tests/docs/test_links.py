"""Links between the pages lead to a file that is there, and to a heading of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("[cs]*/README.md"))
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


@cache
def _text(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def _anchors(page: Path) -> frozenset[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", one).lower() for one in headings)
    return frozenset(re.sub(r"[^\w\- ]", "", one).replace(" ", "-") for one in plain)


@pytest.mark.slow
def test_every_link_between_pages_leads_somewhere() -> None:
    lost = []
    for page in PAGES:
        for target, anchor in _LINK.findall(_text(page)):
            there = (page.parent / target).resolve() if target else page
            if not there.exists() or (anchor and there.suffix == ".md" and anchor not in _anchors(there)):
                lost.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert lost == []


def test_every_page_is_linked_from_the_list_of_pages() -> None:
    linked = {target for target, _ in _LINK.findall(_text(ROOT / "docs" / "README.md"))}
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert pages - linked == {"README.md"}
