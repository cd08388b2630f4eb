"""The order in which the bundles of a region are removed."""

from __future__ import annotations

from controller.ports.kubernetes import KubeObject, KubeObjects


def in_order_of_removal(bundles: KubeObjects) -> KubeObjects:
    """None before those that need a release of it, as far as there is no circle; else by name."""
    left, ordered = sorted(bundles, key=lambda one: str(one["metadata"]["name"])), []
    while left:
        needed = {name for one in left for name in _needs(one) - _has(one)}
        free = [one for one in left if not _has(one) & needed] or left[:1]
        ordered += free
        left = [one for one in left if one not in free]
    return ordered


def _has(bundle: KubeObject) -> set[str]:
    return {str(one.get("name")) for one in (bundle.get("spec") or {}).get("releases") or ()}


def _needs(bundle: KubeObject) -> set[str]:
    found = (one.get("dependsOn") or () for one in (bundle.get("spec") or {}).get("releases") or ())
    return {str(name) for names in found for name in names}
