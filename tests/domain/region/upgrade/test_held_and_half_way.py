"""When an upgrade waits for a person, and when a service is half-way."""

from __future__ import annotations

from controller.domain.region.upgrade.next_step import StepFacts, UpgradeFacts, advance
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import (
    NO_CHANGE,
    StepRecord,
    StepState,
    Upgrade,
    is_between_versions,
)
from controller.domain.region.upgrade.upgrade_steps import Phase

NOW = 1_800_000_000.0
INFRASTRUCTURE, CONTROL = Phase.INFRASTRUCTURE, Phase.CONTROL_PLANE


def upgrade(*steps: StepRecord) -> Upgrade:
    return Upgrade("2025.2", "2026.1", steps, phase=steps[-1].phase, started=NOW)


def test_nodes_that_a_pause_keeps_hold_the_upgrade() -> None:
    running = upgrade(StepRecord("compute/computes", "compute", Phase.COMPUTES, StepState.RUNNING))
    policy = UpgradePolicy(paused=True)
    kept = StepFacts(waiting="1 of 2 nodes done", held=True)
    assert advance(running, policy, UpgradeFacts(NOW, step=kept)).held
    moving = StepFacts(waiting="1 of 2 nodes done")
    assert not advance(running, policy, UpgradeFacts(NOW, step=moving)).held


def test_a_step_without_a_change_leaves_its_service_at_the_version_before() -> None:
    first = StepRecord("networking/switch", "networking", INFRASTRUCTURE, StepState.DONE, message=NO_CHANGE)
    last = StepRecord("networking/server", "networking", CONTROL)
    found = upgrade(first, last)
    assert not found.is_half_way("networking")
    assert found.version_of("networking") == "2025.2"


def test_a_service_is_half_way_from_its_first_change_to_its_last_step() -> None:
    first = StepRecord("networking/switch", "networking", INFRASTRUCTURE, StepState.DONE)
    last = StepRecord("networking/server", "networking", CONTROL)
    found = upgrade(first, last)
    assert found.is_half_way("networking")
    assert found.version_of("networking") == ""
    done = StepRecord("networking/server", "networking", CONTROL, StepState.DONE)
    assert upgrade(first, done).version_of("networking") == "2026.1"
    assert not upgrade(first, done).is_half_way("networking")


def test_a_region_is_between_versions_from_the_first_migration_to_the_end() -> None:
    running = {"from": "2025.2", "to": "2026.1", "phase": "ControlPlane", "started": "2026-11-27T10:00:00Z"}
    assert is_between_versions({"upgrade": {**running, "pointOfNoReturn": True}})
    assert not is_between_versions({"upgrade": running}), "a check may wait for a backup"
    ended = {**running, "pointOfNoReturn": True, "phase": "Done", "ended": "2026-11-27T11:00:00Z"}
    assert not is_between_versions({"upgrade": ended})
    assert not is_between_versions({})
