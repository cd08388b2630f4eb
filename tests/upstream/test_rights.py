"""What OpenStack-Helm's charts need, rendered now, is what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.charts_controller.upstream_rights import Facts, recorded_rights, rendered_rights


@pytest.mark.upstream
@pytest.mark.timeout(900)
def test_what_charts_need_is_as_recorded(charts: Path) -> None:
    assert _rules(rendered_rights(charts)) == _rules(recorded_rights()), "run `make rbac CHARTS=…`"


def _rules(facts: Facts) -> dict[str, dict[str, Any]]:
    """As they are written: without a rule for one name where another gives the same for all."""
    return {
        chart: {flavour: rights.as_data() for flavour, rights in flavours.items()}
        for chart, flavours in facts.items()
    }
