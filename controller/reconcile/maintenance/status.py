"""The status of one ComputeMaintenance: what a pass knows of it, and how that is written."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.api.conditions import Condition, entries, find, timestamp
from controller.domain.api.names import DISKS_ANNOTATION
from controller.domain.api.reasons import WARNING, Reason
from controller.domain.api.region_name import RegionName, node_notes, region_of
from controller.domain.api.shortened_text import shorten
from controller.domain.hosts.fencing_confirmation import Confirmation, given_as, read_given, same_confirmation
from controller.domain.hosts.host_disks import HostDisks, judge_disks
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.hosts.same_machine import SameMachine
from controller.domain.maintenance.maintenance_spec import MaintenanceSpec, parse_spec
from controller.domain.maintenance.move_choice import MoveKind
from controller.domain.maintenance.network_moves import NetworkMove, ask_again, read_move
from controller.domain.maintenance.outcome import progress
from controller.domain.maintenance.server_moves import Phase, ServerMove, read_entry, try_again
from controller.domain.shared.plurals import count
from controller.domain.shared.times import seconds_of
from controller.errors import ControllerError
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, Events, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.maintenance.maintenance_finalizer import finalizer_of
from controller.reconcile.shared.preconditioned_writes import apply_to_seen

log = logging.getLogger(__name__)

CONTAINER = "node"
# Seconds between two writes of the time of a working maintenance without other changes.
TIME_EVERY = 15.0
_WORKING = (Phase.MOVING, Phase.ROLLING_BACK)
_TOO_LATE = "the maintenance continues; delete it to roll it back"


@dataclass(frozen=True)
class MaintenanceWork:
    """One maintenance in one pass: its spec, and what its status said before.

    `entries` by server id. `node` is None where there is none; `host` is what OpenStack calls it, and `doubt`
    why that is not certain. In an evacuation, `beside`: the other Nodes that are this host, one of which may
    be what the machine is called now; `same`: how they are found; `takers`: hosts of all others, by Node.
    `elapsed`: seconds since it began, as they were counted; `now`: that, after `started`, which is no clock's
    time. All that is noted of moves is in it. `ending`: when it was first rolled back, 0.0 for not yet.
    `report`: of the compute service of a Node that is gone, as `report_of` gives it.
    """

    obj: KubeObject
    spec: MaintenanceSpec
    entries: Mapping[str, ServerMove]
    network: Sequence[NetworkMove]
    volumes: int
    created: float
    started: float
    elapsed: float = 0.0
    now: float = 0.0
    ending: float = 0.0
    node: KubeObject | None = None
    host: str = ""
    doubt: str = ""
    beside: tuple[NodeFacts, ...] = ()
    same: SameMachine | None = None
    takers: Mapping[str, str] = field(default_factory=dict)
    report: str = ""

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def region(self) -> RegionName:
        return region_of(self.obj)

    @property
    def deleting(self) -> bool:
        return bool(self.obj["metadata"].get("deletionTimestamp"))

    @property
    def planning(self) -> bool:
        """Whether it only shows what it would do; what has begun goes on, whatever is asked for later."""
        return self.spec.dry_run and not self.started

    @property
    def phase(self) -> Phase:
        phase = (self.obj.get("status") or {}).get("phase")
        return Phase(phase) if phase in set(Phase) else Phase.PENDING

    @property
    def reason(self) -> str:
        """Of what was last said."""
        return str(find((self.obj.get("status") or {}).get("conditions") or (), "Ready").get("reason", ""))

    @property
    def confirmation(self) -> Confirmation | None:
        """spec.fenced as it was taken up; None until then, and once there is another."""
        noted = (self.obj.get("status") or {}).get("fenced")
        found = read_given(noted) if noted else None
        given = self.spec.fenced
        return found if found is not None and given is not None and same_confirmation(found, given) else None

    @property
    def confirmation_void(self) -> str:
        """Why spec.fenced is void; empty where it is not."""
        noted = (self.obj.get("status") or {}).get("fenced") or {}
        return str(noted.get("void") or "") if self.confirmation is not None else ""

    @property
    def moving(self) -> int:
        return sum(one.under_way for one in self.entries.values())

    def judged(self, records: Mapping[str, HostDisks], others: frozenset[str]) -> MaintenanceWork:
        """With what is known of the disks on its host; `others`: the hosts that may take its servers."""
        noted = node_notes(self.region.namespace, self.node) if self.node is not None else {}
        verdict = judge_disks(self.host, records, others - {self.host}, noted.get(DISKS_ANNOTATION, ""))
        doubt = verdict.doubt
        if doubt and self.node is not None:
            name = self.spec.node
            doubt += (
                f"; if you are certain that they can reach its disks: osctl node disks-shared {name} "
                f"{verdict.token}"
            )
        rules = replace(self.spec.rules, shared_disks=verdict.shared, doubt=doubt)
        return replace(self, spec=replace(self.spec, rules=rules))

    def status_with(self, phase: Phase, reason: Reason, message: str) -> ObservedStatus:
        """What is to be written when nothing else has changed: no progress is ever left out."""
        return ObservedStatus(phase, reason, message, self.entries, self.network, self.started, self.volumes)


class StatusUnreadable(ControllerError):
    """Another version of the controller must have written what a maintenance says."""


def read_work(obj: KubeObject) -> MaintenanceWork:
    """A maintenance as it stands in the cluster. Raises StatusUnreadable."""
    try:
        spec = parse_spec(obj)
        status = obj.get("status") or {}
        servers = [read_entry(one) for one in status.get("servers") or ()]
        network = [read_move(one) for one in status.get("network") or ()]
    except (ValueError, KeyError, TypeError) as error:
        raise StatusUnreadable(shorten(f"{type(error).__name__}: {error}", 200)) from None
    if status.get("observedGeneration") not in (None, obj["metadata"].get("generation")):
        servers, network = [try_again(one) for one in servers], [ask_again(one) for one in network]
    return MaintenanceWork(
        obj=obj,
        spec=spec,
        entries={one.id: one for one in servers},
        network=network,
        volumes=int(status.get("volumes") or 0),
        created=seconds_of(obj["metadata"].get("creationTimestamp")),
        started=seconds_of(status.get("startedAt")),
        elapsed=float(status.get("elapsedSeconds") or 0),
        ending=seconds_of(status.get("rollingBackSince")),
    )


@dataclass(frozen=True)
class ObservedStatus:
    """What is to be written of a maintenance."""

    phase: Phase
    reason: Reason
    message: str
    entries: Mapping[str, ServerMove]
    network: Sequence[NetworkMove] = ()
    started: float = 0.0
    volumes: int = 0


class StatusWriter:
    """Writes what is found of maintenances, and an event where the phase changes. Raises KubeError."""

    def __init__(self, kube: Kube, clock: Clock, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events

    def write(self, work: MaintenanceWork, observed: ObservedStatus, *, unchanged: bool = False) -> None:
        """`unchanged`: only where no other writer changed the object since it was read, else a Conflict."""
        if work.spec.dry_run and work.started:
            observed = replace(
                observed, message=f"{observed.message}; dryRun was set after the start: {_TOO_LATE}"
            )
        before = work.obj.get("status") or {}
        generation = int(work.obj["metadata"].get("generation") or 0)
        listed = sorted(observed.entries.values(), key=lambda one: (one.name, one.id))
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "phase": str(observed.phase),
            "progress": progress(listed),
            "conditions": entries(
                conditions_of(observed, generation), before.get("conditions") or (), self._clock.now()
            ),
        }
        if observed.started:
            status["startedAt"] = timestamp(observed.started)
        if "fenced" in before and (work.confirmation is not None or work.spec.fenced is None):
            # Also while it is taken back: given again, it is the same one, and what made it void counts.
            status["fenced"] = before["fenced"]
        if work.report:
            status["lastReport"] = work.report
        if work.deleting:
            status["rollingBackSince"] = timestamp(work.ending or work.now)
        if before.get("elapsedSeconds"):
            status["elapsedSeconds"] = before["elapsedSeconds"]
        if listed:
            status["servers"] = [one.written() for one in listed]
        if observed.network:
            status["network"] = [one.written() for one in observed.network]
        if observed.volumes:
            status["volumes"] = observed.volumes
        due = work.elapsed - float(before.get("elapsedSeconds") or 0) >= TIME_EVERY
        if status == before and not (due and observed.phase in _WORKING):
            return
        if work.elapsed >= 1.0:
            status["elapsedSeconds"] = int(work.elapsed)
        self._apply(work, status, unchanged=unchanged)
        if before.get("phase") != status["phase"]:
            kind = WARNING if observed.phase == Phase.BLOCKED else observed.reason.event
            self._events.emit(work.obj, type_=kind, reason=observed.reason, message=observed.message)

    def report_unreadable(self, obj: KubeObject, error: StatusUnreadable) -> None:
        """Says of a maintenance whose status cannot be read what may be done; all else of it stays."""
        region, meta, before = region_of(obj), obj["metadata"], obj.get("status") or {}
        node = (obj.get("spec") or {}).get("nodeName")
        text = (
            "another version of the controller wrote the status, and this one cannot read it "
            f"({error}): nothing is moved or reverted; install that version again, or a newer one. "
            f"Without it: end running moves, enable disabled services on {node}, uncordon it, and "
            f"remove {finalizer_of(obj)} from metadata.finalizers"
        )
        generation, reason = int(meta.get("generation") or 0), Reason.STATUS_UNREADABLE
        conditions = [
            Condition("Ready", "False", reason, text, generation),
            Condition("Reconciling", "False", reason, text, generation),
            Condition("Stalled", "True", reason, text, generation),
        ]
        known = before.get("conditions") or ()
        status = {**before, "conditions": entries(conditions, known, self._clock.now())}
        if status == before:
            return
        manager = region.manager(CONTAINER)
        apply_to_seen(self._kube, COMPUTE_MAINTENANCE, obj, manager=manager, status=status)
        if find(known, "Ready").get("reason") != reason:
            self._events.emit(obj, type_=WARNING, reason=reason, message=text)

    def note_confirmation(self, work: MaintenanceWork, confirmation: Confirmation, void: str) -> None:
        """Writes spec.fenced as it was taken up, or why it is void, beside all else as it stands.

        That it holds is written only where no other writer changed the object since the read, else Conflict:
        another process may have seen more. Raises KubeError.
        """
        noted = given_as(confirmation.machine, confirmation.given, confirmation.report)
        noted |= {"seen": confirmation.seen.written()} if confirmation.seen is not None else {}
        noted |= {"void": void} if void else {}
        self._apply(work, {**(work.obj.get("status") or {}), "fenced": noted}, unchanged=not void)
        if void:
            text = f"spec.fenced is no longer valid: {void}"
            self._events.emit(work.obj, type_=WARNING, reason=Reason.FENCING_AWAITED, message=text)

    def _apply(self, work: MaintenanceWork, status: Mapping[str, Any], *, unchanged: bool = False) -> None:
        manager = work.region.manager(CONTAINER)
        live = apply_to_seen(
            self._kube, COMPUTE_MAINTENANCE, work.obj, manager=manager, status=status, unchanged=unchanged
        )
        work.obj["status"] = live.get("status") or status


def plan_text(plan: Sequence[ServerMove], stops: Sequence[tuple[Reason, str]] = ()) -> str:
    """A plan in one sentence, with what the maintenance would have to wait for if it were made now."""
    counts = {way: sum(one.way == way for one in plan) for way in MoveKind}
    parts = [f"{number} {way}" for way, number in counts.items() if number]
    text = f"{count(len(plan), 'server')}: {', '.join(parts)}" if plan else "no server is on it"
    would = " and ".join(f"{reason} ({why})" for reason, why in stops)
    return f"{text}; nothing was done" + (f"; without dryRun it would now stop at {would}" if would else "")


def conditions_of(observed: ObservedStatus, generation: int) -> list[Condition]:
    """The conditions that say the same."""
    done = observed.phase in (Phase.COMPLETED, Phase.PLANNED)
    busy = observed.phase in (Phase.MOVING, Phase.ROLLING_BACK, Phase.WAITING, Phase.PENDING)
    message = observed.message
    return [
        Condition("Ready", "True" if done else "False", observed.reason, message, generation),
        Condition("Reconciling", "True" if busy else "False", observed.reason, message, generation),
        Condition(
            "Stalled",
            "True" if observed.phase == Phase.BLOCKED else "False",
            observed.reason,
            message,
            generation,
        ),
    ]
