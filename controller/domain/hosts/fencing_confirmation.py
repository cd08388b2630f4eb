"""A confirmation that a machine is off: its machine, and the signs that make it void.

Pure. It names the machine by the state of its Node: the Node, the boot, the last heartbeat of its kubelet.
Values are only compared for equality, never as times, because a clock may be wrong, and clocks of two
machines differ. That heartbeat is the lastHeartbeatTime of the condition Ready: the controller that sets a
silent node to Unknown does not change it (kubernetes: pkg/controller/nodelifecycle). It changes with every
report of a kubelet, so it reveals a machine that was on in between, however late it is observed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.shared.cloud_facts import ComputeService

# No part of the identification has a blank or a slash.
_PART = re.compile(r"^[^\s/]*$")
_UNFIT = re.compile(r"[\s/@+]")
_LIMIT = 2048
# For a compute service with a write by anyone, which may hide a report.
CHANGED = "the compute service has changed since then, and may have reported"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine in the state of its Node; all fields are empty without a Node.

    `ready`: the status of the condition Ready; `heartbeat`: its lastHeartbeatTime, compared as text.
    """

    uid: str = ""
    boot: str = ""
    ready: str = ""
    heartbeat: str = ""

    @property
    def words(self) -> str:
        """For a person."""
        if not self.uid:
            return "there was no Node with that name"
        last = self.heartbeat or "not known"
        return f"Node {self.uid}, boot {self.boot or 'not known'}, last heartbeat of its kubelet {last}"


@dataclass(frozen=True, slots=True)
class AcceptedState:
    """Further observations when a confirmation was accepted.

    `report`: of the compute service, from `report_of`; `peers`: marks of other Nodes of the machine.
    """

    report: str
    peers: frozenset[str] = frozenset()

    def written(self) -> str:
        return f"{self.report}+{','.join(sorted(self.peers))}"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A fencing confirmation: this machine is off.

    `given` distinguishes it from another one for the same machine. `seen` is None until it was accepted.
    `report`: of the compute service, from the Node at the time of the confirmation, or empty.
    """

    machine: Machine
    given: str = ""
    report: str = ""
    seen: AcceptedState | None = None

    def written(self) -> str:
        """The text on a Node: with the report, and once it was accepted, with the observations."""
        machine = self.machine
        parts = [machine.uid, machine.boot, machine.ready, machine.heartbeat]
        last = self.seen.written() if self.seen is not None else self.report
        return "/".join([*parts, *([last] if last else [])])


@dataclass(frozen=True, slots=True)
class Peer:
    """Another Node of the same machine. `confirmed`: it has its own valid confirmation."""

    name: str
    machine: Machine
    created: float
    confirmed: bool

    @property
    def mark(self) -> str:
        """Constant as long as no kubelet has reported as that Node."""
        named = f"{self.machine.uid} {self.machine.boot} {self.machine.heartbeat}"
        return hashlib.sha256(named.encode()).hexdigest()[:12]


def machine_of(node: Mapping[str, Any] | None) -> Machine:
    """The state of a Node, or its absence."""
    if node is None:
        return Machine()
    status = node.get("status") or {}
    ready = find(status.get("conditions") or (), "Ready")
    return Machine(
        uid=str(node["metadata"].get("uid") or ""),
        boot=str((status.get("nodeInfo") or {}).get("bootID") or ""),
        ready=str(ready.get("status") or ""),
        heartbeat=str(ready.get("lastHeartbeatTime") or ""),
    )


def parse_confirmation(text: str) -> Confirmation:
    """Parses the text on a Node: UID/BOOT/READY/HEARTBEAT, and the report, or the observations.

    Raises ValueError on anything else.
    """
    parts = text.strip().split("/")
    fit = len(text) <= _LIMIT and all(map(_PART.match, parts))
    if len(parts) not in (4, 5) or not fit or not parts[0] or parts[2] not in ("Unknown", "False", ""):
        raise ValueError("the confirmation does not identify a machine that is not ready")
    last = parts[4] if len(parts) == 5 else ""
    # A report has no plus, which begins the other Nodes of the machine.
    seen = _parse_seen(last) if "+" in last else None
    return Confirmation(Machine(*parts[:4]), report="" if seen is not None else last, seen=seen)


def _parse_seen(text: str) -> AcceptedState:
    report, _, marks = text.rpartition("+")
    return AcceptedState(report, frozenset(filter(None, marks.split(","))))


def read_given(fenced: Mapping[str, Any]) -> Confirmation:
    """`spec.fenced` of a maintenance; for its status, also the observations at its acceptance."""
    named = (str(fenced.get(key) or "") for key in ("nodeUID", "bootID", "ready", "lastHeartbeatTime"))
    seen = str(fenced.get("seen") or "")
    given, report = str(fenced.get("givenAt") or ""), str(fenced.get("lastReport") or "")
    return Confirmation(Machine(*named), given, report, _parse_seen(seen) if seen else None)


def given_as(machine: Machine, given: str = "", report: str = "") -> dict[str, str]:
    """A machine, and the last report of its compute, as `spec.fenced` names them."""
    named = {
        "nodeUID": machine.uid,
        "bootID": machine.boot,
        "ready": machine.ready,
        "lastHeartbeatTime": machine.heartbeat,
    }
    more = {"givenAt": given, "lastReport": report}
    return named | {name: text for name, text in more.items() if text}


def same_confirmation(one: Confirmation, other: Confirmation) -> bool:
    """Whether both are the same confirmation, accepted or not."""
    return replace(one, seen=None) == replace(other, seen=None)


def shown_since(confirmed: Machine, node: Machine | None) -> str:
    """How the Node shows that the machine was on since then; empty if it does not, or is gone."""
    if confirmed.ready == "True":
        return "the node was Ready when the confirmation was given"
    if node is None:
        return ""
    if node.uid != confirmed.uid:
        kind = "another" if confirmed.uid else "a"
        return f"{kind} Node has had that name since then"
    if node.boot != confirmed.boot:
        return "the machine has restarted since then"
    if node.ready == "True":
        return "the node was Ready since then"
    spoke = node.ready == "False" and confirmed.ready != "False"
    return "the kubelet has reported since then" if spoke or node.heartbeat != confirmed.heartbeat else ""


def report_of(service: ComputeService | None) -> str:
    """The compute service, the time of Nova's last update, and other fields that may change."""
    if service is None:
        return ""
    stands = f"{service.enabled} {service.forced_down} {service.reason}"
    digest = hashlib.sha256(stands.encode()).hexdigest()[:8]
    return "@".join((*(_UNFIT.sub("_", one) for one in (service.id, service.updated)), digest))


def changed_since(report: str, service: ComputeService | None) -> str:
    """How Nova shows that the compute service may have run since then; empty if it has no update.

    Nova records each report and each change, also ours, but only the latest: a report before a change does
    not show. `renewed` handles our own changes while a confirmation is valid.
    """
    if service is None or report == report_of(service):
        return ""
    if report.partition("@")[0] != report_of(service).partition("@")[0]:
        return "another compute service of it has registered since then"
    if has_reported(report, service):
        return "the compute service has reported since then"
    return CHANGED


def has_reported(report: str, service: ComputeService) -> bool:
    """Whether Nova certainly recorded a report since then, because everything else is unchanged."""
    before, now = report.split("@"), report_of(service).split("@")
    return before != now and (before[0], before[-1]) == (now[0], now[-1])


def seen_now(service: ComputeService | None, peers: Iterable[Peer]) -> AcceptedState:
    """The record of an accepted confirmation."""
    return AcceptedState(report_of(service), frozenset(one.mark for one in peers))


def against_taking_up(
    created: float, report: str, service: ComputeService | None, peers: Collection[Peer]
) -> str:
    """Why a confirmation is void when it is first observed, or empty.

    `created`: of the named Node, 0.0 for none, by the API server's clock. `report`: the state of its compute
    service at the confirmation. Without one, a report between then and now could not be distinguished from an
    earlier one.
    """
    for one in peers:
        newer = one.created >= created and not one.confirmed
        if newer or one.machine.ready == "True":
            return f"the machine has become the node {one.name} since then: fence that one"
    if service is not None and not report:
        return "the compute service was not known when the confirmation was given"
    return changed_since(report, service)


def ran_since(seen: AcceptedState, service: ComputeService | None, peers: Iterable[Peer]) -> str:
    """The sign, other than its own Node, that the machine was on since the acceptance; or empty."""
    for one in peers:
        if one.mark not in seen.peers and not one.confirmed:
            return f"the machine has run as the node {one.name} since then: fence that one"
    return changed_since(seen.report, service)


def read_back(
    before: ComputeService, asked: ComputeService, after: ComputeService | None
) -> ComputeService | None:
    """The compute service after our change; None if a change or report of others shows.

    `before` and `after` were read right before and after it; `asked` is the requested state.
    """
    if after is None or (after.up and not before.up):
        return None
    return after if replace(asked, up=after.up, zone=after.zone, updated=after.updated) == after else None


def renewed(confirmation: Confirmation, before: ComputeService, after: ComputeService) -> Confirmation:
    """With the compute service after our change; unchanged if it was void."""
    seen = confirmation.seen
    if seen is None or seen.report != report_of(before):
        return confirmation
    return replace(confirmation, seen=replace(seen, report=report_of(after)))
