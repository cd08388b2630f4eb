"""A component that comes and goes is said to be healthy only after it has stayed so."""

from __future__ import annotations

from typing import Any

from controller.domain.health.flap_damping import CALM, LOSSES, WINDOW, FlapDamping
from controller.domain.health.region_health import ComponentHealth
from controller.domain.health.workload_health import Health, WorkloadHealth

KEY = ("nova", "api")


class Story:
    """One component reported look by look; each pass takes `step` seconds."""

    def __init__(self, step: float = 10.0) -> None:
        self._damping = FlapDamping()
        self._step = step
        self.now = 0.0
        self.said: dict[str, Any] = {}

    def observe(self, health: Health, generation: int = 1) -> WorkloadHealth:
        self.now += self._step
        judged = ComponentHealth(WorkloadHealth(health, 0, 1, "the probe fails"), generation)
        return self._damping.damped({KEY: judged}, self.said, self.now)[KEY].verdict

    def lose(self, times: int, generations: int = 0) -> WorkloadHealth:
        """Ready and not ready, so many times, then ready; a new generation each time if asked for."""
        for number in range(times):
            self.observe(Health.READY, 1 + generations * number)
            self.observe(Health.UNHEALTHY, 1 + generations * (number + 1))
        return self.observe(Health.READY, 1 + generations * times)


def test_a_component_that_is_lost_seldom_is_ready_when_it_is() -> None:
    assert Story().lose(LOSSES - 1).health == Health.READY


def test_a_component_that_comes_and_goes_is_unhealthy_even_while_it_is_there() -> None:
    shown = Story().lose(LOSSES)
    assert shown.health == Health.UNHEALTHY
    assert shown.text == "became unready at least 3 times within 10 minutes; last: the probe fails"


def test_it_is_healthy_again_after_a_calm_minute() -> None:
    story = Story()
    story.lose(LOSSES)
    for _ in range(int(CALM / 10) - 1):
        assert story.observe(Health.READY).health == Health.UNHEALTHY
    assert story.observe(Health.READY).health == Health.READY
    story.observe(Health.UNHEALTHY)
    assert story.observe(Health.READY).health == Health.READY


def test_a_new_process_goes_on_to_be_careful_with_what_came_and_went() -> None:
    before = Story().lose(LOSSES)
    story = Story()
    story.said = {"nova": {"api": {"status": "Unhealthy", "message": before.text}}}
    for _ in range(int(CALM / 10)):
        assert story.observe(Health.READY) == before
    assert story.observe(Health.READY).health == Health.READY


def test_a_new_process_has_no_doubts_of_what_has_healed_meanwhile() -> None:
    story = Story()
    story.said = {"nova": {"api": {"status": "Unhealthy", "message": "the probe fails"}}}
    assert story.observe(Health.READY).health == Health.READY


def test_losses_long_ago_are_forgotten() -> None:
    assert Story(step=WINDOW).lose(LOSSES + 2).health == Health.READY


def test_rollouts_are_no_flapping() -> None:
    assert Story().lose(LOSSES + 2, generations=1).health == Health.READY


def test_losses_before_a_rollout_are_forgotten() -> None:
    story = Story()
    story.lose(LOSSES - 1)
    story.observe(Health.READY, generation=2)
    story.observe(Health.UNHEALTHY, generation=2)
    assert story.observe(Health.READY, generation=2).health == Health.READY


def test_a_component_that_vanished_begins_again() -> None:
    damping = FlapDamping()
    lost, there = (
        ComponentHealth(WorkloadHealth(health, 0, 1), 1) for health in (Health.UNHEALTHY, Health.READY)
    )
    for now in range(2 * LOSSES + 2):
        damping.damped({KEY: there if now % 2 else lost}, {}, float(now))
    assert damping.damped({KEY: there}, {}, 9.0)[KEY].verdict.health == Health.UNHEALTHY
    damping.damped({}, {}, 10.0)
    assert damping.damped({KEY: there}, {}, 11.0)[KEY].verdict.health == Health.READY


def test_jobs_that_helm_makes_again_do_not_come_and_go() -> None:
    story = Story()
    for run in range(LOSSES + 1):
        story.observe(Health.PROGRESSING, run)
        shown = story.observe(Health.READY, run)
    assert shown.health == Health.READY
