"""A confirmation that a machine is off: what it was given for, and what makes it void. Pure.

It names the machine as its Node showed it: the Node, the boot, the last heartbeat of its kubelet. All that
is ever compared is whether something is still the same, never one time with another: a clock may be wrong,
and those of two machines never agree. That heartbeat is the lastHeartbeatTime of the condition Ready: the
controller that sets a silent node to Unknown does not change it (kubernetes: pkg/controller/nodelifecycle).
It changes with every report of a kubelet, so that a machine which was on in between shows it, however late
it is observed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.shared.cloud_facts import ComputeService

# No part of what is named has a blank or a slash.
_PART = re.compile(r"^[^\s/]*$")
_UNFIT = re.compile(r"[\s/@+]")
_LIMIT = 2048
# Of a compute service that was written, by whomever: a report may be hidden behind it.
CHANGED = "its compute service was changed since then, and may have reported meanwhile"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as its Node shows it; all empty where there is no Node of that name.

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
            return "there was no Node of that name"
        last = self.heartbeat or "not known"
        return f"Node {self.uid}, boot {self.boot or 'not known'}, last heartbeat of its kubelet {last}"


@dataclass(frozen=True, slots=True)
class AcceptedState:
    """What else was observed when a confirmation was accepted.

    `report`: of the compute service, as `report_of` gives it; `peers`: marks of other Nodes of the machine.
    """

    report: str
    peers: frozenset[str] = frozenset()

    def written(self) -> str:
        return f"{self.report}+{','.join(sorted(self.peers))}"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A fencing confirmation: that this machine is off.

    `given` distinguishes it from another that names the same machine. `seen` is None until it was accepted.
    `report`: of the compute service, as it stood on the Node when the confirmation was given; empty for none.
    """

    machine: Machine
    given: str = ""
    report: str = ""
    seen: AcceptedState | None = None

    def written(self) -> str:
        """As it stands on a Node: with the report, and once it was taken up, with what was seen then."""
        machine = self.machine
        parts = [machine.uid, machine.boot, machine.ready, machine.heartbeat]
        last = self.seen.written() if self.seen is not None else self.report
        return "/".join([*parts, *([last] if last else [])])


@dataclass(frozen=True, slots=True)
class Peer:
    """Another Node of the same machine. `confirmed`: it has a confirmation of its own that holds."""

    name: str
    machine: Machine
    created: float
    confirmed: bool

    @property
    def mark(self) -> str:
        """The same as long as no kubelet has spoken as that Node."""
        named = f"{self.machine.uid} {self.machine.boot} {self.machine.heartbeat}"
        return hashlib.sha256(named.encode()).hexdigest()[:12]


def machine_of(node: Mapping[str, Any] | None) -> Machine:
    """What a Node shows; that there is none."""
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
    """What stands on a Node: UID/BOOT/READY/HEARTBEAT, and the report, or what was seen since.

    Raises ValueError on all else.
    """
    parts = text.strip().split("/")
    fit = len(text) <= _LIMIT and all(map(_PART.match, parts))
    if len(parts) not in (4, 5) or not fit or not parts[0] or parts[2] not in ("Unknown", "False", ""):
        raise ValueError("it names no machine that is not ready")
    last = parts[4] if len(parts) == 5 else ""
    # A report has no plus: that begins the other Nodes of the machine that were seen.
    seen = _parse_seen(last) if "+" in last else None
    return Confirmation(Machine(*parts[:4]), report="" if seen is not None else last, seen=seen)


def _parse_seen(text: str) -> AcceptedState:
    report, _, marks = text.rpartition("+")
    return AcceptedState(report, frozenset(filter(None, marks.split(","))))


def read_given(fenced: Mapping[str, Any]) -> Confirmation:
    """`spec.fenced` of a maintenance; of its status, besides, what was seen when that was taken up."""
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
    """Whether both are one and the same confirmation, taken up or not."""
    return replace(one, seen=None) == replace(other, seen=None)


def shown_since(confirmed: Machine, node: Machine | None) -> str:
    """How the Node shows that the machine was on since; empty where it does not, or is gone."""
    if confirmed.ready == "True":
        return "it was given for a node that was Ready"
    if node is None:
        return ""
    if node.uid != confirmed.uid:
        kind = "another" if confirmed.uid else "a"
        return f"there is {kind} Node of that name since then"
    if node.boot != confirmed.boot:
        return "its machine was started again since then"
    if node.ready == "True":
        return "the node was Ready since then"
    spoke = node.ready == "False" and confirmed.ready != "False"
    return "its kubelet has reported since then" if spoke or node.heartbeat != confirmed.heartbeat else ""


def report_of(service: ComputeService | None) -> str:
    """Which compute service there is, when Nova last wrote it down, and what else may have been written."""
    if service is None:
        return ""
    stands = f"{service.enabled} {service.forced_down} {service.reason}"
    digest = hashlib.sha256(stands.encode()).hexdigest()[:8]
    return "@".join((*(_UNFIT.sub("_", one) for one in (service.id, service.updated)), digest))


def changed_since(report: str, service: ComputeService | None) -> str:
    """How Nova shows that the compute may have run since; empty where nothing was written of it.

    It writes down each report and each change, be it of ours, and only that of the two which was last: a
    report before a change does not show. What we change ourselves while a confirmation holds is in `renewed`.
    """
    if service is None or report == report_of(service):
        return ""
    if report.partition("@")[0] != report_of(service).partition("@")[0]:
        return "another compute service of it has registered since then"
    if has_reported(report, service):
        return "its compute service reported since then"
    return CHANGED


def has_reported(report: str, service: ComputeService) -> bool:
    """Whether it was certainly a report that Nova wrote down since: all else is as it was."""
    before, now = report.split("@"), report_of(service).split("@")
    return before != now and (before[0], before[-1]) == (now[0], now[-1])


def seen_now(service: ComputeService | None, peers: Iterable[Peer]) -> AcceptedState:
    """What to note when a confirmation is taken up."""
    return AcceptedState(report_of(service), frozenset(one.mark for one in peers))


def against_taking_up(
    created: float, report: str, service: ComputeService | None, peers: Collection[Peer]
) -> str:
    """Why a confirmation is void when it is first observed; empty where it is not.

    `created`: of the Node that it names, 0.0 for none; by the API server, as that of every other. `report`:
    what was known of its compute when it was given. Where nothing was, a report between then and now could
    not be distinguished from an earlier one.
    """
    for one in peers:
        newer = one.created >= created and not one.confirmed
        if newer or one.machine.ready == "True":
            return f"its machine is the node {one.name} since then: fence that one"
    if service is not None and not report:
        return "nothing was known of its compute service when it was given"
    return changed_since(report, service)


def ran_since(seen: AcceptedState, service: ComputeService | None, peers: Iterable[Peer]) -> str:
    """What else than its own Node shows that the machine was on since it was taken up; empty for nothing."""
    for one in peers:
        if one.mark not in seen.peers and not one.confirmed:
            return f"its machine ran as the node {one.name} since then: fence that one"
    return changed_since(seen.report, service)


def read_back(
    before: ComputeService, asked: ComputeService, after: ComputeService | None
) -> ComputeService | None:
    """The compute service as we changed it; None where a change or report of others shows beside ours.

    `before` and `after` were read right before and after that; `asked` is what it was to become.
    """
    if after is None or (after.up and not before.up):
        return None
    return after if replace(asked, up=after.up, zone=after.zone, updated=after.updated) == after else None


def renewed(confirmation: Confirmation, before: ComputeService, after: ComputeService) -> Confirmation:
    """With what is written of the compute service after a change of ours; the same where that was void."""
    seen = confirmation.seen
    if seen is None or seen.report != report_of(before):
        return confirmation
    return replace(confirmation, seen=replace(seen, report=report_of(after)))
