"""Clocks that are wrong for a while: what is written meanwhile holds nothing up once they are right."""

from __future__ import annotations

import pytest

from tests.world.driver import Event
from tests.world.releases.search import PLAY
from tests.world.releases.world import Setting

pytestmark = pytest.mark.slow


def test_a_failure_noted_by_a_clock_that_was_ahead_is_tried_again() -> None:
    PLAY.replay(
        Setting(volumes="Retain", takes=False, clock=0.0),
        Event("hook_fails", (268, 277, 283, 408, 699, 435)),
        Event("pod_is_cut_off", (134, 586, 715, 463, 567, 655)),
        Event("pod_is_cut_off", (433, 488, 43, 586, 318, 148)),
        Event("person_edits_values", (428, 167, 276, 541, 544, 658)),
        Event("clock_jumps", (534, 113, 24, 192, 654, 620)),
    )


def test_so_is_a_removal() -> None:
    PLAY.replay(
        Setting(volumes="Retain", takes=False, clock=0.0),
        Event("hook_fails", (598, 353, 203, 122, 403, 658)),
        Event("person_removes_service", (94, 126, 251, 49, 647, 138)),
        Event("clock_jumps", (179, 332, 335, 522, 647, 135)),
    )
