"""What the search may try: values that running releases have, and features. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controller.domain.adoption.search import Choice
from controller.domain.values.catalogue import Catalogue
from controller.domain.values.chart_values import Values, leaves, lookup

# Fields of which a release has the value: the field, the release, and the place in its values.
_PLACES = (
    (("features", "database", "volumeSize"), "mariadb", ("volume", "size")),
    (("features", "messaging", "volumeSize"), "rabbitmq", ("volume", "size")),
    (("features", "networking", "tunnelInterface"), "neutron", ("network", "interface", "tunnel")),
    (
        ("features", "networking", "physicalNetworkMTU"),
        "neutron",
        ("conf", "neutron", "DEFAULT", "global_physnet_mtu"),
    ),
    (("features", "networking", "dnsDomain"), "neutron", ("conf", "neutron", "DEFAULT", "dns_domain")),
    (
        ("features", "networking", "dhcpAgentsPerNetwork"),
        "neutron",
        ("conf", "neutron", "DEFAULT", "dhcp_agents_per_network"),
    ),
)
# Features that a value of one release decides: no other value can speak against it.
_DECIDED = (
    (("features", "compute", "console", "type"), "nova", ("console", "console_kind")),
    (("features", "compute", "virtualization"), "nova", ("conf", "nova", "libvirt", "virt_type")),
    (
        ("features", "networking", "firewallDriver"),
        "neutron",
        ("conf", "plugins", "openvswitch_agent", "securitygroup", "firewall_driver"),
    ),
    (
        ("features", "networking", "dvr"),
        "neutron",
        ("conf", "neutron", "DEFAULT", "router_distributed"),
    ),
    (("features", "networking", "routerHA"), "neutron", ("conf", "neutron", "DEFAULT", "l3_ha")),
)
_STORAGE = (("volume", "class_name"), ("volume", "class"))
# Switches that say what happens to the region, not what it is.
_ACTIONS = (("features", "nodes"), ("features", "readOnlyAccount"), ("features", "ceph"))
_FIELDS_OF_ONE = 8


def wanted_services(catalogue: Catalogue, releases: Iterable[str]) -> frozenset[str]:
    """The services whose charts run, and what these cannot be without."""
    there = set(releases)
    found = {name for name, entry in catalogue.services.items() if there & entry.charts.keys()}
    todo = list(found)
    while todo:
        for name in catalogue[todo.pop()].requires:
            if name in catalogue and name not in found:
                found.add(name)
                todo.append(name)
    return frozenset(found)


def services_field(preset: Iterable[str], wanted: frozenset[str]) -> dict[str, list[str]]:
    """`features.services` that makes a preset these services."""
    given = set(preset)
    both = {"enabled": sorted(wanted - given), "disabled": sorted(given - wanted)}
    return {key: names for key, names in both.items() if names}


def value_choices(running: Mapping[str, Values]) -> Iterator[Choice]:
    """Fields whose values the releases have: names, domains, classes and sizes of volumes."""
    endpoints = [(path, leaf) for values in running.values() for path, leaf in _endpoints(values)]
    regions = _common(leaf for path, leaf in endpoints if path[-1] == "region_name")
    yield Choice(("region",), regions)
    yield Choice(("internalDomainName",), _common(leaf for path, leaf in endpoints if _is_suffix(path)))
    yield Choice(("publicDomainName",), _common(map(_domain, _public_names(endpoints))))
    classes = (lookup(values, place) for values in running.values() for place in _STORAGE)
    yield Choice(("storageClass",), _common(classes))
    for field, release, place in _PLACES:
        found = lookup(running.get(release, {}), place)
        if found not in (None, ""):
            yield Choice(field, (found,))


def feature_choices(schema: Mapping[str, Any], running: Mapping[str, Values]) -> Iterator[Choice]:
    """Switches and fields of a few words below `spec.features`, each with all that it may be: one value where
    a release says it."""
    said: dict[tuple[str, ...], Any] = {
        field: lookup(running.get(release, {}), place) for field, release, place in _DECIDED
    }
    for one in _of_schema(schema.get("properties") or {}, ("features",)):
        decided = said.get(one.field)
        yield Choice(one.field, (decided,)) if decided in one.values else one


def _of_schema(properties: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[Choice]:
    for name, one in properties.items():
        field = (*above, name)
        if field in _ACTIONS:
            continue
        if one.get("type") == "boolean":
            yield Choice(field, (True, False))
        elif 0 < len(one.get("enum") or ()) <= _FIELDS_OF_ONE:
            yield Choice(field, tuple(one["enum"]))
        elif one.get("type") == "object":
            yield from _of_schema(one.get("properties") or {}, field)


def _endpoints(values: Values) -> Iterator[tuple[tuple[str, ...], Any]]:
    endpoints = values.get("endpoints")
    return leaves(endpoints) if isinstance(endpoints, Mapping) else iter(())


def _is_suffix(path: Sequence[str]) -> bool:
    return path[-1] == "cluster_domain_suffix"


def _public_names(endpoints: Iterable[tuple[tuple[str, ...], Any]]) -> Iterator[Any]:
    for path, leaf in endpoints:
        if "host_fqdn_override" in path and "public" in path and path[-1] in ("public", "host"):
            yield leaf


def _domain(name: Any) -> str:
    return name.partition(".")[2] if isinstance(name, str) else ""


def _common(found: Iterable[Any]) -> tuple[str, ...]:
    """The texts, the most frequent first."""
    counted = Counter(one for one in found if isinstance(one, str) and one)
    return tuple(text for text, _ in counted.most_common(3))
