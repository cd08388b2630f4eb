"""Fixtures on OpenStack-Helm's charts; their tests are skipped where CHARTS names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream.regions import charts_given


@pytest.fixture(scope="session")
def charts() -> Path:
    """The directory of charts that CHARTS names."""
    given = charts_given()
    if given is None:
        pytest.skip("CHARTS names no checkout of OpenStack-Helm and no directory of its charts")
    return given
