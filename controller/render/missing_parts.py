"""What a service cannot work without, and only the operator can bring. Pure.

None of these services is in a preset. A region that asks for one without its parts is refused; where the
release runs already it is left to work as it did, and the region is told (`admit_running`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from controller.domain.region.required_certificates import AMPHORA
from controller.domain.shared.lenient_yaml import read_document
from controller.domain.values.chart_values import lookup
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.merge import MergedValues
from controller.errors import Problem

_OURS = (LayerKind.VERSION, LayerKind.PRESET, LayerKind.SIZE, LayerKind.SERVICE, LayerKind.EVERY_RELEASE)
_ENABLED = "spec.features.services.enabled"
# What Octavia cannot make an amphora without, in its options, and the chart does not know.
_AMPHORA_IDS = (
    ("controller_worker", "amp_boot_network_list"),
    ("controller_worker", "amp_secgroup_list"),
    ("controller_worker", "amp_flavor_id"),
    ("controller_worker", "amp_image_tag"),
    ("health_manager", "controller_ip_port_list"),
)
_POOLS = "spec.services.dns.designate.values.conf.pools"
_POOLS_REMEDY = "name your PowerDNS or BIND (docs/dns.md)"
# What the chart's worker fills in: its own Service, which Designate's mDNS is behind.
_FILLED = "MINIDNS_SERVICE_HOST"
_MANILA = "spec.services.shared-file-system.manila.values.conf.manila"
_MONITORS = ("host_monitor", "instance_monitor", "process_monitor", "introspective_instance_monitor")


@dataclass(frozen=True)
class MissingPart:
    """What a release lacks. What is there of the release in a region goes on without it."""

    release: str
    problem: Problem


def missing_parts(features: Mapping[str, Any], releases: Mapping[str, MergedValues]) -> Iterator[MissingPart]:
    """What releases lack. `releases` are the final values of all of them, by name."""
    checks: Mapping[str, Callable[[MergedValues], Iterator[Problem]]] = {
        "octavia": lambda values: _amphorae(features, values),
        "designate": lambda values: _name_servers(features, values, releases.get("neutron")),
        "manila": _shares,
        "masakari": _monitors,
        "gnocchi": _gnocchi,
        "ceilometer": lambda _: _topics(features),
    }
    for release, check in checks.items():
        if release in releases:
            yield from (MissingPart(release, problem) for problem in check(releases[release]))


def admit_running(
    missing: Collection[MissingPart], running: Collection[str]
) -> tuple[list[Problem], list[Problem]]:
    """Problems, of releases that do not run yet; and warnings, of those that do."""
    refused = [part.problem for part in missing if part.release not in running]
    return refused, [part.problem for part in missing if part.release in running]


def is_stock(merged: MergedValues, tag: str) -> bool:
    """Whether the image is the chart's, or the one that we name for the version."""
    return not _is_operators(merged, "images", "tags", tag)


def _is_operators(merged: MergedValues, *path: str) -> bool:
    layer = merged.layer_of(path)
    return layer is not None and not any(f"{layer.name} ".startswith(f"{kind} ") for kind in _OURS)


def _amphorae(features: Mapping[str, Any], octavia: MergedValues) -> Iterator[Problem]:
    if features["loadBalancer"]["provider"] != AMPHORA:
        return
    conf = ("conf", "octavia")
    missing = [".".join(path) for path in _AMPHORA_IDS if not lookup(octavia.values, (*conf, *path))]
    if missing:
        remedy = (
            "name them in spec.services.load-balancer.octavia.values.conf.octavia (docs/load-balancers.md)"
        )
        if features["networking"]["backend"] == "ml2/ovn":
            remedy += ", or set provider to ovn"
        yield Problem(
            "spec.features.loadBalancer.provider",
            f"no amphora can be made without {', '.join(missing)}",
            remedy,
        )


def _name_servers(
    features: Mapping[str, Any], designate: MergedValues, neutron: MergedValues | None
) -> Iterator[Problem]:
    if designate.layer_of(("conf", "pools")) is None:
        message = "Designate has no name servers: its pool is the chart's example, of a Service powerdns"
        yield Problem(_ENABLED, message, f"{_POOLS_REMEDY} in {_POOLS}")
        return
    yield from _pools(lookup(designate.values, ("conf", "pools")))
    networking = features["networking"]
    if neutron is not None and "dns" in networking["extensions"] and not networking["dnsDomain"]:
        message = (
            "required with service dns and extension dns, and not set: Neutron publishes no name of a port"
        )
        remedy = "name the domain of ports, such as cloud.example.org."
        yield Problem("spec.features.networking.dnsDomain", message, remedy)


def _pools(given: Any) -> Iterator[Problem]:
    text = given if isinstance(given, str) else str(given)
    unfilled = sorted(set(re.findall(r"\$\{(\w*)\}?", text)) - {_FILLED})
    if unfilled:
        yield Problem(_POOLS, f"${{{unfilled[0]}}} stands for nothing", "write an address")
        return
    if isinstance(given, str) and "{{" in given:
        return  # what a template of Helm makes is not known here
    try:
        pools = read_document(given, lambda event: event.value) if isinstance(given, str) else given
    except (yaml.YAMLError, ValueError):
        pools = None
    if not isinstance(pools, list) or not all(map(_is_served, pools)) or not pools:
        message = "must be a list of pools, each with nameservers and targets"
        yield Problem(_POOLS, message, _POOLS_REMEDY)


def _is_served(pool: Any) -> bool:
    lists = ("nameservers", "targets")
    return isinstance(pool, Mapping) and all(isinstance(pool.get(key), list) and pool[key] for key in lists)


def _monitors(masakari: MergedValues) -> Iterator[Problem]:
    if not any(lookup(masakari.values, ("manifests", name)) for name in _MONITORS):
        message = "nothing tells Masakari of a host or a server that fails: its monitors are off"
        remedy = "switch them on in spec.services.instance-ha.masakari.values.manifests"
        yield Problem(_ENABLED, message, f"{remedy} ({', '.join(_MONITORS[:3])})")


def _shares(manila: MergedValues) -> Iterator[Problem]:
    path = ("conf", "manila", "DEFAULT", "enabled_share_backends")
    given = lookup(manila.values, path)
    named = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else []
    backends = [name for one in named if (name := str(one).strip())]
    chosen = manila.layer_of(path) is not None
    if not chosen or not backends or "generic" in backends:
        if _is_operators(manila, "conf", "manila", "generic", "service_image_name"):
            return
        yield Problem(
            _ENABLED,
            "shares are served by servers of Manila's generic driver, whose image and network nobody makes",
            "set spec.features.ceph.shares.filesystem, or name a driver (docs/storage.md, Stores of shares)",
        )
        return
    for name in backends:
        if not lookup(manila.values, ("conf", "manila", name, "share_driver")):
            yield Problem(
                f"{_MANILA}.DEFAULT.enabled_share_backends",
                f'"{name}" has no share_driver',
                f"set it in {_MANILA}.{name}",
            )


def _topics(features: Mapping[str, Any]) -> Iterator[Problem]:
    if "notifications" not in features["messaging"]["notifications"]["topics"]:
        path = "spec.features.messaging.notifications.topics"
        yield Problem(path, "service metering reads the topic notifications", "add it")


def _gnocchi(gnocchi: MergedValues) -> Iterator[Problem]:
    tags = lookup(gnocchi.values, ("images", "tags")) or {}
    own = [
        tag
        for tag in tags
        if tag == "db_sync" or (tag.startswith("gnocchi_") and tag != "gnocchi_storage_init")
    ]
    stock = [tag for tag in sorted(own) if is_stock(gnocchi, tag)]
    if stock:
        yield Problem(
            "spec.features.metering.gnocchi",
            f"the chart's image of {', '.join(stock)} is of Gnocchi 3.0.3, and nobody builds it any more",
            "name one of your own for each in spec.images.overrides, or set enabled to false",
        )
