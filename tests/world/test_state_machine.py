"""The world of hosts as a state machine of Hypothesis, which draws and shortens by rules of its own.

It knows no themes, and so it seldom comes near a hazard: the search (`driver`) does. But it tries what no
theme leads to, and `HYPOTHESIS_PROFILE=searching` has it draw others each time.
"""

from __future__ import annotations

import logging

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.world.driver import NUMBERS, STEPS, Event
from tests.world.rest import come_to_rest
from tests.world.search import PLAY, step
from tests.world.truth import Violated
from tests.world.world import Setting, World

SETTINGS = st.builds(
    Setting,
    hosts=st.integers(2, 4),
    places=st.sampled_from(("rbd:vms", "qcow2")),
    evacuation=st.sampled_from(("Auto", "Never")),
    fencing=st.booleans(),
    unhealthy=st.sampled_from(("1", "2", "4")),
    clock=st.sampled_from((0.0, 7200.0, -7200.0)),
)
DRAWN = st.tuples(*(st.integers(0, 719) for _ in range(NUMBERS)))
INNER = st.builds(Event, st.sampled_from(PLAY.inner), DRAWN)


class Region(RuleBasedStateMachine):
    """Whatever happens, nothing happens that must not, and in peace it comes to rest."""

    @initialize(setting=SETTINGS)
    def is_installed(self, setting: Setting) -> None:
        logging.disable(logging.CRITICAL)
        self.world, self.violated = World(setting), False
        self.world.begin()

    @rule(name=st.sampled_from(PLAY.events), numbers=DRAWN, meanwhile=st.lists(INNER, max_size=2))
    def event(self, name: str, numbers: tuple[int, ...], meanwhile: list[Event]) -> None:
        try:
            step(self.world, Event(name, numbers, tuple(meanwhile) if name in PLAY.during else ()))
        except Violated:
            self.violated = True
            raise

    def teardown(self) -> None:
        try:
            if not self.violated:
                come_to_rest(self.world)
        finally:
            logging.disable(logging.NOTSET)


@pytest.mark.slow
class TestRegion(Region.TestCase):
    settings = settings(stateful_step_count=STEPS)
