"""One OpenStackServer in one pass: what it asks for, what is known of it, and how that is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.conditions import Condition, entries, find
from controller.domain.api.names import SUSPEND_ANNOTATION, field_manager
from controller.domain.api.reasons import Reason, known_reason
from controller.domain.api.shortened_text import shorten
from controller.domain.servers.plan import ServerPlan
from controller.domain.servers.server_conditions import Aspect, Finding, ServerFindings
from controller.domain.servers.server_spec import ServerSpec, parse_server_spec, spec_digest
from controller.domain.servers.server_status import ServerRecord, read_record
from controller.errors import ControllerError
from controller.ports.kubernetes import SERVER, Events, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.shared.preconditioned_writes import apply_to_seen

CONTAINER = "servers"
MANAGER = field_manager(CONTAINER)


class ServerUnreadable(ControllerError):
    """Another version of the controller must have written what a server says."""


@dataclass(frozen=True)
class ServerWork:
    """The object as it stands in the cluster."""

    obj: KubeObject
    plan: ServerPlan
    record: ServerRecord

    @property
    def spec(self) -> ServerSpec:
        return self.plan.spec

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"]["namespace"])

    @property
    def uid(self) -> str:
        return self.plan.uid

    @property
    def place(self) -> str:
        """As logs name it."""
        return f"{self.namespace}/{self.plan.name}"

    @property
    def digest(self) -> str:
        return spec_digest(self.obj)

    @property
    def deleting(self) -> bool:
        return bool(self.obj["metadata"].get("deletionTimestamp"))

    @property
    def suspended(self) -> bool:
        return (self.obj["metadata"].get("annotations") or {}).get(SUSPEND_ANNOTATION) == "true"


def read_server(obj: KubeObject) -> ServerWork:
    """Raises ServerUnreadable."""
    meta = obj["metadata"]
    try:
        spec, record = parse_server_spec(obj), read_record(obj.get("status") or {})
    except ValueError as error:
        raise ServerUnreadable(shorten(str(error), 300)) from None
    return ServerWork(obj, ServerPlan(str(meta["name"]), str(meta["uid"]), spec), record)


@dataclass
class ServerPass:
    """What one pass knows so far. It is filled step by step, and written also where a step fails.

    `aspect`: the present subject of the work, which an error belongs to.
    """

    work: ServerWork
    now: float
    record: ServerRecord
    aspect: Aspect = Aspect.AUTHENTICATION
    aspects: dict[Aspect, Finding] = field(default_factory=dict)
    overall: Finding | None = None

    def told(self, aspect: Aspect) -> str:
        """The reason that the object has of this aspect so far."""
        known = (self.work.obj.get("status") or {}).get("conditions") or ()
        return str(find(known, aspect).get("reason") or "")

    def found(self, aspect: Aspect, finding: Finding) -> None:
        self.aspects[aspect] = finding

    def true(self, aspect: Aspect, reason: Reason, message: str) -> None:
        self.aspects[aspect] = Finding("True", reason, message)

    def false(self, aspect: Aspect, reason: Reason, message: str) -> None:
        self.aspects[aspect] = Finding("False", reason, message)


class ServerStatusWriter:
    """Writes what passes find, and an event where Ready changes its reason. Raises KubeError."""

    def __init__(self, kube: Kube, clock: Clock, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events

    def write(self, one: ServerPass) -> None:
        """Nothing where the status says the same already."""
        work = one.work
        obj = work.obj
        before: Mapping[str, Any] = obj.get("status") or {}
        known = before.get("conditions") or ()
        generation = int(obj["metadata"].get("generation") or 0)
        findings = ServerFindings(
            one.aspects,
            {entry["type"]: _read(entry) for entry in known},
            one.overall,
            deleting=work.deleting,
            paused=work.suspended,
        )
        conditions = findings.conditions(generation)
        status = {
            "observedGeneration": generation,
            **one.record.written(),
            "conditions": entries(conditions, known, self._clock.now()),
        }
        if status == before:
            return
        apply_to_seen(self._kube, SERVER, obj, manager=MANAGER, status=status)
        obj["status"] = status
        ready = findings.ready
        if find(known, "Ready").get("reason") != ready.reason:
            self._events.emit(obj, type_=ready.reason.event, reason=ready.reason, message=ready.message)

    def tell(self, one: ServerPass, reason: Reason, message: str) -> None:
        """An event about what no condition says."""
        self._events.emit(one.work.obj, type_=reason.event, reason=reason, message=message)


def _read(entry: Mapping[str, Any]) -> Condition:
    return Condition(
        type=str(entry["type"]),
        status=entry["status"],
        reason=known_reason(str(entry.get("reason")), Reason.INITIALIZING),
        message=str(entry.get("message") or ""),
        generation=int(entry.get("observedGeneration") or 0),
    )
