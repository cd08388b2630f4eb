"""The guards of docs/safety.md, each with what switches it off in a test: the product has no switch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from controller.domain.hosts.fencing_confirmation import Machine
from controller.domain.hosts.host_disks import DiskReachability
from controller.domain.hosts.next_step import HostFacts
from controller.domain.hosts.nodes import NodeFacts
from controller.reconcile.hosts import observe
from controller.reconcile.hosts.drain_locks import reasons
from controller.reconcile.hosts.lost_nodes.lost_node_cleanup import LostNodeCleanup
from controller.reconcile.maintenance import out_of_service
from controller.reconcile.maintenance.elapsed_times import ElapsedTimes
from controller.reconcile.maintenance.status import MaintenanceWork
from tests.world.driver import Play

Off = Callable[[ExitStack], None]


@dataclass(frozen=True)
class Guard:
    """`hazard` as in docs/safety.md; `theme`: what sequences are about in which it is needed most often."""

    name: str
    hazard: str
    theme: str
    off: Off

    @contextmanager
    def switched_off(self) -> Iterable[None]:  # type: ignore[misc]
        with ExitStack() as stack:
            self.off(stack)
            yield


# In so many sequences at most the hazard has to come about.
MOST = 2000
GUARDS: dict[str, Guard] = {}


def sequences_until_found(play: Play, guard: Guard) -> int:
    """How many it takes until the search finds the hazard while the guard is switched off."""
    with guard.switched_off():
        for seed in range(MOST):
            violation, _, _ = play.perform(play.draw(seed, theme=guard.theme))
            if violation is not None and violation.hazard == guard.hazard:
                return seed + 1
    raise AssertionError(f"{MOST} sequences without {guard.name!r} show no violation")


def guard(name: str, hazard: str, theme: str = "") -> Callable[[Off], Off]:
    def noted(off: Off) -> Off:
        GUARDS[name] = Guard(name, hazard, theme, off)
        return off

    return noted


LOST, GIVEN, SLEEPS, LATE, CUT, DISKS, MAINTENANCE, TWO, HOSTS, NETWORK, PERSONS, MANY = (
    "a machine is lost and comes back",
    "a word is given, and Nova is away",
    "a machine sleeps",
    "a word is heard late",
    "a machine is cut off",
    "disks",
    "maintenance",
    "two of us",
    "hosts come and go",
    "a network host goes",
    "persons in OpenStack",
    "many are lost",
)
DELETED = "data deleted"
TWICE, EMPTY, OTHERS, MEANT = (
    "a server runs twice",
    "a disk is rebuilt empty",
    "an object of others is changed",
    "a host is acted upon that was not meant",
)


def _set(stack: ExitStack, where: str, what: Any) -> None:
    stack.enter_context(patch(where, what))


def _shows_nothing(*_: Any, **__: Any) -> str:
    return ""


def _void_never(stack: ExitStack, shown: Any = _shows_nothing) -> None:
    _set(stack, "controller.domain.hosts.nodes.shown_since", shown)
    _set(stack, "controller.domain.maintenance.obstacles.shown_since", shown)
    _set(stack, "controller.reconcile.maintenance.out_of_service.shown_since", shown)
    _set(stack, "controller.domain.hosts.nodes.ran_since", _shows_nothing)
    _set(stack, "controller.domain.maintenance.obstacles.ran_since", _shows_nothing)
    _set(stack, "controller.reconcile.maintenance.out_of_service.against_taking_up", _shows_nothing)
    _set(stack, "controller.reconcile.hosts.fenced_nodes.against_taking_up", _shows_nothing)


@guard("a confirmation is of one absence", TWICE, GIVEN)
def _later_absence(stack: ExitStack) -> None:
    _void_never(stack)


@guard("no clocks are compared", TWICE, GIVEN)
def _by_its_clock(stack: ExitStack) -> None:
    def shown(confirmed: Machine, node: Machine | None) -> str:
        later = node is not None and node.heartbeat > confirmed.heartbeat
        return "its kubelet reported later" if later else ""

    _void_never(stack, shown)


@guard("a host's own disks count", EMPTY, DISKS)
def _all_shared(stack: ExitStack) -> None:
    _set(stack, "controller.reconcile.maintenance.status.judge_disks", lambda *_: DiskReachability(True))


@guard("a maintenance is of one region", OTHERS)
def _all_regions(stack: ExitStack) -> None:
    _set(stack, "controller.reconcile.maintenance.compute_maintenance.is_served_in", lambda *_: True)


@guard("deadlines count observed time", "a move is broken off that had time", MAINTENANCE)
def _wall_clock(stack: ExitStack) -> None:
    def brought_up(self: ElapsedTimes, works: Iterable[MaintenanceWork]) -> list[MaintenanceWork]:
        return [replace(one, now=self._clock.now()) for one in works]

    stack.enter_context(patch.object(ElapsedTimes, "brought_up", brought_up))


@guard("an evacuation waits for a fencing confirmation", TWICE, CUT)
def _without_fencing(stack: ExitStack) -> None:
    _set(stack, "controller.domain.maintenance.obstacles.is_certainly_off", lambda *_: True)


@guard("only what we disabled is enabled", OTHERS, PERSONS)
def _all_is_ours(stack: ExitStack) -> None:
    for where in ("hosts.cordon_and_return", "hosts.lost_node"):
        _set(stack, f"controller.domain.{where}.is_ours", lambda *_: True)


@guard("only what we forced down is taken out of forced down", OTHERS, PERSONS)
def _forced_by_us(stack: ExitStack) -> None:
    forced = property(lambda self: self.service is not None and self.service.forced_down)
    stack.enter_context(patch.object(HostFacts, "is_forced_down_by_us", forced))


@guard("only our cordon is taken off", OTHERS, MAINTENANCE)
def _all_cordons(stack: ExitStack) -> None:
    def noted(namespace: str, obj: Any) -> dict[str, str]:
        found = real(namespace, obj)
        return {**found, out_of_service.CORDONED_BY_ANNOTATION: "work-1"}

    real = out_of_service.node_notes
    stack.enter_context(patch.object(out_of_service, "node_notes", noted))


@guard("a plan does nothing", MEANT, PERSONS)
def _plans_begin(stack: ExitStack) -> None:
    stack.enter_context(patch.object(MaintenanceWork, "planning", property(lambda self: False)))


@guard("a region may be paused", MEANT, PERSONS)
def _never_paused(stack: ExitStack) -> None:
    real = observe.node_policy
    stack.enter_context(
        patch.object(observe, "node_policy", lambda *given: replace(real(*given), paused=False))
    )


@guard("pods are freed only where the machine is off", TWICE, CUT)
def _all_pods(stack: ExitStack) -> None:
    stack.enter_context(patch.object(NodeFacts, "is_fenced", property(lambda self: not self.is_ready)))
    stack.enter_context(patch.object(LostNodeCleanup, "_is_off", lambda *_: True))


@guard("a drain lock stays while any list shows servers", "servers are drained", HOSTS)
def _locks_go(stack: ExitStack) -> None:
    stack.enter_context(patch.object(reasons, "remaining_in_openstack", _shows_nothing))


@guard("a report of the compute makes a confirmation void", TWICE, SLEEPS)
def _reports_say_nothing(stack: ExitStack) -> None:
    _set(stack, "controller.domain.hosts.fencing_confirmation.changed_since", _shows_nothing)


@guard("a confirmation that was not taken up counts for nothing", TWICE, LATE)
def _all_words_count(stack: ExitStack) -> None:
    noted = property(lambda self: self.confirmation is not None and not self.is_ready and not self.void)
    stack.enter_context(patch.object(NodeFacts, "is_fenced", noted))


@guard("the circuit breaker", MEANT, MANY)
def _no_breaker(stack: ExitStack) -> None:
    _set(stack, "controller.reconcile.hosts.compute_hosts.circuit_breaker_trips", _shows_nothing)


@guard("an agent that alone has a router stays", DELETED, NETWORK)
def _all_agents_go(stack: ExitStack) -> None:
    _set(stack, "controller.reconcile.hosts.removal._only_on", lambda *_: set())
