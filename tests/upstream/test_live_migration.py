"""Servers with pinned CPUs or NUMA move live: no compute that Nova runs with is too old for that."""

from __future__ import annotations

import pytest

from tests.upstream.option_packages import SERIES, load

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("series", SERIES)
def test_no_compute_is_too_old_for_the_live_migration_of_pinned_servers(series: str) -> None:
    versions = load(series, "nova", "compute_versions")
    assert versions["numa"] == [40]
    assert versions["oldest"] >= 40
