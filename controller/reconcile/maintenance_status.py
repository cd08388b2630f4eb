"""The status of one NodeMaintenance: what a look knows of it, and how that is written."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.conditions import Condition, entries, timestamp
from controller.domain.maintenance_plan import Way
from controller.domain.names import API_VERSION, field_manager
from controller.domain.node_maintenance import Entry, MaintenanceSpec, Phase, progress
from controller.domain.reasons import Reason
from controller.ports import NODE_MAINTENANCE, Clock, Events, Kube, KubeObject

log = logging.getLogger(__name__)

MANAGER = field_manager("node")


@dataclass(frozen=True)
class Work:
    """One maintenance in one look. `entries` by server id, as they were written last."""

    obj: KubeObject
    spec: MaintenanceSpec
    entries: Mapping[str, Entry]
    created: float
    started: float

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def going(self) -> bool:
        return bool(self.obj["metadata"].get("deletionTimestamp"))

    @property
    def moving(self) -> int:
        return sum(one.under_way for one in self.entries.values())


@dataclass(frozen=True)
class Standing:
    """What is to be written of a maintenance."""

    phase: Phase
    reason: Reason
    message: str
    entries: Mapping[str, Entry]
    network: Sequence[Mapping[str, Any]] = ()
    started: float = 0.0
    volumes: int = 0


class StatusWriter:
    """Writes what is found of maintenances, and an event where the phase changes. Raises KubeError."""

    def __init__(self, kube: Kube, clock: Clock, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events

    def write(self, work: Work, standing: Standing) -> None:
        before = work.obj.get("status") or {}
        generation = int(work.obj["metadata"].get("generation") or 0)
        listed = sorted(standing.entries.values(), key=lambda one: (one.name, one.id))
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "phase": str(standing.phase),
            "progress": progress(listed),
            "conditions": entries(
                conditions_of(standing, generation), before.get("conditions") or (), self._clock.now()
            ),
        }
        if standing.started:
            status["startedAt"] = timestamp(standing.started)
        if listed:
            status["servers"] = [one.written() for one in listed]
        if standing.network:
            status["network"] = [dict(one) for one in standing.network]
        if standing.volumes:
            status["volumes"] = standing.volumes
        if status == before:
            return
        body = {
            "apiVersion": API_VERSION,
            "kind": NODE_MAINTENANCE.kind,
            "metadata": {"name": work.name, "uid": work.obj["metadata"]["uid"]},
            "status": status,
        }
        live = self._kube.apply(body, manager=MANAGER, subresource="status")
        work.obj["status"] = live.get("status") or status
        if before.get("phase") != status["phase"]:
            kind = "Warning" if standing.phase == Phase.BLOCKED else "Normal"
            self._events.emit(work.obj, type_=kind, reason=standing.reason, message=standing.message)
            log.info("maintenance %s: %s (%s)", work.name, standing.phase, standing.message)


def plan_text(plan: Sequence[Entry]) -> str:
    """A plan in one sentence."""
    counts = {way: sum(one.way == way for one in plan) for way in Way}
    parts = [f"{count} {way}" for way, count in counts.items() if count]
    return f"{len(plan)} servers: {', '.join(parts)}; nothing was done" if plan else "no server is on it"


def conditions_of(standing: Standing, generation: int) -> list[Condition]:
    """The conditions that say the same."""
    done = standing.phase in (Phase.COMPLETED, Phase.PLANNED)
    busy = standing.phase in (Phase.MOVING, Phase.ROLLING_BACK, Phase.WAITING, Phase.PENDING)
    told = standing.message
    return [
        Condition("Ready", "True" if done else "False", standing.reason, told, generation),
        Condition("Reconciling", "True" if busy else "False", standing.reason, told, generation),
        Condition(
            "Stalled",
            "True" if standing.phase == Phase.BLOCKED else "False",
            standing.reason,
            told,
            generation,
        ),
    ]
