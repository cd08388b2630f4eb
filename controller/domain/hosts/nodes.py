"""Nodes of the region: which roles they have and how they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import Condition, find, shorten, timestamp
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
from controller.domain.api.reasons import Reason
from controller.domain.api.region_name import node_notes
from controller.domain.hosts.fencing_confirmation import (
    Confirmation,
    Machine,
    Peer,
    machine_of,
    parse_confirmation,
    ran_since,
    shown_since,
)
from controller.domain.hosts.host_names import NodeNames, names_of
from controller.domain.hosts.next_step import ComputeNode
from controller.domain.hosts.not_ready_since import began, noted_absence, words_of
from controller.domain.shared.cloud_facts import ComputeService
from controller.domain.shared.times import seconds_of

CONDITION = "NodesReady"
# The labels by which OpenStack-Helm's charts choose nodes, each with this value.
ROLES = (
    "openstack-control-plane",
    "openstack-compute-node",
    "openvswitch",
    "l3-agent",
    "openstack-network-node",
)
ROLE_VALUE = "enabled"
COMPUTE_ROLE = "openstack-compute-node"
MESSAGE_LIMIT = 1000
LOSSES_KEPT = 6
SHOWN = 5


class NodeState(StrEnum):
    """The one word for a node in `status.nodes`."""

    READY = "Ready"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    REMOVED = "Removed"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node with a role. `since` (seconds since the epoch) is when it came to be ready, or not ready.

    That is not when its condition last changed: an absence goes from False to Unknown and is still the
    same one. `absence`: what is noted of it, as `noted_absence` gives it; `boot`: the id of the machine's
    present boot; `condition`: its Ready condition in two words.
    `aggregates`: names of host aggregates that its labels ask for, with the availability zone
    that each is, empty for none. `declined`: the absence whose evacuation was taken back. `fenced`: what
    stands on it as a confirmation that its machine is off; `report`: what was last
    seen of its compute service while it is not ready (controller/domain/hosts/fencing_confirmation.py).
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
        """That its machine is off; None where there is none, or it cannot be read."""
        try:
            return parse_confirmation(self.fenced) if self.fenced else None
        except ValueError:
            return None

    @property
    def void(self) -> str:
        """Why its confirmation is void, as far as the Node itself shows; empty where it is not."""
        return shown_since(found.machine, self.machine) if (found := self.confirmation) is not None else ""

    @property
    def is_fenced(self) -> bool:
        """Whether a confirmation that its machine is off was taken up, and the Node shows nothing else."""
        found = self.confirmation
        return found is not None and found.seen is not None and not self.is_ready and not self.void

    def runs(self, service: ComputeService | None, peers: Iterable[NodeFacts] = ()) -> str:
        """What else shows that its machine was on since it was fenced; empty for nothing."""
        found = self.confirmation
        if found is None or found.seen is None:
            return ""
        return ran_since(found.seen, service, [one.as_peer() for one in peers])

    def as_peer(self) -> Peer:
        """As another Node of the same machine."""
        return Peer(self.name, self.machine, self.created, self.is_fenced)

    def as_compute(self, service: ComputeService | None = None) -> ComputeNode:
        """What decisions on its compute host need; `service` as it is now, if that is known."""
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


@dataclass(frozen=True, slots=True)
class HostReport:
    """What the last pass over the compute hosts reports of one node, for `status.nodes`.

    `uid`: of the Node whose compute service is known. `host`: as OpenStack calls it. `servers` is None
    where it is not known. `forget`: nothing of a node that is gone is left in OpenStack. `stale`: it was so
    when OpenStack was last observed. `drain_failing`: why a drain that should be blocked is not;
    `misplaced`: why the host is not in the aggregates that it should be in; `refused`: what Kubernetes
    refuses to delete that the node has left behind.
    """

    reason: str = ""
    message: str = ""
    uid: str = ""
    host: str = ""
    compute: str = ""
    servers: int | None = None
    maintenance: str = ""
    drain_locked: str = ""
    drain_failing: str = ""
    misplaced: str = ""
    refused: str = ""
    forget: bool = False
    stale: bool = False


def parse_node(obj: Mapping[str, Any], namespace: str) -> NodeFacts | None:
    """As `machine_facts`; None for a node without a role of ours."""
    node = machine_facts(obj, namespace)
    return node if node.roles else None


def machine_facts(obj: Mapping[str, Any], namespace: str) -> NodeFacts:
    """The facts of any node, also of one that has no role of ours, or has lost it.

    With what is noted on it by the installation that serves this namespace.
    """
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    roles = tuple(role for role in ROLES if labels.get(role) == ROLE_VALUE)
    ready = find((obj.get("status") or {}).get("conditions") or [], "Ready")
    cordoned = bool((obj.get("spec") or {}).get("unschedulable"))
    deleting = bool(meta.get("deletionTimestamp"))
    if ready.get("status") == "True":
        state = NodeState.CORDONED if cordoned else NodeState.READY
        message = "takes no new pods (kubectl cordon)" if cordoned else ""
    else:
        state = NodeState.NOT_READY
        message = _why(ready) + ("; it is cordoned, too" if cordoned else "")
    if deleting:
        message = "; ".join(part for part in (message, "it is being removed") if part)
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
    """What is to be changed in the annotations of a node, None for what is to be removed.

    They remember what no condition tells: when an absence began, and how often there was one. A confirmation
    that the machine is off goes once the Node shows that it was on since. `planned`: it is in maintenance.
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
        absence = noted_absence(node.since or now, node.condition, node.boot)
        notes |= {ABSENCE_ANNOTATION: absence} if absence != node.absence else {}
        notes |= {FENCED_ANNOTATION: None} if node.void else {}
        if node.is_compute and not planned and node.since and node.since not in node.losses:
            losses = [*node.losses, node.since][-LOSSES_KEPT:]
            notes[LOSSES_ANNOTATION] = " ".join(map(timestamp, losses))
    if node.cordoned_by and not node.cordoned:
        # Somebody uncordoned it by hand: it is not ours to uncordon any more.
        notes[CORDONED_BY_ANNOTATION] = None
    return notes


def _times(text: object) -> tuple[float, ...]:
    """Times separated by blanks; what cannot be read is left out."""
    parts = str(text or "").split()
    return tuple(at for at in map(seconds_of, parts) if at)


def _why(ready: Mapping[str, Any]) -> str:
    words = ": ".join(str(ready[key]) for key in ("reason", "message") if ready.get(key))
    return words or "its kubelet has not reported yet"


def node_entries(
    nodes: Iterable[NodeFacts],
    before: Mapping[str, Any],
    now: float,
    reports: Mapping[str, HostReport] | None = None,
    *,
    unknown: str = "",
    as_of: float = 0.0,
) -> dict[str, Any]:
    """`status.nodes`. `before` is what it says now: `since` moves only when a state changes.

    `unknown`: why OpenStack cannot be observed, empty while it can. Then what it reported of compute hosts is
    kept, marked with `as_of` (seconds since the epoch; 0.0: of before this process began).

    What no report mentions stays as it was reported before: after a restart nothing is known of a host until
    OpenStack has been observed. The entry of a compute node that is gone stays until its report says
    that nothing of it is left.
    """
    by_node = reports or {}
    result = {}
    for node in sorted(nodes, key=lambda one: one.name):
        began = node.since if node.state == NodeState.NOT_READY and node.since else now
        entry = {"roles": list(node.roles), "state": str(node.state), "message": node.message}
        old = before.get(node.name) or {}
        report = by_node.get(node.name)
        if unknown:
            report = _reported_before(report, old, unknown, is_compute=node.is_compute)
        result[node.name] = _entry(entry, old, report, began, now) | _age(report, old, as_of or now)
    for name in sorted(before.keys() - result.keys()):
        report, old = by_node.get(name), before[name] or {}
        if old.get("uid") and not (report is not None and report.forget):
            gone = {"roles": old.get("roles") or [], "state": str(NodeState.REMOVED), "message": ""}
            if unknown:
                report = _reported_before(report, old, unknown, is_compute=False)
            result[name] = _entry(gone, old, report, now, now) | _age(report, old, as_of or now)
    return result


def _reported_before(
    report: HostReport | None, old: Mapping[str, Any], why: str, *, is_compute: bool
) -> HostReport | None:
    """What was said of a host before OpenStack fell silent, with `why` in the place of what followed."""
    if report is None:
        report = HostReport(
            compute=str(old.get("compute") or ""),
            servers=old.get("servers"),
            maintenance=str(old.get("maintenance") or ""),
            drain_locked=str(old.get("drainLocked") or ""),
        )
    if not is_compute and not report.compute:
        return report
    return replace(report, reason=str(Reason.CLOUD_UNKNOWN), message=why, stale=True)


def _age(report: HostReport | None, old: Mapping[str, Any], as_of: float) -> dict[str, Any]:
    """Of when what is said of a host is, while it is not of now."""
    if report is None or not report.stale or not report.compute:
        return {}
    # What was told to be old once does not grow younger by a restart.
    return {"asOf": old.get("asOf") or timestamp(as_of)}


_REPORTED = ("reason", "uid", "host", "compute", "servers", "maintenance", "drainLocked")


def _entry(
    entry: Mapping[str, Any], old: Mapping[str, Any], report: HostReport | None, began: float, now: float
) -> dict[str, Any]:
    since = old.get("since") if old.get("state") == entry["state"] else None
    whole = {**entry, "since": since or timestamp(min(began, now))}
    if report is None:
        whole.update({key: old[key] for key in _REPORTED if key in old})
    else:
        texts = (entry["message"], report.message, report.drain_failing, report.misplaced, report.refused)
        whole["message"] = shorten("; ".join(text for text in texts if text), MESSAGE_LIMIT)
        whole.update(
            reason=report.reason,
            uid=report.uid or old.get("uid") or "",
            host=report.host or old.get("host") or "",
            compute=report.compute,
            servers=report.servers,
            maintenance=report.maintenance,
            drainLocked=report.drain_locked,
        )
    return {name: value for name, value in whole.items() if value not in ("", None)}


# What a host has that serves, or may serve again, only when a person looks at it.
_FAILING = frozenset(
    (
        *(Reason.COMPUTE_MISSING, Reason.COMPUTE_DOWN, Reason.AGENTS_DOWN, Reason.SERVERS_LEFT),
        *(Reason.CELL_NOT_MAPPED, Reason.HOST_AMBIGUOUS),
    )
)


def nodes_condition(
    nodes: Iterable[NodeFacts],
    generation: int,
    *,
    breaker_open: str = "",
    unknown: str = "",
    reports: Mapping[str, HostReport] | None = None,
    strangers: Sequence[str] = (),
) -> Condition:
    """`NodesReady`: False while a node with a role is not ready or its host fails, or there is none at all.

    `breaker_open` says why automatic action is stopped, `unknown` why OpenStack cannot be observed; both are
    empty while that is not so. The latter is only reported: a region that is being installed has none yet.

    `strangers`: compute hosts of no node, which may be somebody's who does without Kubernetes.

    A cordon is a person's decision, and what runs on the node continues: it is mentioned, and no fault.
    """
    known = sorted(nodes, key=lambda one: one.name)
    lost = [node for node in known if node.state == NodeState.NOT_READY]
    cordoned = [node for node in known if node.state == NodeState.CORDONED]
    if not known:
        text = f"no node carries a role; label nodes, as in kubectl label node NAME {ROLES[0]}={ROLE_VALUE}"
        return Condition(CONDITION, "False", Reason.NODES_MISSING, text, generation)
    if breaker_open:
        return Condition(
            CONDITION, "False", Reason.TOO_MANY_UNHEALTHY, shorten(breaker_open, 4000), generation
        )
    if lost:
        shown = "; ".join(f"{node.name}: {node.message}" for node in lost[:SHOWN])
        more = f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
        text = f"{len(lost)} of {len(known)} nodes are not ready: {shown}{more}"
        return Condition(CONDITION, "False", Reason.NODES_NOT_READY, shorten(text, 4000), generation)
    failing = sorted((name, one.message) for name, one in (reports or {}).items() if one.reason in _FAILING)
    if failing:
        shown = "; ".join(f"{name}: {message}" for name, message in failing[:SHOWN])
        more = f"; and {len(failing) - SHOWN} more" if len(failing) > SHOWN else ""
        text = f"{len(failing)} hosts fail: {shown}{more}"
        text += f"; as of before OpenStack stopped answering: {unknown}" if unknown else ""
        return Condition(CONDITION, "False", Reason.HOSTS_FAILING, shorten(text, 4000), generation)
    text = f"{len(known)} nodes are ready"
    if cordoned:
        names = ", ".join(node.name for node in cordoned[:SHOWN])
        more = f" and {len(cordoned) - SHOWN} more" if len(cordoned) > SHOWN else ""
        text += f", of which {len(cordoned)} cordoned: {names}{more}"
    if strangers:
        names = ", ".join(strangers[:SHOWN])
        more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
        text += f"; OpenStack has compute hosts of no node: {names}{more}"
    if unknown and any(node.is_compute for node in known):
        text += f"; their compute hosts are not changed: {unknown}"
    return Condition(CONDITION, "True", Reason.NODES_READY, text, generation)
