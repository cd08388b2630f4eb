"""`status.nodes` and the condition `NodesReady`, from Nodes and OpenStack's hosts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import Condition, timestamp
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.hosts.node_roles import ROLE_VALUE, ROLES
from controller.domain.hosts.nodes import MESSAGE_LIMIT, NodeFacts, NodeState
from controller.domain.shared.plurals import count

CONDITION = "NodesReady"
SHOWN = 5


@dataclass(frozen=True, slots=True)
class HostReport:
    """The last report on the compute host of one node, for `status.nodes`.

    `uid`: of the Node with the known compute service. `host`: its name in OpenStack. `servers` is None if
    unknown. `forget`: a lost node has nothing left in OpenStack. `stale`: from the last observation of
    OpenStack. `drain_failing`: why a drain is not blocked; `misplaced`: why the host is not in its
    aggregates; `refused`: remaining objects of the node that Kubernetes refuses to delete.
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


def node_entries(
    nodes: Iterable[NodeFacts],
    before: Mapping[str, Any],
    now: float,
    reports: Mapping[str, HostReport] | None = None,
    *,
    unknown: str = "",
    as_of: float = 0.0,
) -> dict[str, Any]:
    """`status.nodes`.

    `before` is the present one: `since` moves only when a state changes. `unknown`: why OpenStack cannot be
    observed, or empty. Then earlier reports of compute hosts are kept, with `as_of` (seconds since the epoch;
    0.0: from before this process). Hosts without a report keep their earlier one, because after a restart
    nothing is known until OpenStack has been observed. The entry of a lost compute node stays until its
    report says that nothing remains.
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
    """The earlier report of a host before OpenStack stopped answering, with `why` instead of its end."""
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
    """The age of a host's report, if it is not current."""
    if report is None or not report.stale or not report.compute:
        return {}
    # A finding that was reported as old stays old after a restart.
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


# Problems of a host that serves, or may serve again, only after an action of a person.
_FAILING = frozenset(
    (
        *(Reason.COMPUTE_MISSING, Reason.COMPUTE_DOWN, Reason.AGENTS_DOWN, Reason.SERVERS_LEFT),
        *(Reason.CELL_NOT_MAPPED, Reason.HOST_AMBIGUOUS),
    )
)
# For a compute service that is joining OpenStack.
_ON_ITS_WAY = frozenset((Reason.COMPUTE_AWAITED, Reason.CELL_MAPPING_AWAITED))


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

    `breaker_open` says why automatic action is stopped, `unknown` why OpenStack cannot be observed, or they
    are empty. The latter is only reported, because a new region has no OpenStack yet. If every compute
    service is still joining OpenStack, servers find no host, so the region is not ready. If others are in
    service, one more does not matter. `strangers`: compute hosts without a Node, which may run outside of
    Kubernetes. A cordon is a person's decision, and pods on the node continue: it is mentioned, but it is not
    a fault.
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
        text = f"{len(lost)} of {count(len(known), 'node is', 'nodes are')} not ready: {shown}{more}"
        return Condition(CONDITION, "False", Reason.NODES_NOT_READY, shorten(text, 4000), generation)
    failing = sorted((name, one.message) for name, one in (reports or {}).items() if one.reason in _FAILING)
    if failing:
        shown = "; ".join(f"{name}: {message}" for name, message in failing[:SHOWN])
        more = f"; and {len(failing) - SHOWN} more" if len(failing) > SHOWN else ""
        text = f"{count(len(failing), 'host fails', 'hosts fail')}: {shown}{more}"
        text += f"; state from before OpenStack stopped answering: {unknown}" if unknown else ""
        return Condition(CONDITION, "False", Reason.HOSTS_FAILING, shorten(text, 4000), generation)
    computes = [(node.name, (reports or {}).get(node.name)) for node in known if node.is_compute]
    awaited = [f"{name}: {one.message}" for name, one in computes if one and one.reason in _ON_ITS_WAY]
    if awaited and len(awaited) == len(computes):
        more = f"; and {len(awaited) - SHOWN} more" if len(awaited) > SHOWN else ""
        text = f"no host accepts servers yet: {'; '.join(awaited[:SHOWN])}{more}"
        return Condition(CONDITION, "False", Reason.HOSTS_AWAITED, shorten(text, 4000), generation)
    text = f"{count(len(known), 'node is', 'nodes are')} ready"
    if cordoned:
        names = ", ".join(node.name for node in cordoned[:SHOWN])
        more = f" and {len(cordoned) - SHOWN} more" if len(cordoned) > SHOWN else ""
        text += f", {len(cordoned)} of them cordoned: {names}{more}"
    if strangers:
        names = ", ".join(strangers[:SHOWN])
        more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
        text += f"; OpenStack has compute hosts without a node: {names}{more}"
    if unknown and any(node.is_compute for node in known):
        text += f"; the state of compute hosts is not known, so they stay as they are: {unknown}"
    return Condition(CONDITION, "True", Reason.NODES_READY, text, generation)
