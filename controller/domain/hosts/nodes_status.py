"""`status.nodes` and the condition `NodesReady`, from Nodes and what OpenStack reports of hosts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import Condition, shorten, timestamp
from controller.domain.api.reasons import Reason
from controller.domain.hosts.nodes import MESSAGE_LIMIT, ROLE_VALUE, ROLES, NodeFacts, NodeState
from controller.domain.shared.plurals import count

CONDITION = "NodesReady"
SHOWN = 5


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


# What a host has that serves, or may serve again, only when a person looks at it.
_FAILING = frozenset(
    (
        *(Reason.COMPUTE_MISSING, Reason.COMPUTE_DOWN, Reason.AGENTS_DOWN, Reason.SERVERS_LEFT),
        *(Reason.CELL_NOT_MAPPED, Reason.HOST_AMBIGUOUS),
    )
)
# Of a compute that is on its way into OpenStack.
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

    `breaker_open` says why automatic action is stopped, `unknown` why OpenStack cannot be observed; both are
    empty while that is not so. The latter is only reported: a region that is being installed has none yet.
    Where every compute is still on its way into OpenStack, no server finds a host: that is no readiness.
    Where others are in service, one more is no matter.

    `strangers`: compute hosts that match no Node, which may be run without Kubernetes.

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
        text = f"{len(lost)} of {count(len(known), 'node is', 'nodes are')} not ready: {shown}{more}"
        return Condition(CONDITION, "False", Reason.NODES_NOT_READY, shorten(text, 4000), generation)
    failing = sorted((name, one.message) for name, one in (reports or {}).items() if one.reason in _FAILING)
    if failing:
        shown = "; ".join(f"{name}: {message}" for name, message in failing[:SHOWN])
        more = f"; and {len(failing) - SHOWN} more" if len(failing) > SHOWN else ""
        text = f"{count(len(failing), 'host fails', 'hosts fail')}: {shown}{more}"
        text += f"; as of before OpenStack stopped answering: {unknown}" if unknown else ""
        return Condition(CONDITION, "False", Reason.HOSTS_FAILING, shorten(text, 4000), generation)
    computes = [(node.name, (reports or {}).get(node.name)) for node in known if node.is_compute]
    awaited = [f"{name}: {one.message}" for name, one in computes if one and one.reason in _ON_ITS_WAY]
    if awaited and len(awaited) == len(computes):
        more = f"; and {len(awaited) - SHOWN} more" if len(awaited) > SHOWN else ""
        text = f"no host takes servers yet: {'; '.join(awaited[:SHOWN])}{more}"
        return Condition(CONDITION, "False", Reason.HOSTS_AWAITED, shorten(text, 4000), generation)
    text = f"{count(len(known), 'node is', 'nodes are')} ready"
    if cordoned:
        names = ", ".join(node.name for node in cordoned[:SHOWN])
        more = f" and {len(cordoned) - SHOWN} more" if len(cordoned) > SHOWN else ""
        text += f", of which {len(cordoned)} cordoned: {names}{more}"
    if strangers:
        names = ", ".join(strangers[:SHOWN])
        more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
        text += f"; OpenStack has compute hosts of no node: {names}{more}"
    if unknown and any(node.is_compute for node in known):
        text += f"; nothing is known of their compute hosts, which are not changed: {unknown}"
    return Condition(CONDITION, "True", Reason.NODES_READY, text, generation)
