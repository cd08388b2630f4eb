"""The page in a real browser, where one is installed: widths, dark, keyboard, and what a reader hears."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.cli.views.pages.report import html_text, report_of
from tests.cli.views.pages.regions import NOW, bundles, busy_region, maintenance

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium by Playwright: `pip install playwright` and Debian's package `chromium`."""
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = shutil.which("chromium") or pytest.skip("there is no chromium")
    more = ["--no-sandbox"] if os.geteuid() == 0 else []
    with driver.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=more)
        yield found
        found.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    report = report_of(busy_region(), bundles(), [maintenance()], now=NOW, osctl="0.1.0")
    path = tmp_path_factory.mktemp("page") / "region.html"
    path.write_text(html_text(report), encoding="utf-8")
    return path


def opened(browser: Any, file: Path, width: int = 1200, scheme: str = "light") -> tuple[Any, list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    return page, said


@pytest.mark.parametrize("width", [320, 390, 768, 1200, 1920])
def test_nothing_is_wider_than_the_window(browser: Any, file: Path, width: int):
    page, said = opened(browser, file, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []  # the page's own policy refused nothing


def test_dark_is_dark_and_light_is_light(browser: Any, file: Path):
    grounds = {
        scheme: opened(browser, file, scheme=scheme)[0].evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    }
    assert grounds == {"light": "rgb(245, 246, 248)", "dark": "rgb(20, 23, 27)"}


def test_letters_are_large_enough_on_a_telephone(browser: Any, file: Path):
    page, _ = opened(browser, file, 390)
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('main *:not(svg *)')]"
        ".filter(one => one.textContent.trim()).map(one => parseFloat(getComputedStyle(one).fontSize)))"
    )
    assert smallest >= 12


def test_the_keyboard_reaches_the_content_first_and_opens_what_is_closed(browser: Any, file: Path):
    page, _ = opened(browser, file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    closed = "details:not([open]) > summary"
    before = page.locator(closed).count()
    page.locator(closed).first.focus()
    page.keyboard.press("Enter")
    assert page.locator(closed).count() == before - 1


def test_a_screen_reader_hears_tables_on_a_telephone_too(browser: Any, file: Path):
    page, _ = opened(browser, file, 390)
    table = page.get_by_role("table", name="Services with their releases")
    assert table.get_by_role("row").count() == 13
    assert table.get_by_role("rowheader", name="compute").count() == 1
    assert page.get_by_role("img", name="Releases of region-one and their dependencies").count() == 1
