"""View of `osctl node`: pure, from the status of the region and of maintenances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.cli.output import Cell, Row
from controller.domain.api.conditions import find
from controller.domain.hosts.nodes import NodeState
from controller.domain.shared.plurals import count

_STYLES = {NodeState.READY: "green", NodeState.NOT_READY: "red", NodeState.CORDONED: "yellow"}


def node_rows(nodes: Mapping[str, Any]) -> list[Row]:
    """One line for each node, by name."""
    rows: list[Row] = []
    for name, entry in sorted(nodes.items()):
        state = str(entry.get("state") or "")
        servers = entry.get("servers")
        rows.append(
            (
                name,
                Cell(state, _STYLES.get(state, "")),  # type: ignore[call-overload]
                _compute(entry),
                "-" if servers is None else str(servers),
                entry.get("maintenance") or "-",
                entry.get("reason") or "-",
            )
        )
    return rows


def _compute(entry: Mapping[str, Any]) -> str:
    words, age = str(entry.get("compute") or "-"), _age(entry)
    return f"{words} ({age})" if entry.get("compute") and age else words


def _age(entry: Mapping[str, Any]) -> str:
    """The age of OpenStack's report on the host, empty if it is current."""
    return f"as of {entry['asOf']}" if entry.get("asOf") else ""


def node_causes(node: str, entry: Mapping[str, Any], maintenances: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences on one node, the cause first."""
    lines = [f"{node}: {entry.get('state') or 'no node of the region'} since {entry.get('since') or '?'}"]
    if entry.get("reason"):
        lines.append(f"  {entry['reason']}: {entry.get('message') or 'no problem is known'}")
    elif entry.get("message"):
        lines.append(f"  {entry['message']}")
    if entry.get("compute"):
        age = f", {_age(entry)}" if _age(entry) else ""
        lines.append(f"  compute service {entry['compute']}; {_servers(entry)}{age}")
    if entry.get("drainLocked"):
        lines.append(f"  drains are blocked: {entry['drainLocked']}")
    for one in maintenances:
        status = one.get("status") or {}
        ready = find(status.get("conditions") or (), "Ready")
        lines.append(
            f"  maintenance {one['metadata']['name']} ({one['spec'].get('mode')}): "
            f"{status.get('phase') or 'Pending'} {status.get('progress') or ''}: {ready.get('message', '')}"
        )
        lines += [
            f"    {server.get('name')}: {server['state']}: {server['message']}"
            for server in status.get("servers") or ()
            if server.get("message")
        ]
    return lines


def plan_summary(status: Mapping[str, Any]) -> str:
    """As `30 servers, 1 router, 2 networks, 4 volumes`."""
    network = status.get("network") or ()
    counts = [
        (len(status.get("servers") or ()), "server"),
        (sum(one["kind"] == "Router" for one in network), "router"),
        (sum(one["kind"] == "Network" for one in network), "network"),
        (int(status.get("volumes") or 0), "volume"),
    ]
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)


def network_rows(moves: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One line for each router and network to move, first those without a target."""
    ranked = sorted(moves, key=lambda one: (one["state"] != "Blocked", one["kind"] != "Router", one["id"]))
    return [(one["kind"], one["id"], Cell(one.get("message") or "", "red")) for one in ranked]


def plan_rows(servers: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One line for each server, first the blocked ones."""
    order = {"Blocked": 0, "Leave": 1, "Cold": 2, "Busy": 3}
    ranked = sorted(servers, key=lambda one: (order.get(one["action"], 9), one.get("name") or ""))
    styles = {"Blocked": "red", "Cold": "yellow", "Leave": "yellow"}
    return [
        (
            one.get("name") or "-",
            one["id"],
            Cell(one["action"], styles.get(one["action"], "")),
            one.get("message") or "",
        )
        for one in ranked
    ]


def _servers(entry: Mapping[str, Any]) -> str:
    number = entry.get("servers")
    return "? servers" if number is None else count(int(number), "server")
