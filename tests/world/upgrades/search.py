"""Sequences of events in the world of an upgrade."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from tests.world.driver import Draw, Event, Motif, Outcome, Play, Plot, played
from tests.world.truth import Violated
from tests.world.upgrades.small_region import CHARTS, NEW, OLD, OTHER
from tests.world.upgrades.world import COMPUTES, Setting, World

_SERVICES = sorted(CHARTS)
_CHARTS = sorted(chart for charts in CHARTS.values() for chart in charts)
# Passes without a change until an upgraded region counts as at rest.
QUIET = 12


def _core(world: World, draw: Draw) -> None:
    for _ in range(1 + draw.number(3)):
        world.core()


def _core_dies(world: World, draw: Draw) -> None:
    world.dies_at = draw.number(8)
    world.core()


def _deploy(world: World, draw: Draw) -> None:
    world.deploy(draw.one(_SERVICES))


def _deploy_all(world: World, draw: Draw) -> None:
    for service in _SERVICES:
        world.deploy(service)


def _all_work(world: World, draw: Draw) -> None:
    for _ in range(1 + draw.number(4)):
        world.core()
        world.settle()
        world.clock.advance(31)


def _fails(world: World, draw: Draw) -> None:
    service = draw.one(_SERVICES)
    world.failing ^= {service}
    world.deploy(service)


def _sick(world: World, draw: Draw) -> None:
    world.sick ^= {draw.one(_CHARTS)}
    world.health()


def _mute(world: World, draw: Draw) -> None:
    world.mute ^= {draw.one(_SERVICES)}


def _node_breaks(world: World, draw: Draw) -> None:
    world.broken ^= {draw.one(COMPUTES)}


def _kubelets(world: World, draw: Draw) -> None:
    world.kubelets(1 + draw.number(len(COMPUTES)))


def _version(world: World, draw: Draw) -> None:
    world.edit(openstackVersion=draw.one((NEW, NEW, NEW, NEW, OLD, OTHER)))


def _pause(world: World, draw: Draw) -> None:
    world.edit(upgrade={"paused": bool(draw.number(2))})


def _mode(world: World, draw: Draw) -> None:
    world.edit(mode=draw.one(("Apply", "Apply", "Paused")))


def _values(world: World, draw: Draw) -> None:
    world.edit(common={"openstack": {"values": {"debug": draw.number(3)}}})


def _allow(world: World, draw: Draw) -> None:
    world.allow()


def _conflict(world: World, draw: Draw) -> None:
    world.conflicts = 1
    world.core()
    world.conflicts = 0


def _time(world: World, draw: Draw) -> None:
    world.clock.advance(float(draw.one((1, 5, 31, 120, 1000))))


EVENTS: Mapping[str, Callable[[World, Draw], None]] = {
    "core_looks": _core,
    "core_dies": _core_dies,
    "bundle_is_deployed": _deploy,
    "all_are_deployed": _deploy_all,
    "all_work": _all_work,
    "bundle_fails": _fails,
    "workload_is_sick": _sick,
    "service_is_mute": _mute,
    "smokes_end": lambda world, draw: world.end_smokes(),
    "person_requests": lambda world, draw: world.request(),
    "node_breaks": _node_breaks,
    "kubelets_work": _kubelets,
    "person_edits_version": _version,
    "person_pauses": _pause,
    "person_sets_mode": _mode,
    "person_edits_values": _values,
    "person_allows": _allow,
    "client_is_faster": _conflict,
    "health_looks": lambda world, draw: world.health(),
    "time_passes": _time,
}
_WORK = ("all_work", (3,))
THEMES: Mapping[str, Motif] = {
    "an upgrade goes on": (("person_edits_version", (0,)), *(_WORK,) * 12),
    "an upgrade is killed": (
        ("person_edits_version", (0,)),
        *((("core_dies", ()), ("bundle_is_deployed", ()), _WORK) * 8),
    ),
    "computes fail": (
        ("person_edits_version", (0,)),
        *(_WORK,) * 6,
        ("node_breaks", ()),
        *((("core_looks", ()), ("kubelets_work", ()), ("time_passes", (2,)), ("health_looks", ())) * 5),
        ("node_breaks", ()),
        *(_WORK,) * 3,
    ),
    "services do not serve": (
        ("person_edits_version", (0,)),
        *(_WORK,) * 3,
        ("service_is_mute", ()),
        *(_WORK,) * 3,
        ("core_dies", ()),
        ("smokes_end", ()),
        _WORK,
        ("service_is_mute", ()),
        ("person_requests", ()),
        *(_WORK,) * 3,
    ),
    "an upgrade is taken back": (
        ("person_edits_version", (0,)),
        ("core_looks", ()),
        ("core_looks", ()),
        ("person_edits_version", (4,)),
        _WORK,
        ("person_edits_version", (0,)),
        *(_WORK,) * 6,
    ),
}


def _setting(rng: random.Random) -> Setting:
    return Setting(
        batch=rng.randrange(1, 4),
        most_failed=rng.randrange(2),
        manual=rng.random() < 0.2,
        zones=rng.random() < 0.4,
        smoke=rng.random() < 0.5,
    )


def come_to_rest(world: World) -> None:
    """Nothing fails any more, and persons want what they can have: then the region gets there and rests."""
    world.failing.clear()
    world.sick.clear()
    world.broken.clear()
    world.mute.clear()
    world.dies_at, world.conflicts = -1, 0
    upgrade = world.upgrade()
    wanted = world.osdpl()["spec"]["openstackVersion"]
    possible = {upgrade.target} if upgrade and not upgrade.over else {OLD, NEW}
    running = world.osdpl()["status"].get("openstackVersion")
    if wanted not in possible or (running == NEW and wanted == OLD):
        wanted = NEW if NEW in possible else sorted(possible)[0]
    # What failed is looked at again only when a person asks for it; a person who allows each step is gone.
    gates = "Smoke" if world.setting.smoke and not world.setting.manual else "Health"
    world.edit(openstackVersion=wanted, mode="Apply", upgrade={"paused": False, "gates": gates})
    world.request()
    world.tell("peace")
    quiet = 0
    for _ in range(150):
        world.kube.forget_requests()
        world.core()
        world.settle()
        world.clock.advance(31)
        there = world.osdpl()["status"].get("openstackVersion") == wanted
        quiet = quiet + 1 if there and not world.kube.changes else 0
        if quiet == QUIET:
            break
    status = world.osdpl()["status"]
    if status.get("openstackVersion") != wanted:
        raise Violated(
            "an end",
            f"{wanted} is wanted, and {status.get('openstackVersion')} runs: {status.get('upgrade')}",
        )
    wrong = {
        f"{chart}/{name}"
        for chart, tags in world.tags().items()
        for name, version in tags.items()
        if version != wanted and chart != "mariadb"
    }
    if wrong:
        raise Violated("an end", f"{sorted(wrong)} are not of {wanted}")
    if "OnDelete" in str(world.bundles()):
        raise Violated("an end", "pods of nodes are still replaced by hand")
    left = [job["metadata"]["name"] for job in world.smokes() if job["spec"]["ttlSecondsAfterFinished"]]
    if left:
        raise Violated("an end", f"checks are left: {left}")
    world.kube.forget_requests()
    world.core()
    if world.kube.writes:
        raise Violated("rest", f"core writes at rest: {world.kube.writes}")


def perform(plot: Plot) -> Outcome:
    """In a world of its own."""
    return played(World(plot.setting), plot, step, come_to_rest)


def step(world: World, event: Event) -> None:
    """One event."""
    world.tell(f"{event.name} {event.numbers[:2]}")
    world.met[event.name] += 1
    EVENTS[event.name](world, Draw(event))


PLAY = Play(
    events=sorted(EVENTS),
    themes=THEMES,
    setting=_setting,
    perform=perform,
    inner=("time_passes",),
    during=(),
)
