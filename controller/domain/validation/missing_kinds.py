"""Kinds of objects that a chart makes and the cluster does not define: what is said of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# What templates of ours make where the spec asks for it, by API group; docs/encryption.md tells of both.
_REMEDIES: Mapping[str, str] = {
    "cert-manager.io": (
        "install cert-manager in the cluster, or name no issuer in spec.features.tls.public and "
        "spec.features.tls.internal: the region's own authority signs then"
    ),
    "gateway.networking.k8s.io": (
        "install the Gateway API in the cluster, with what serves spec.features.gateway.className, or leave "
        "service gateway out"
    ),
}
_OTHERS = "install in the cluster what defines it, or take it out of the values"


def missing_kinds_text(kinds: Iterable[tuple[str, str]]) -> str:
    """What is missing, and what to do. `kinds`: pairs of apiVersion and kind, at least one."""
    found = sorted(set(kinds))
    names = ", ".join(f"{kind} ({version})" for version, kind in found)
    groups = dict.fromkeys(version.partition("/")[0] for version, _ in found)
    remedies = dict.fromkeys(_REMEDIES.get(group, _OTHERS) for group in groups)
    return f"the cluster does not define {names}: {'; '.join(remedies)}"
