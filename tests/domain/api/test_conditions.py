"""Conditions as metav1.Condition and kstatus mean them."""

from __future__ import annotations

from controller.domain.api.conditions import MESSAGE_LIMIT, Condition, entries, is_true
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten

READY = Condition("Ready", "True", Reason.READY, "14 releases deployed", 7)


def test_the_transition_time_is_kept_while_the_status_stays() -> None:
    before = entries([READY], [], now=1000.5)
    other_reason = Condition("Ready", "True", Reason.APPLYING, "other words", 8)
    after = entries([other_reason], before, now=2000)
    assert after[0]["lastTransitionTime"] == before[0]["lastTransitionTime"] == "1970-01-01T00:16:40Z"
    assert after[0]["observedGeneration"] == 8


def test_the_transition_time_moves_with_the_status() -> None:
    before = entries([READY], [], now=1000)
    gone = Condition("Ready", "False", Reason.APPLYING, "", 8)
    assert entries([gone], before, now=2000)[0]["lastTransitionTime"] == "1970-01-01T00:33:20Z"


def test_reconciling_and_stalled_are_there_only_while_true() -> None:
    desired = [
        READY,
        Condition("Reconciling", "False", Reason.APPLYING, "", 7),
        Condition("Stalled", "True", Reason.SPEC_INVALID, "", 7),
    ]
    assert [entry["type"] for entry in entries(desired, [], now=0)] == ["Ready", "Stalled"]


def test_a_condition_of_an_older_generation_does_not_count_for_a_newer_one() -> None:
    known = entries([READY], [], now=0)
    assert is_true(known, "Ready")
    assert is_true(known, "Ready", generation=7)
    assert not is_true(known, "Ready", generation=8)


def test_a_long_message_keeps_both_ends_and_fits() -> None:
    text = shorten("a" * 40000 + "z", MESSAGE_LIMIT)
    assert len(text) <= MESSAGE_LIMIT
    assert text.startswith("a")
    assert text.endswith("z")
