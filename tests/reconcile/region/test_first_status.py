"""The status of a region that no one has looked at, and that of the first pass: as in the golden file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.reconcile.region_states import region_states

GOLDEN = Path(__file__).parents[2] / "golden" / "first-status.yaml"


@pytest.mark.slow
def test_the_first_status_is_as_the_golden_file_has_it() -> None:
    states = region_states()
    shown = {state: dict(states[state]["status"]) for state in ("created", "being applied")}
    # It moves with any value of any chart.
    assert shown["being applied"].pop("fingerprint").startswith("sha256:")
    assert shown == yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))
