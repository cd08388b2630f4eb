"""What OpenStack-Helm's charts need, rendered now, is what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.charts_controller.upstream_rights import recorded_rights, rendered_rights


@pytest.mark.upstream
@pytest.mark.timeout(900)
def test_what_charts_need_is_as_recorded(charts: Path) -> None:
    assert rendered_rights(charts) == recorded_rights(), "run `make rbac CHARTS=…`"
