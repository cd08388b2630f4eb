"""By which name OpenStack knows the host of a Node. Pure.

Nova and Neutron take the name of the machine, which is not always that of the Node: clouds name Nodes by
address or by id. It is found once, and kept in `status.nodes`, since a Node that is gone tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.shared.cloud_facts import CloudView

HOSTNAME_LABEL = "kubernetes.io/hostname"


def hostname_of(node: Mapping[str, Any] | None) -> str:
    """What a Node says that its machine is called; empty for none."""
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(HOSTNAME_LABEL) or "")


def remembered_hosts(osdpl: Mapping[str, Any] | None) -> dict[str, str]:
    """The hosts in a region's `status.nodes`, by the name of the Node."""
    known = ((osdpl or {}).get("status") or {}).get("nodes") or {}
    return {name: str(entry["host"]) for name, entry in known.items() if (entry or {}).get("host")}


def host_of(name: str, view: CloudView, *, hostname: str = "", remembered: str = "") -> str:
    """The host of the Node `name`, as OpenStack calls it.

    `hostname`: what the Node's label says; `remembered`: what was found before. Of the names that may be
    meant the first that OpenStack knows, as a compute host or else by a network agent; where it knows
    none, what was found before.
    """
    candidates = [one for one in (remembered, name, hostname) if one]
    for known in (view.compute_hosts, view.agent_hosts):
        found = next((one for one in candidates if one in known), "")
        if found:
            return found
    return candidates[0]
