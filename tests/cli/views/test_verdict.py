"""Whether waiting for a region is good for anything."""

from __future__ import annotations

import pytest

from controller.cli.views.readiness import RegionOutcome, explain_silence, judge
from tests.cli.objects import condition, region

READY = condition("Ready", "True", "RegionReady", "10 releases deployed")


def test_ready_of_the_present_spec_is_ready():
    assert judge(region(READY)).outcome == RegionOutcome.READY


def test_ready_of_an_earlier_spec_is_not_ready():
    assert judge(region(READY, generation=2)).outcome == RegionOutcome.PENDING


def test_a_condition_left_behind_by_an_earlier_spec_is_not_ready():
    assert judge(region(READY, generation=2, observed=2)).outcome == RegionOutcome.PENDING


def test_a_read_older_than_the_write_is_not_ready():
    assert judge(region(READY), generation=2).outcome == RegionOutcome.PENDING


def test_an_invalid_spec_needs_an_edit():
    found = judge(
        region(
            condition("Ready", "False", "SpecInvalid", "spec.preset: unknown"),
            condition("Stalled", "True", "SpecInvalid"),
        )
    )
    assert (found.outcome, found.message) == (RegionOutcome.NEEDS_EDIT, "spec.preset: unknown")


def test_a_failing_release_may_still_heal():
    assert judge(region(condition("Ready", "False", "ReleasesFailing"))).outcome == RegionOutcome.PENDING


@pytest.mark.parametrize("reason", ["UpgradeChecksFailed", "RegionUpgradeHeld"])
def test_an_upgrade_that_waits_for_a_person_needs_one(reason: str):
    found = judge(region(condition("Ready", "False", reason, "compute waits for osctl upgrade continue")))
    assert (found.outcome, found.reason) == (RegionOutcome.NEEDS_EDIT, reason)
    assert found.message == "compute waits for osctl upgrade continue"


@pytest.mark.parametrize("reason", ["RegionUpgrading", "UpgradeStepFailed"])
def test_an_upgrade_that_may_go_on_is_waited_for(reason: str):
    assert judge(region(condition("Ready", "False", reason))).outcome == RegionOutcome.PENDING


PAUSED = condition("Paused", "True", "PausedBySpec")


@pytest.mark.parametrize("reason", ["PausedBySpec", "ReleasesFailing"])
def test_what_a_pause_holds_back_needs_an_edit(reason: str):
    found = judge(region(condition("Ready", "False", reason), PAUSED))
    assert (found.outcome, found.reason) == (RegionOutcome.NEEDS_EDIT, reason)
    assert "set it to Apply" in found.message


@pytest.mark.parametrize("reason", ["NodesNotReady", "WorkloadsFailing", "ReleasesPending"])
def test_what_may_heal_in_a_paused_region_is_reported_and_waited_for(reason: str):
    found = judge(region(condition("Ready", "False", reason, "cmp1: KubeletStopped"), PAUSED))
    assert (found.outcome, found.reason) == (RegionOutcome.PENDING, reason)
    assert found.message == "cmp1: KubeletStopped"


def test_a_region_that_is_not_there_is_gone():
    assert judge(None).outcome == RegionOutcome.GONE


def test_a_region_that_is_being_deleted_is_never_ready():
    leaving = region(READY)
    leaving["metadata"]["deletionTimestamp"] = "2026-03-01T09:00:00Z"
    assert judge(leaving).outcome == RegionOutcome.PENDING


def test_silence_is_explained_once_it_is_long():
    assert explain_silence(region(observed=0), 5) == ""
    assert 'watches namespace "openstack"' in explain_silence(region(observed=0), 20)
    assert explain_silence(region(), 20) == ""
