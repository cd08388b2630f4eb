"""The judge of Ready on the way through a restart: of one spec it comes true once, and stays so."""

from __future__ import annotations

from typing import Any

from tests.cluster.regions.test_region_restarts import falls


def state(version: int, status: str, generation: int) -> dict[str, Any]:
    entry = {"type": "Ready", "status": status, "observedGeneration": generation, "message": "so it is"}
    return {"metadata": {"resourceVersion": str(version)}, "status": {"conditions": [entry]}}


def test_ready_that_falls_with_an_edit_and_returns_is_no_fall() -> None:
    states = [state(1, "True", 1), state(2, "False", 2), state(3, "Unknown", 2), state(4, "True", 2)]
    assert falls(states) == []


def test_ready_that_falls_again_of_the_same_spec_is_reported_with_its_version() -> None:
    states = [state(1, "False", 2), state(2, "True", 2), state(3, "False", 2), state(4, "True", 2)]
    assert falls(states) == ["3: Ready of 2 is False again: so it is"]


def test_ready_that_is_not_known_any_more_is_a_fall() -> None:
    assert falls([state(1, "True", 2), state(2, "Unknown", 2)]) != []
