"""Kinds of objects that a chart makes and the cluster does not define: what is said of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What templates of ours make where the spec asks for it, by API group; docs/encryption.md tells of both.
_REMEDIES: Mapping[str, str] = {
    "cert-manager.io": (
        "install cert-manager in the cluster, or remove issuer from spec.features.tls.public and "
        "spec.features.tls.internal, so that the region's own authority signs"
    ),
    "gateway.networking.k8s.io": (
        "install the Gateway API in the cluster, with an implementation of "
        "spec.features.gateway.className, or disable service gateway"
    ),
}
_OTHERS = "install its definition in the cluster, or remove it from the values"


def missing_kinds_text(kinds: Iterable[tuple[str, str]]) -> str:
    """What is missing, and what to do. `kinds`: pairs of apiVersion and kind, at least one."""
    found = sorted(set(kinds))
    names = ", ".join(f"{kind} ({version})" for version, kind in found)
    groups = dict.fromkeys(version.partition("/")[0] for version, _ in found)
    remedies = dict.fromkeys(_REMEDIES.get(group, _OTHERS) for group in groups)
    return f"the cluster does not define {names}: {'; '.join(remedies)}"


# Groups of Kubernetes itself whose names do not end as its own; of the others only these are of definitions.
_OWN_GROUPS = ("", "apps", "autoscaling", "batch", "policy")
_DEFINED_GROUPS = ("gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io")
DEFINITION = "CustomResourceDefinition"


def needed_kinds(
    made: Iterable[Mapping[str, Any]], given: Iterable[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """Of the objects that releases make, one of each kind that the cluster has to define: no release makes
    its definition, and none is among the objects that are given."""
    objects = list(made)
    there = {
        ((obj.get("spec") or {}).get("group"), ((obj.get("spec") or {}).get("names") or {}).get("kind"))
        for obj in (*objects, *given)
        if obj.get("kind") == DEFINITION
    }
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for obj in objects:
        version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        group = version.rpartition("/")[0]
        if not _is_of_kubernetes(group) and (group, kind) not in there:
            found.setdefault((version, kind), obj)
    return tuple(obj for _, obj in sorted(found.items(), key=lambda item: item[0]))


def _is_of_kubernetes(group: str) -> bool:
    return group in _OWN_GROUPS or (group.endswith(".k8s.io") and group not in _DEFINED_GROUPS)
