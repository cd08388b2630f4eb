"""Fixtures on OpenStack-Helm's charts; their tests are skipped where CHARTS names none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.render.region import library
from tests.upstream.regions import charts_given
from tests.upstream.report import Results, text_of
from tools.pins import history_of, tree_of, upstream_charts

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


@pytest.fixture(scope="session")
def history(charts: Path) -> Path:
    """The repository that the checkout is of."""
    found = history_of(charts)
    if found is None:
        pytest.skip("neither CHARTS nor CHARTS_HISTORY is a repository with the pinned commits")
    return found


@pytest.fixture(scope="session")
def previous(history: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The charts of the previous builds."""
    directory = tmp_path_factory.mktemp("previous")
    tree_of(history, library().builds.previous.commit, upstream_charts(library().catalogue), directory)
    return directory


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Takes up what tests tell, in the process that runs or gathers them."""
    if "tests/upstream/" in report.nodeid and (report.when == "call" or report.outcome != "passed"):
        _RESULTS.add(report.nodeid, report.outcome, report.user_properties)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the report where UPSTREAM_REPORT says."""
    place, given = os.environ.get("UPSTREAM_REPORT"), charts_given()
    if place and given is not None and not hasattr(session.config, "workerinput"):
        Path(place).write_text(text_of(_RESULTS, given), encoding="utf-8")
