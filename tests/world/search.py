"""Sequences of events in the world of hosts."""

from __future__ import annotations

import random

from tests.world.driver import Event, Motif, Outcome, Play, Plot, played
from tests.world.events import EVENTS, happen
from tests.world.rest import come_to_rest
from tests.world.world import Setting, World

# After so many of a hundred events the world stands still until our processes have had a look.
LOOKS_AFTER = 75
# The workers of a process take from their queue in no order: any of them may be the first to look.
ORDERS = (("hosts", "maintenances", "region"), ("maintenances", "hosts", "region"))

# The numbers of an event are the machine that it is about, and what else it draws.
_WHILE = ("time_passes", (4,))
_LONG = ("time_passes", (5,))
_SERVERS: Motif = (("server_is_made", (0,)), ("server_is_made", ()), ("server_is_made", (0,)))
THEMES: dict[str, Motif] = {
    "a machine is lost and comes back": (
        *_SERVERS,
        ("machine_loses_power", (0,)),
        _LONG,
        ("person_looks", (0, 1)),
        ("clock_is_wrong", (0,)),
        ("machine_is_started", (0,)),
        _LONG,
        ("server_is_made", (0,)),
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        ("person_confirms_later", ()),
        _LONG,
        _LONG,
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "a word is given, and Nova is away": (
        *_SERVERS,
        ("machine_loses_power", (0,)),
        _LONG,
        ("clock_is_wrong", (0, 0)),
        ("service_fails", (1, 0)),
        ("person_looks", (0, 1, 1)),
        ("machine_is_started", (0,)),
        ("time_passes", (5,)),
        ("services_are_mended", ()),
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        _LONG,
        ("time_passes", (1,)),
        ("time_passes", (1,)),
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "a machine sleeps": (
        *_SERVERS,
        ("machine_sleeps", (0,)),
        ("time_passes", (4,)),
        ("service_fails", (1, 0)),
        ("person_looks", (0, 1)),
        ("machine_wakes", (0, 1)),
        ("time_passes", (1,)),
        ("machine_is_cut_off", (0, 0)),
        ("time_passes", (4,)),
        ("services_are_mended", ()),
        ("time_passes", (1,)),
        ("time_passes", (3,)),
        ("time_passes", (3,)),
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "a word is heard late": (
        *_SERVERS,
        ("machine_sleeps", (0,)),
        ("time_passes", (5,)),
        ("person_makes_maintenance", (0, 3, 1, 1, 1)),
        ("person_looks", (0, 0)),
        ("watches_are_cut", ()),
        ("machine_wakes", (0, 1)),
        ("time_passes", (3,)),
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        ("person_confirms_later", (0, 0)),
        ("time_passes", (1,)),
        ("time_passes", (3,)),
        ("time_passes", (3,)),
        ("links_are_mended", (0,)),
        ("watches_are_cut", ()),
        _WHILE,
    ),
    "a network host goes": (
        ("machine_loses_power", (0,)),
        _WHILE,
        ("node_is_deleted", (0,)),
        _LONG,
        ("time_passes", (1,)),
        ("time_passes", (1,)),
        ("time_passes", (3,)),
        _LONG,
        ("machine_is_started", (0,)),
        _LONG,
        ("person_makes_maintenance", (0, 0, 1, 1, 1)),
        ("time_passes", (1,)),
        ("service_fails", (2, 0)),
        ("time_passes", (1,)),
        ("person_deletes_maintenance", (0,)),
        ("time_passes", (1,)),
        ("services_are_mended", ()),
        _LONG,
    ),
    "a machine is cut off": (
        *_SERVERS,
        ("machine_is_cut_off", (0, 0)),
        _LONG,
        ("person_makes_maintenance", (0, 3, 1, 1, 1)),
        ("time_passes", (1,)),
        ("time_passes", (6,)),
        ("time_passes", (1,)),
        ("person_deletes_maintenance", ()),
        ("links_are_mended", (0,)),
        _WHILE,
    ),
    "disks": (
        *_SERVERS,
        ("backend_changes", ()),
        ("compute_pod_is_made_again", ()),
        _WHILE,
        ("machine_loses_power", (0,)),
        _LONG,
        ("person_looks", (0, 1)),
        _LONG,
        ("machine_is_started", (0,)),
    ),
    "maintenance": (
        *_SERVERS,
        ("person_cordons", ()),
        ("moves_stand_still", ()),
        ("person_makes_maintenance", (0, 0, 1, 1, 1)),
        ("time_passes", (3,)),
        ("time_passes", (3,)),
        ("our_clock_jumps", (4,)),
        ("process_dies", ()),
        ("time_passes", (0,)),
        ("moves_stand_still", ()),
        _WHILE,
        ("answer_is_lost", ()),
        ("person_deletes_maintenance", ()),
        _WHILE,
    ),
    "two of us": (
        *_SERVERS,
        ("two_processes", ()),
        ("machine_loses_power", (0,)),
        _LONG,
        ("person_looks", (0, 1)),
        ("workers_meet", ()),
        ("workers_meet", ()),
        ("time_passes", (0,)),
        ("process_stands_still", ()),
        _WHILE,
        ("answer_is_lost", ()),
        ("machine_is_started", (0,)),
        _LONG,
    ),
    "hosts come and go": (
        *_SERVERS,
        ("a_cell_is_missing", ()),
        _WHILE,
        ("services_are_mended", ()),
        ("machine_loses_power", (0,)),
        ("node_is_deleted", ()),
        _LONG,
        ("machine_is_started", (0,)),
        ("role_is_taken", ()),
        _LONG,
        ("machine_is_renamed", ()),
    ),
    "persons in OpenStack": (
        ("person_disables_compute", (0,)),
        ("machine_reboots", (0,)),
        _LONG,
        ("person_forces_down", (0,)),
        ("person_cordons", (0,)),
        ("person_makes_maintenance", (0, 0, 0, 1, 1)),
        _WHILE,
        ("person_deletes_maintenance", (0,)),
        _WHILE,
        ("person_edits_region", (0,)),
        _LONG,
        ("person_cordons", (1,)),
        _WHILE,
        ("person_edits_region", (1,)),
        _WHILE,
    ),
    "many are lost": (
        *_SERVERS,
        ("machine_loses_power", (0,)),
        ("machine_loses_power", (1,)),
        _LONG,
        ("time_passes", (1,)),
        ("time_passes", (1,)),
        ("person_looks", (0, 1, 0)),
        ("person_looks", (1, 1, 0)),
        _LONG,
        ("machine_is_started", (0,)),
        ("machine_is_started", (1,)),
        _LONG,
    ),
}


def _setting(rng: random.Random) -> Setting:
    return Setting(
        hosts=rng.choice((2, 3, 3, 4)),
        places=rng.choice(("rbd:vms", "rbd:vms", "qcow2")),
        evacuation=rng.choice(("Auto", "Auto", "Auto", "Never")),
        fencing=rng.random() < 0.3,
        unhealthy=rng.choice(("1", "2", "4")),
        clock=rng.choice((0.0, 0.0, 7200.0, -7200.0)),
    )


def step(world: World, event: Event) -> None:
    """What happens, and as a rule a look of our processes."""
    happen(world, event)
    if event.numbers[-1] % 100 < LOOKS_AFTER:
        world.pass_time(3.0)
        world.run(*ORDERS[event.numbers[-2] % len(ORDERS)])


def perform(plot: Plot) -> Outcome:
    """In a world of its own."""
    return played(World(plot.setting), plot, step, come_to_rest)


PLAY = Play(
    events=sorted(EVENTS),
    themes=THEMES,
    setting=_setting,
    perform=perform,
    inner=sorted(name for name in EVENTS if not name.startswith(("process", "workers"))),
    during=("process_stands_still",),
)
