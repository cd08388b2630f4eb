"""Which nodes a sandbox has: names and role labels as OpenStack-Helm charts select them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox.errors import SandboxError

CONTROL_LABELS = ("openstack-control-plane", "openstack-network-node", "l3-agent", "openvswitch")
COMPUTE_LABELS = ("openstack-compute-node", "openvswitch")
MOST_NODES = 1000
PROFILE_LABEL = "sandbox.osctl.dev/profile"


@dataclass(frozen=True)
class NodeShape:
    """One simulated node: its name and the role labels it carries (each with the value `enabled`)."""

    name: str
    roles: tuple[str, ...]


def parse_profile(profile: str) -> tuple[NodeShape, ...]:
    """The simulated nodes of `none`, `single`, `small` or `large:N` (N in all, three of them control nodes).

    Raises SandboxError on anything else.
    """
    if profile == "none":
        return ()
    if profile == "single":
        return (NodeShape("node1", tuple(dict.fromkeys(CONTROL_LABELS + COMPUTE_LABELS))),)
    if profile == "small":
        return _region(compute=3)
    kind, _, number = profile.partition(":")
    if kind == "large" and number.isascii() and number.isdigit() and 6 <= int(number) <= MOST_NODES:
        return _region(compute=int(number) - 3)
    raise SandboxError(
        f'no node profile "{profile}": use none, single, small or large:N with N between 6 and {MOST_NODES}'
    )


def _region(compute: int) -> tuple[NodeShape, ...]:
    control = [NodeShape(f"ctl{index}", CONTROL_LABELS) for index in range(1, 4)]
    return tuple(control + [NodeShape(f"cmp{index}", COMPUTE_LABELS) for index in range(1, compute + 1)])


def node_object(shape: NodeShape, profile: str) -> dict[str, Any]:
    """The Node as the API server is given it; KWOK takes it up by the annotation."""
    labels = {
        "kubernetes.io/hostname": shape.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        PROFILE_LABEL: profile.replace(":", "-"),
    }
    labels |= dict.fromkeys(shape.roles, "enabled")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": shape.name,
            "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
    }


STORAGE_CLASSES = ("standard", "general", "fast")
"""Storage classes whose claims become Bound; the first one is the default class. `general` is what
OpenStack-Helm's charts name by default."""


def storage_class_object(name: str) -> dict[str, Any]:
    """A StorageClass served by the volume stages."""
    default = {"storageclass.kubernetes.io/is-default-class": "true"} if name == STORAGE_CLASSES[0] else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": default},
        "provisioner": "kwok.x-k8s.io/volume",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }
