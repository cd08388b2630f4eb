"""The roles of a Node in a region, by its labels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def roles_of(labels: Mapping[str, Any]) -> tuple[str, ...]:
    """The roles of a Node with these labels."""
    return tuple(role for role in ROLES if labels.get(role) == ROLE_VALUE)
