"""Nodes of the region: their roles and states. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find, timestamp
from controller.domain.api.names import (
    ABSENCE_ANNOTATION,
    AGGREGATE_LABEL,
    CORDONED_BY_ANNOTATION,
    FENCED_ANNOTATION,
    LOSSES_ANNOTATION,
    NO_EVACUATION_ANNOTATION,
    REPORT_ANNOTATION,
    ZONE_LABEL,
)
from controller.domain.api.region_name import node_notes
from controller.domain.api.shortened_text import shorten
from controller.domain.hosts.fencing_confirmation import (
    Confirmation,
    Machine,
    Peer,
    machine_of,
    parse_confirmation,
    ran_since,
    shown_since,
)
from controller.domain.hosts.host_facts import ComputeNode
from controller.domain.hosts.host_names import NodeNames, names_of
from controller.domain.hosts.node_roles import COMPUTE_ROLE, roles_of
from controller.domain.hosts.not_ready_since import began, noted_absence, words_of
from controller.domain.shared.cloud_facts import ComputeService
from controller.domain.shared.times import is_ahead, seconds_of

MESSAGE_LIMIT = 1000
LOSSES_KEPT = 6


class NodeState(StrEnum):
    """The one word for a node in `status.nodes`."""

    READY = "Ready"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    REMOVED = "Removed"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node with a role.

    `since` (seconds since the epoch) is when it became ready, or not ready. That is not the last change of
    its condition: an absence changes from False to Unknown and is still the same. `absence`: its record, from
    `noted_absence`. `boot`: the id of the machine's present boot. `condition`: its Ready condition in two
    words. `aggregates`: names of host aggregates in its labels, with the availability zone of each, or empty.
    `declined`: the absence whose evacuation was reverted. `fenced`: the text of its confirmation that the
    machine is off. `report`: the last observation of its compute service while it is not ready
    (controller/domain/hosts/fencing_confirmation.py).
    """

    name: str
    roles: tuple[str, ...]
    state: NodeState
    since: float
    message: str = ""
    uid: str = ""
    names: NodeNames = field(default_factory=lambda: NodeNames(""))
    created: float = 0.0
    cordoned: bool = False
    cordoned_by: str = ""
    boot: str = ""
    condition: str = ""
    absence: str = ""
    fenced: str = ""
    report: str = ""
    machine: Machine = field(default_factory=Machine)
    losses: tuple[float, ...] = ()
    declined: float = 0.0
    aggregates: tuple[tuple[str, str], ...] = ()

    @property
    def is_compute(self) -> bool:
        return COMPUTE_ROLE in self.roles

    @property
    def is_ready(self) -> bool:
        return self.state != NodeState.NOT_READY

    @property
    def confirmation(self) -> Confirmation | None:
        """The confirmation that its machine is off, or None."""
        try:
            return parse_confirmation(self.fenced) if self.fenced else None
        except ValueError:
            return None

    @property
    def void(self) -> str:
        """Why its confirmation is void, according to the Node itself; or empty."""
        return shown_since(found.machine, self.machine) if (found := self.confirmation) is not None else ""

    @property
    def is_fenced(self) -> bool:
        """Whether an accepted, valid confirmation says that its machine is off."""
        found = self.confirmation
        return found is not None and found.seen is not None and not self.is_ready and not self.void

    def runs(self, service: ComputeService | None, peers: Iterable[NodeFacts] = ()) -> str:
        """Another sign that its machine was on since the fencing, or empty."""
        found = self.confirmation
        if found is None or found.seen is None:
            return ""
        return ran_since(found.seen, service, [one.as_peer() for one in peers])

    def as_peer(self) -> Peer:
        """As another Node of the same machine."""
        return Peer(self.name, self.machine, self.created, self.is_fenced)

    def as_compute(self, service: ComputeService | None = None) -> ComputeNode:
        """The facts for decisions on its compute host; `service` is the present one, if known."""
        return ComputeNode(
            name=self.name,
            uid=self.uid,
            ready=self.is_ready,
            since=self.since,
            created=self.created,
            cordoned=self.cordoned,
            fenced=self.is_fenced and not self.runs(service),
            losses=self.losses,
        )


def parse_node(obj: Mapping[str, Any], namespace: str) -> NodeFacts | None:
    """Like `machine_facts`; None for a node without a role of the region."""
    node = machine_facts(obj, namespace)
    return node if node.roles else None


def machine_facts(obj: Mapping[str, Any], namespace: str) -> NodeFacts:
    """The facts of any node, also without a role of the region, with the notes of this namespace's
    installation.
    """
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    roles = roles_of(labels)
    ready = find((obj.get("status") or {}).get("conditions") or [], "Ready")
    cordoned = bool((obj.get("spec") or {}).get("unschedulable"))
    deleting = bool(meta.get("deletionTimestamp"))
    if ready.get("status") == "True":
        state = NodeState.CORDONED if cordoned else NodeState.READY
        message = "takes no new pods (kubectl cordon)" if cordoned else ""
    else:
        state = NodeState.NOT_READY
        message = _why(ready) + ("; the node is also cordoned" if cordoned else "")
    if deleting:
        message = "; ".join(part for part in (message, "the node is being removed") if part)
    notes = node_notes(namespace, obj)
    boot = str(((obj.get("status") or {}).get("nodeInfo") or {}).get("bootID") or "")
    desired = ((labels.get(AGGREGATE_LABEL), ""), (labels.get(ZONE_LABEL), labels.get(ZONE_LABEL)))
    return NodeFacts(
        name=str(meta["name"]),
        roles=roles,
        state=state,
        since=began(ready, boot, str(notes.get(ABSENCE_ANNOTATION) or "")),
        message=shorten(message, MESSAGE_LIMIT),
        uid=str(meta.get("uid") or ""),
        names=names_of(obj, namespace),
        created=seconds_of(meta.get("creationTimestamp")),
        cordoned=cordoned,
        cordoned_by=str(notes.get(CORDONED_BY_ANNOTATION) or ""),
        boot=boot,
        condition=words_of(ready),
        absence=str(notes.get(ABSENCE_ANNOTATION) or ""),
        fenced=str(notes.get(FENCED_ANNOTATION) or ""),
        report=str(notes.get(REPORT_ANNOTATION) or ""),
        machine=machine_of(obj),
        losses=_times(notes.get(LOSSES_ANNOTATION)),
        declined=seconds_of(notes.get(NO_EVACUATION_ANNOTATION)),
        aggregates=tuple((str(name), str(zone or "")) for name, zone in desired if name),
    )


def due_notes(node: NodeFacts, now: float, *, planned: bool) -> dict[str, str | None]:
    """The changes of a node's annotations; None removes one.

    They record facts that no condition has: the begin of an absence, and the number of absences. A
    confirmation that the machine is off is removed once the Node shows that it was on since then. `planned`:
    it is in maintenance.
    """
    notes: dict[str, str | None] = {}
    if node.is_ready:
        given = (
            (ABSENCE_ANNOTATION, node.absence),
            (FENCED_ANNOTATION, node.fenced),
            (REPORT_ANNOTATION, node.report),
            (NO_EVACUATION_ANNOTATION, node.declined),
        )
        notes |= {name: None for name, value in given if value}
    else:
        # A time from a clock that was ahead holds nothing up: the absence counts from now on.
        since = 0.0 if is_ahead(node.since, now) else node.since
        absence = noted_absence(since or now, node.condition, node.boot)
        notes |= {ABSENCE_ANNOTATION: absence} if absence != node.absence else {}
        notes |= {FENCED_ANNOTATION: None} if node.void else {}
        if node.is_compute and not planned and since and since not in node.losses:
            losses = [*node.losses, since][-LOSSES_KEPT:]
            notes[LOSSES_ANNOTATION] = " ".join(map(timestamp, losses))
    if node.cordoned_by and not node.cordoned:
        # An operator uncordoned it, so the controller no longer does.
        notes[CORDONED_BY_ANNOTATION] = None
    return notes


def _times(text: object) -> tuple[float, ...]:
    """Times separated by blanks, without invalid ones."""
    parts = str(text or "").split()
    return tuple(at for at in map(seconds_of, parts) if at)


def _why(ready: Mapping[str, Any]) -> str:
    words = ": ".join(str(ready[key]) for key in ("reason", "message") if ready.get(key))
    return words or "the kubelet has not reported yet"
