"""A dozen regions in which every preset, service, backend and feature is installed at least once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from tests.render.specs import FEATURES, brought
from tests.upstream.regions import ALL_SERVICES

# By name: what the region is, and the features of tests/render/specs.py that are in it together.
_COVERING: Mapping[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "core": ({"preset": "core"}, ("networking-external", "logging")),
    "compute": ({"preset": "compute"}, ()),
    "baremetal-small": (
        {"preset": "compute-baremetal", "size": "small"},
        ("baremetal", "images-two-stores", "compute-ratios", "dashboard"),
    ),
    "everything": (
        {
            "preset": "compute-baremetal",
            "features": {"services": {"enabled": ALL_SERVICES}},
            **brought(*ALL_SERVICES),
        },
        ("gateway", "metering", "region-and-domains", "pods-tolerations"),
    ),
    "everything-small-ovn": (
        {
            "preset": "compute-baremetal",
            "size": "small",
            "features": {"services": {"enabled": [name for name in ALL_SERVICES if name != "gateway"]}},
            # What is sent on needs no Gnocchi.
            **brought(*(name for name in ALL_SERVICES if name != "metering")),
        },
        ("networking-ovn-dvr-dns", "load-balancer-ovn", "metering-sent-on", "notifications"),
    ),
    "ovn": (
        {"preset": "compute", "features": {"networking": {"extensions": ["vpnaas"]}}},
        ("networking-ovn", "load-balancer-ovn", "nodes", "compute-new-hosts", "compute-pods"),
    ),
    "ceph": (
        {"preset": "compute"},
        ("fields-of-storage", "compute-images-ceph"),
    ),
    "ceph-exchange": ({"preset": "compute"}, ("ceph-exchange-everywhere",)),
    "encrypted": ({"preset": "core"}, ("tls-internal", "tls-public-issuer", "compute-libvirt-tls")),
    "encrypted-database": ({"preset": "compute"}, ("tls-internal-database", "tls-public-secret", "audit")),
    "identity": (
        {"preset": "compute"},
        ("fields-of-identity", "policies", "tls-public"),
    ),
    "networking": (
        {"preset": "compute"},
        (
            *("fields-of-networking", "networking-dvr", "networking-extensions", "networking-dns"),
            "network-policies",
        ),
    ),
    "operations": (
        {"preset": "compute"},
        (
            *("fields-of-operations", "database-backup", "database-cleanup", "brokers", "key-manager-vault"),
            *("volumes-lvm-nfs-custom", "volume-backup-nfs", "compute-console-spice", "storage-classes"),
            *("compute-live-migration", "compute-cpu-models"),
        ),
    ),
}


def covering() -> dict[str, dict[str, Any]]:
    """The specs by name."""
    return {
        name: reduce(laid_over, (FEATURES[feature] for feature in features), base)
        for name, (base, features) in _COVERING.items()
    }


def features_of(name: str) -> tuple[str, ...]:
    """The features of tests/render/specs.py that one of the regions has, none of any other."""
    return _COVERING[name][1] if name in _COVERING else ()


def laid_over(below: Any, above: Any) -> Any:
    """Maps and lists of both; the size and preset of a region stay those that it was given first."""
    if isinstance(below, dict) and isinstance(above, dict):
        kept = {key: below[key] for key in ("preset", "size") if key in below}
        return {**below, **{key: laid_over(below.get(key), above[key]) for key in above}, **kept}
    if isinstance(below, list) and isinstance(above, list):
        return below + [item for item in above if item not in below]
    return above
