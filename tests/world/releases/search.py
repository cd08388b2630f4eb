"""Sequences of events in the world of releases."""

from __future__ import annotations

import random
from collections import Counter

import tests.world.releases.losses  # noqa: F401 - its events
from tests.world.driver import Motif, Play, Plot
from tests.world.releases.events import EVENTS, happen
from tests.world.releases.known_texts import known_texts
from tests.world.releases.process import Stopped
from tests.world.releases.rest import come_to_rest
from tests.world.releases.world import Setting, World
from tests.world.truth import Violated

# After so many of a hundred events our containers have a look before the next one.
LOOKS_AFTER = 75

_WHILE, _LONG = ("time_passes", (4,)), ("time_passes", (6,))
_SHORT = ("time_passes", (1,))
THEMES: dict[str, Motif] = {
    "claims come and go": (
        ("person_says_what_becomes_of_volumes", ()),
        ("person_edits_values", ()),
        ("container_dies", (2,)),
        _WHILE,
        ("person_edits_values", ()),
        ("person_upgrades_release", ()),
        ("containers_meet", (2,)),
        _WHILE,
        ("person_removes_service", ()),
        _WHILE,
        ("person_removes_service", ()),
        _WHILE,
    ),
    "an upgrade fails": (
        ("person_says_what_becomes_of_volumes", (0,)),
        ("hook_fails", (3,)),
        ("person_edits_values", (0,)),
        _WHILE,
        ("person_says_what_becomes_of_volumes", (1,)),
        ("hook_fails", (3,)),
        _LONG,
        ("person_edits_values", (1,)),
        _WHILE,
        ("hooks_are_mended", ()),
    ),
    "a service goes and comes back": (
        ("hook_is_slow", (2,)),
        ("person_removes_service", (0,)),
        _SHORT,
        ("person_says_what_becomes_of_volumes", ()),
        ("containers_meet", (2,)),
        ("person_removes_service", (0,)),
        _WHILE,
        ("container_dies", (2,)),
        ("person_removes_service", ()),
        _LONG,
    ),
    "the region comes back": (
        ("person_deletes_secret", ()),
        ("person_deletes_region", ()),
        _WHILE,
        ("person_deletes_secret", ()),
        ("person_removes_service", ()),
        _LONG,
        ("container_dies", ()),
        ("person_says_what_becomes_of_volumes", ()),
        _WHILE,
    ),
    "others have our names": (
        ("person_removes_service", (0,)),
        _WHILE,
        ("person_installs_release", ()),
        ("person_makes_object", ()),
        ("person_makes_bundle", ()),
        ("person_edits_values", ()),
        _WHILE,
        ("person_takes_object", ()),
        ("person_removes_service", (0,)),
        ("person_edits_object", ()),
        _WHILE,
        ("person_hands_over", ()),
        _LONG,
    ),
    "etcd is restored": (
        ("etcd_is_backed_up", ()),
        ("person_edits_values", ()),
        _WHILE,
        ("person_removes_service", ()),
        _WHILE,
        ("etcd_is_restored", ()),
        _WHILE,
    ),
    "records go inside hooks": (
        ("person_edits_values", ()),
        _WHILE,
        ("person_edits_values", ()),
        _WHILE,
        ("records_go_in_a_hook", ()),
        ("person_removes_service", (0,)),
        _LONG,
        ("person_removes_service", ()),
        ("records_go_in_a_hook", ()),
        ("person_edits_values", ()),
        _LONG,
    ),
    "all is lost and found": (
        ("osdpl_is_lost", ()),
        ("person_deletes_secret", ()),
        ("bundle_is_lost", ()),
        _SHORT,
        ("all_records_are_lost", ()),
        ("osdpl_is_restored", ()),
        ("person_removes_service", ()),
        _WHILE,
        ("person_restores_secret", ()),
        ("person_removes_service", ()),
        ("container_dies", ()),
        _LONG,
    ),
    "bundles of our names": (
        ("person_removes_service", (0,)),
        _WHILE,
        ("person_makes_bundle_of_our_name", ()),
        _SHORT,
        ("person_says_what_becomes_of_volumes", ()),
        ("person_removes_service", ()),
        ("person_makes_bundle_of_our_name", ()),
        _WHILE,
        ("person_deletes_region", ()),
        _LONG,
    ),
    "two clocks": (
        ("clock_jumps", ()),
        ("person_edits_values", ()),
        ("hook_fails", ()),
        _WHILE,
        ("another_pod_starts", ()),
        ("clock_jumps", ()),
        _WHILE,
        ("pod_is_cut_off", ()),
        ("person_removes_service", ()),
        _LONG,
        ("pod_is_cut_off", ()),
    ),
    "two of us": (
        ("another_pod_starts", ()),
        ("person_edits_values", ()),
        ("container_stands_still", ()),
        _WHILE,
        ("pod_is_cut_off", ()),
        ("person_edits_values", ()),
        _WHILE,
        ("pod_is_cut_off", ()),
        ("person_removes_service", ()),
        _WHILE,
    ),
}


def _setting(rng: random.Random) -> Setting:
    return Setting(
        volumes=rng.choice(("Retain", "Retain", "Delete")),
        takes=rng.random() < 0.3,
        clock=rng.choice((0.0, 0.0, 7200.0, -7200.0)),
    )


def perform(plot: Plot) -> tuple[Violated | None, list[str], Counter[str]]:
    """Runs the plot: what was violated, the story, and what was met."""
    world = World(plot.setting)
    violation: Violated | None = None
    try:
        with known_texts():
            _run(world, plot)
    except Violated as found:
        violation = found
    except Stopped as stopped:
        found_ = stopped.error
        violation = found_ if isinstance(found_, Violated) else Violated("an internal error", repr(found_))
    return violation, world.story, world.met


def _run(world: World, plot: Plot) -> None:
    world.begin()
    for event in plot.events:
        happen(world, event)
        world.check()
        if event.numbers[-1] % 100 < LOOKS_AFTER:
            world.live(5.0)
    come_to_rest(world)


_OURS = ("container", "another_pod", "pod_is", "etcd", "watches", "time_passes", "clock")

PLAY = Play(
    events=sorted(EVENTS),
    themes=THEMES,
    setting=_setting,
    perform=perform,
    inner=sorted(name for name in EVENTS if not name.startswith(_OURS)),
    during=("container_stands_still", "containers_meet", "hook_is_slow"),
)
