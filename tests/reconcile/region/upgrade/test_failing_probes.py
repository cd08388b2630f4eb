"""A probe that fails since an upgrade began holds its gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.region.upgrade.next_step import new_upgrade
from controller.domain.region.upgrade.upgrade_state import Check, CheckState
from controller.reconcile.region.upgrade.failing_probes import failing_probes

UPGRADE = new_upgrade("2025.2", "2026.1", (), 0.0)
DOWN = {"status": "Unhealthy", "message": "1 of 9 down: x on cmp1"}


def status(**probes: dict[str, str]) -> dict[str, Any]:
    return {"health": {"probes": {name.replace("_", "-"): entry for name, entry in probes.items()}}}


@pytest.mark.parametrize("health", ["Ready", "Progressing", "Unknown"])
def test_a_probe_that_does_not_fail_holds_nothing(health: str) -> None:
    assert failing_probes(status(endpoints={"status": health}), UPGRADE, 0) == ""
    assert failing_probes({}, UPGRADE, 0) == ""


def test_each_probe_that_fails_is_named_with_its_message() -> None:
    found = failing_probes(status(endpoints={"status": "Unhealthy"}, network_agents=DOWN), UPGRADE, 0)
    assert found == "probe endpoints: Unhealthy; probe network-agents: 1 of 9 down: x on cmp1"


@pytest.mark.parametrize("name", ["network-agents", "region-ready"])
def test_a_probe_that_failed_before_and_was_accepted_holds_nothing(name: str) -> None:
    accepted = replace(UPGRADE, checks=(Check(name, CheckState.SKIPPED),))
    assert failing_probes(status(network_agents=DOWN), accepted, 0) == ""
    passed = replace(UPGRADE, checks=(Check(name, CheckState.PASSED),))
    assert failing_probes(status(network_agents=DOWN), passed, 0) != ""


def test_agents_of_nodes_that_may_fail_hold_nothing_but_other_probes_do() -> None:
    found = failing_probes(status(network_agents=DOWN, compute_services=DOWN, endpoints=DOWN), UPGRADE, 1)
    assert found == "probe endpoints: 1 of 9 down: x on cmp1"
