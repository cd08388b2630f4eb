"""Fixtures on OpenStack-Helm's charts; their tests are skipped where CHARTS names none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.upstream.regions import charts_given
from tests.upstream.report import Results, text_of

HOW_TO_GET_ONE = (
    "CHARTS names no checkout of OpenStack-Helm and no directory of its charts: "
    "git clone https://opendev.org/openstack/openstack-helm, and CHARTS=<where it lies>"
)
_RESULTS = Results()


@pytest.fixture(scope="session")
def charts() -> Path:
    """The directory of charts that CHARTS names."""
    given = charts_given()
    if given is None:
        pytest.skip(HOW_TO_GET_ONE)
    if not given.is_dir():
        pytest.fail(f"CHARTS={given} is no directory")
    return given


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Takes up what tests tell, in the process that runs or gathers them."""
    if "tests/upstream/" in report.nodeid and (report.when == "call" or report.outcome != "passed"):
        _RESULTS.add(report.nodeid, report.outcome, report.user_properties)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the report where UPSTREAM_REPORT says."""
    place, given = os.environ.get("UPSTREAM_REPORT"), charts_given()
    if place and given is not None and not hasattr(session.config, "workerinput"):
        Path(place).write_text(text_of(_RESULTS, given), encoding="utf-8")
