"""Regions in which each feature meets each other one: whatever two can be in one region are in one of these.

Drawn greedily, the same each time: of the features that fit all those of a region, the one that meets most of
those that it has not met.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, reduce
from itertools import combinations
from typing import Any

from tests.render.specs import FEATURES
from tests.upstream.covering import laid_over

_CORE = "preset core does not have the service"
_CLEAR = "the service's charts cannot encrypt"
_OVS = "not with OVN"
_SENT = "what is sent on needs no Gnocchi, whose images are named"
_EXTERNAL = "that is of a server which the region runs"
# Pairs that the controller refuses, with the reason; tests/upstream/test_pairs.py has each refused.
REFUSED: Mapping[tuple[str, str], str] = {
    ("ceph-exchange-everywhere", "tls-internal"): _CORE,
    ("ceph-exchange-everywhere", "tls-internal-own"): _CORE,
    ("database-cleanup", "tls-internal"): _CORE,
    ("database-cleanup", "tls-internal-own"): _CORE,
    ("images-two-stores", "tls-internal"): _CORE,
    ("images-two-stores", "tls-internal-own"): _CORE,
    ("fields-of-operations", "tls-internal"): _CLEAR,
    ("fields-of-operations", "tls-internal-own"): _CLEAR,
    ("load-balancer-ovn", "tls-internal"): _CLEAR,
    ("load-balancer-ovn", "tls-internal-own"): _CLEAR,
    ("load-balancer-own-certificates", "tls-internal"): _CLEAR,
    ("load-balancer-own-certificates", "tls-internal-own"): _CLEAR,
    ("metering", "tls-internal"): _CLEAR,
    ("metering", "tls-internal-own"): _CLEAR,
    ("metering-sent-on", "tls-internal"): _CLEAR,
    ("metering-sent-on", "tls-internal-own"): _CLEAR,
    ("notifications", "tls-internal"): _CLEAR,
    ("notifications", "tls-internal-own"): _CLEAR,
    ("load-balancer-ovn", "networking-extensions"): _OVS,
    ("load-balancer-ovn", "networking-vlan-tenants"): _OVS,
    ("networking-extensions", "networking-ovn"): _OVS,
    ("networking-extensions", "networking-ovn-dvr-dns"): _OVS,
    ("networking-ovn", "networking-vlan-tenants"): _OVS,
    ("networking-ovn-dvr-dns", "networking-vlan-tenants"): _OVS,
    ("ceph-exchange-everywhere", "metering-sent-on"): _SENT,
    ("metering", "metering-sent-on"): _SENT,
    ("compute-libvirt-tls", "compute-live-migration"): "its addresses have to be named then",
    ("brokers", "external-servers"): _EXTERNAL,
    ("database-backup", "external-servers"): _EXTERNAL,
    ("external-servers", "fields-of-operations"): _EXTERNAL,
    ("tls-public-issuer", "tls-public-secret"): "one certificate or the other",
}


def agree(one: Any, other: Any) -> bool:
    """Whether nothing is in both that differs; lists are of both, and of one thing by one name."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(agree(one[key], other[key]) for key in one.keys() & other.keys() - {"preset", "size"})
    if isinstance(one, list) and isinstance(other, list):
        named = {item["name"]: item for item in one if isinstance(item, dict) and "name" in item}
        return all(
            named.get(item["name"], item) == item
            for item in other
            if isinstance(item, dict) and "name" in item
        )
    return bool(one == other)


@cache
def partners() -> Mapping[str, frozenset[str]]:
    """By feature: those that can be in a region with it."""
    found: dict[str, set[str]] = {name: set() for name in FEATURES}
    for pair in combinations(FEATURES, 2):
        if tuple(sorted(pair)) not in REFUSED and agree(*(FEATURES[name] for name in pair)):
            found[pair[0]].add(pair[1])
            found[pair[1]].add(pair[0])
    return {name: frozenset(others) for name, others in found.items()}


@cache
def regions_of_pairs() -> Mapping[str, tuple[str, ...]]:
    """By name: the features of each region."""
    unmet = {name: set(others) for name, others in partners().items()}
    found: dict[str, tuple[str, ...]] = {}
    while any(unmet.values()):
        region = _drawn(unmet)
        for name in region:
            unmet[name] -= set(region)
        found[f"pairs-{len(found) + 1}"] = region
    return found


def _drawn(unmet: Mapping[str, set[str]]) -> tuple[str, ...]:
    region = [max(unmet, key=lambda name: len(unmet[name]))]
    fitting = set(partners()[region[0]])
    while fitting:
        # The first of FEATURES where several are as good.
        fit = (name for name in FEATURES if name in fitting)
        best = max(fit, key=lambda name: len(unmet[name] & {*region}))
        region.append(best)
        fitting &= partners()[best]
    return tuple(region)


def pairs() -> dict[str, dict[str, Any]]:
    """The specs by name; small ones and single ones by turns."""
    found: dict[str, dict[str, Any]] = {}
    for number, (name, features) in enumerate(regions_of_pairs().items()):
        specs = [FEATURES[feature] for feature in features]
        base = {
            "preset": "core" if any(spec.get("preset") == "core" for spec in specs) else "compute",
            "size": ("single", "small")[number % 2],
        }
        found[name] = reduce(laid_over, specs, base)
    return found
