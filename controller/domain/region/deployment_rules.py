"""What must hold between features that lie apart, and what a resource definition cannot say."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import features as rules
from controller.domain.api.spec_rules.rule import Finding, Rule
from controller.domain.backups.backup_rules import backup_problems
from controller.domain.region.external_servers import external_server_problems
from controller.domain.region.federation import directive_problems, provider_problems
from controller.domain.shared.cron_schedule import schedule_problem
from controller.domain.shared.durations import format_duration, parse_duration
from controller.domain.validation.policy_rules import rule_problem
from controller.domain.values.ceph_needs import ADMINISTRATOR, backup_user
from controller.domain.values.chart_values import PATCH, DocumentPath, format_path
from controller.domain.values.secret_refs import reserved
from controller.errors import Problem

Features = Mapping[str, Any]
_ROOT: DocumentPath = ("spec", "features")
# Keystone's domains of the administrator, of the services' accounts, and of Heat's users.
_DOMAINS = ("default", "service", "heat")
# Bridges that neutron's agents and OVN's controllers make for themselves.
_OWN_BRIDGES = ("br-int", "br-tun")
# What a certificate of hypervisors stands for. With that many of IPv6 it has 75 kB: OpenSSL takes chains of
# at most 100 kB (SSL_CTX_set_max_cert_list), GnuTLS messages of 128 kB.
_MOST_OF_A_NETWORK = 1024
_MOST_ADDRESSES = 4 * _MOST_OF_A_NETWORK
# Of users, pools and file systems: a word of capabilities without quotes, and no step of a path.
_CEPH_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
# Of windows in which credentials are rotated, in seconds: the controller looks every five minutes.
_SHORTEST_WINDOW, _LONGEST_WINDOW = 600, 86400


def feature_problems(features: Features) -> list[Problem]:
    """Every problem of the completed features (`ResourceSchema.completed`) of a valid object."""
    return [
        *_vlan_ranges(features),
        *_bridges(features),
        *_floating_addresses(features),
        *_load_balancer(features),
        *_baremetal(features),
        *_ceph_backup(features),
        *_ceph_exchange(features),
        *_network_types(features["networking"]),
        *_baremetal_types(features),
        *_image_stores(features["image"]["backends"]),
        *_own_domains(features["identity"]["ldap"]["domains"]),
        *provider_problems(features["identity"]["federation"]["providers"]),
        *directive_problems(features["identity"]["federation"]["directives"]),
        *_schedules(features["database"]),
        *backup_problems(features, reserved),
        *_policies(features["policies"]),
        *_rotation_window(features["credentialRotation"]),
        *_tolerations(features["compute"]["pods"]["tolerations"], ("compute", "pods", "tolerations")),
        *_tolerations(features["pods"]["tolerations"], ("pods", "tolerations")),
        *_hypervisor_addresses(features["compute"]["libvirtTLS"]["addresses"]),
        *external_server_problems(features),
        *_reserved_secrets(features),
        *_node_networks(features["networkPolicies"]["nodeNetworks"]),
        *_marks(features, ()),
    ]


def _problem(path: DocumentPath, rule: Rule, **facts: object) -> Problem:
    return Finding(rule, facts).at(format_path(_ROOT + path))


def _vlan_ranges(features: Features) -> Iterator[Problem]:
    for index, network in enumerate(features["networking"]["externalNetworks"]):
        before: list[tuple[int, int, str]] = []
        for place, text in enumerate(network["vlanRanges"]):
            first, last = (int(number) for number in text.split(":"))
            path = ("networking", "externalNetworks", index, "vlanRanges", place)
            if not 1 <= first <= last <= 4094:
                yield _problem(path, rules.VLAN_RANGE_ORDER)
                continue
            shared = next((other for start, end, other in before if start <= last and first <= end), None)
            if shared is not None:
                yield _problem(path, rules.VLAN_RANGE_OVERLAP, shared=shared)
            before.append((first, last, text))


def _bridges(features: Features) -> Iterator[Problem]:
    """An interface is a port of one bridge, and neutron's own bridges lead nowhere outside."""
    holders: dict[str, str] = {}
    for index, network in enumerate(features["networking"]["externalNetworks"]):
        path: DocumentPath = ("networking", "externalNetworks", index)
        bridge, interface = network["bridge"], network["interface"]
        if bridge in _OWN_BRIDGES:
            yield _problem((*path, "bridge"), rules.BRIDGE_RESERVED, bridge=bridge)
        if not interface:
            continue
        holder = holders.setdefault(interface, network["name"])
        if holder != network["name"]:
            yield _problem(
                (*path, "interface"), rules.INTERFACE_IN_TWO_BRIDGES, interface=interface, holder=holder
            )
    tunnels = features["networking"]["tunnelInterface"]
    if tunnels in holders:
        # Charts move the address of such an interface to its bridge, and look for it here at the next start.
        yield _problem(
            ("networking", "tunnelInterface"),
            rules.TUNNEL_INTERFACE_IN_BRIDGE,
            interface=tunnels,
            network=holders[tunnels],
        )


def _floating_addresses(features: Features) -> Iterator[Problem]:
    floating = features["networking"]["floatingNetwork"]
    path: DocumentPath = ("networking", "floatingNetwork")
    if floating["subnet"]:
        yield from _inside(floating["subnet"], (*path, "subnet"))
    if floating["networkType"] == "vlan" and floating["segmentationID"] is None:
        yield _problem((*path, "segmentationID"), rules.SEGMENTATION_ID_REQUIRED)
    if floating["networkType"] == "flat" and floating["segmentationID"] is not None:
        yield _problem((*path, "segmentationID"), rules.SEGMENTATION_ID_WITHOUT_VLAN)


def _inside(subnet: Features, path: DocumentPath) -> Iterator[Problem]:
    """Addresses of a subnet that lie outside of it, or in the wrong order."""
    network = ipaddress.ip_network(subnet["range"], strict=False)
    for key in ("gateway", "poolStart", "poolEnd"):
        if subnet[key] is not None and ipaddress.ip_address(subnet[key]) not in network:
            yield _problem((*path, key), rules.ADDRESS_OUTSIDE_SUBNET, network=network)
            return
    start, end = subnet["poolStart"], subnet["poolEnd"]
    if start and end and int(ipaddress.ip_address(start)) > int(ipaddress.ip_address(end)):
        yield _problem((*path, "poolEnd"), rules.POOL_ORDER)


def _tolerations(tolerations: Any, field: DocumentPath) -> Iterator[Problem]:
    """What the API server refuses of a pod (ValidateTolerations)."""
    for index, one in enumerate(tolerations):
        path: DocumentPath = (*field, index)
        if one["operator"] == "Exists" and one["value"]:
            yield _problem((*path, "value"), rules.TOLERATION_VALUE)
        if not one["key"] and one["operator"] != "Exists":
            yield _problem((*path, "operator"), rules.TOLERATION_OPERATOR)
        if one["tolerationSeconds"] is not None and one["effect"] != "NoExecute":
            yield _problem((*path, "effect"), rules.TOLERATION_EFFECT)


def _hypervisor_addresses(addresses: list[str]) -> Iterator[Problem]:
    """One certificate names every address of them: TLS bounds its size, and so do we."""
    whole: DocumentPath = ("compute", "libvirtTLS", "addresses")
    total = 0
    for index, text in enumerate(addresses):
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            yield _problem((*whole, index), rules.HYPERVISOR_ADDRESS_MALFORMED)
            continue
        if network.num_addresses > _MOST_OF_A_NETWORK:
            yield _problem((*whole, index), rules.HYPERVISOR_NETWORK_TOO_LARGE)
            continue
        total += network.num_addresses
    if total > _MOST_ADDRESSES:
        yield _problem(
            whole, rules.TOO_MANY_HYPERVISOR_ADDRESSES, total=total, most_addresses=_MOST_ADDRESSES
        )


def _node_networks(networks: list[str]) -> Iterator[Problem]:
    for index, text in enumerate(networks):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            yield _problem(("networkPolicies", "nodeNetworks", index), rules.NODE_NETWORK_MALFORMED)


def _load_balancer(features: Features) -> Iterator[Problem]:
    if features["loadBalancer"]["provider"] == "ovn" and features["networking"]["backend"] != "ml2/ovn":
        yield _problem(("loadBalancer", "provider"), rules.LOAD_BALANCER_OVN)


def _baremetal(features: Features) -> Iterator[Problem]:
    known = [network["name"] for network in features["networking"]["externalNetworks"]]
    for index, network in enumerate(features["baremetal"]["networks"]):
        path: DocumentPath = ("baremetal", "networks", index)
        if network["physicalNetwork"] not in known:
            yield _problem(
                (*path, "physicalNetwork"), rules.BAREMETAL_NETWORK_UNKNOWN, known=", ".join(known) or "none"
            )
        yield from _inside(network, path)


def _ceph_backup(features: Features) -> Iterator[Problem]:
    backup = features["blockStorage"]["backup"]
    if backup["driver"] not in (None, "nfs") and backup["share"]:
        yield _problem(("blockStorage", "backup", "share"), rules.BACKUP_SHARE_WITHOUT_NFS)


def _ceph_exchange(features: Features) -> Iterator[Problem]:
    """With an exchange, keys are for the least that serves."""
    source, shares = features["ceph"]["source"], features["ceph"]["shares"]["filesystem"]
    if not source:
        if shares:
            yield _problem(("ceph", "shares", "filesystem"), rules.CEPH_SHARES_WITHOUT_EXCHANGE)
        return
    for place, user in _ceph_users(features):
        if user == ADMINISTRATOR:
            yield _problem(place, rules.CEPH_ADMINISTRATOR)
    for place, name in (*_ceph_users(features), *_ceph_pools(features)):
        if name and not _CEPH_NAME.fullmatch(name):
            # It becomes a part of capabilities, of keyrings and of Secrets' names.
            yield _problem(place, rules.CEPH_NAME_MALFORMED)
    users: dict[str, str] = {}
    for index, store in enumerate(features["blockStorage"]["backends"]):
        if store["type"] != "ceph" or not store["ceph"]:
            continue
        path: DocumentPath = ("blockStorage", "backends", index, "ceph", "user")
        user = store["ceph"]["user"]
        users.setdefault(user, store["name"])
        if len(users) > 1:
            yield _problem(path, rules.CEPH_USERS_DIFFER, user=next(iter(users)))
            return


def _ceph_users(features: Features) -> Iterator[tuple[DocumentPath, str]]:
    """The users of Ceph that the spec names, and where."""
    storage, gnocchi = features["blockStorage"], features["metering"]["gnocchi"]
    for index, store in enumerate(storage["backends"]):
        if store["type"] == "ceph" and store["ceph"]:
            yield ("blockStorage", "backends", index, "ceph", "user"), store["ceph"]["user"]
    if storage["backup"]["driver"] == "ceph":
        yield ("blockStorage", "backup", "conf", "backup_ceph_user"), backup_user(features)
    if gnocchi["enabled"]:
        yield ("metering", "gnocchi", "user"), gnocchi["user"]


def _ceph_pools(features: Features) -> Iterator[tuple[DocumentPath, str | None]]:
    """The pools of Ceph and the file system that the spec names, and where; None where it does not."""
    storage, images = features["blockStorage"], features["compute"]["images"]
    for index, store in enumerate(features["image"]["backends"] or ()):
        if store["type"] == "ceph":
            yield ("image", "backends", index, "pool"), store["pool"]
    for index, store in enumerate(storage["backends"]):
        if store["type"] == "ceph" and store["ceph"]:
            yield ("blockStorage", "backends", index, "ceph", "pool"), store["ceph"]["pool"]
    if storage["backup"]["driver"] == "ceph":
        yield ("blockStorage", "backup", "pool"), storage["backup"]["pool"]
    if images["backend"] == "ceph":
        yield ("compute", "images", "ceph", "pool"), images["ceph"]["pool"]
    yield ("metering", "gnocchi", "pool"), features["metering"]["gnocchi"]["pool"]
    yield ("ceph", "shares", "filesystem"), features["ceph"]["shares"]["filesystem"]


def _network_types(networking: Features) -> Iterator[Problem]:
    """A network is flat, or it has VLANs: neutron makes none of the other type on it."""
    networks = networking["externalNetworks"]
    for index, kind in enumerate(networking["tenantNetworkTypes"] or ()):
        if kind == "vlan" and not any(network["vlanRanges"] for network in networks):
            path: DocumentPath = ("networking", "tenantNetworkTypes", index)
            yield _problem(path, rules.VLAN_TENANTS_WITHOUT_RANGES)
    floating = networking["floatingNetwork"]
    vlan = floating["networkType"] == "vlan"
    if floating["enabled"]:
        path = ("networking", "floatingNetwork", "networkType")
        yield from _misfit(networks, floating["physicalNetwork"], path, vlan=vlan)


def _baremetal_types(features: Features) -> Iterator[Problem]:
    networks = features["networking"]["externalNetworks"]
    for index, network in enumerate(features["baremetal"]["networks"]):
        path: DocumentPath = ("baremetal", "networks", index, "vlan")
        yield from _misfit(networks, network["physicalNetwork"], path, vlan=network["vlan"] is not None)


def _misfit(networks: Any, physical: str | None, path: DocumentPath, *, vlan: bool) -> Iterator[Problem]:
    index = next((place for place, one in enumerate(networks) if one["name"] == physical), None)
    if index is None or bool(networks[index]["vlanRanges"]) == vlan:
        return
    ranges = format_path((*_ROOT, "networking", "externalNetworks", index, "vlanRanges"))
    if vlan:
        yield _problem(path, rules.NETWORK_WITHOUT_VLANS, physical=physical, ranges=ranges)
    else:
        yield _problem(path, rules.NETWORK_WITH_VLANS, physical=physical, ranges=ranges)


def _image_stores(backends: Any) -> Iterator[Problem]:
    claimed = [index for index, backend in enumerate(backends) if backend["type"] == "pvc"]
    for index in claimed[1:]:
        yield _problem(("image", "backends", index, "type"), rules.SECOND_IMAGE_VOLUME)


def _own_domains(domains: Any) -> Iterator[Problem]:
    taken: dict[str, str] = {}
    for index, domain in enumerate(domains):
        path: DocumentPath = ("identity", "ldap", "domains", index, "name")
        name = domain["name"].lower()
        if name in _DOMAINS:
            yield _problem(path, rules.DOMAIN_OF_KEYSTONE, name=name)
        elif name in taken:
            yield _problem(path, rules.DOMAIN_TWICE, name=taken[name])
        else:
            taken[name] = domain["name"]


def _rotation_window(rotation: Features | None) -> Iterator[Problem]:
    if rotation is None or rotation["window"] is None:
        return
    path: DocumentPath = ("credentialRotation", "window", "duration")
    try:
        length = parse_duration(rotation["window"]["duration"])
    except ValueError as error:
        yield _problem(path, rules.ROTATION_WINDOW_MALFORMED, fault=error)
        return
    if not _SHORTEST_WINDOW <= length <= _LONGEST_WINDOW:
        yield _problem(path, rules.ROTATION_WINDOW_LENGTH, length=format_duration(length))


def _reserved_secrets(features: Features) -> Iterator[Problem]:
    """Those of certificates; what values refer to is looked at where they are read."""
    tls, balancer = features["tls"], features["loadBalancer"]
    named = {
        ("tls", "internal", "authoritySecret"): tls["internal"]["authoritySecret"],
        ("tls", "internal", "caSecret"): tls["internal"]["caSecret"],
        ("tls", "public", "caSecret"): tls["public"]["caSecret"],
        ("tls", "public", "secretName"): tls["public"]["secretName"],
        ("loadBalancer", "certificatesSecret"): balancer["certificatesSecret"],
    }
    for path, name in named.items():
        what = reserved(name) if name else ""
        if what:
            yield _problem(path, rules.SECRET_RESERVED, name=name, purpose=what)


def _schedules(database: Features) -> Iterator[Problem]:
    given = {("backup",): database["backup"]["schedule"]} | {
        ("cleanup", service): cleanup["schedule"] for service, cleanup in database["cleanup"].items()
    }
    for path, schedule in given.items():
        if schedule and (wrong := schedule_problem(schedule)):
            yield _problem(("database", *path, "schedule"), rules.SCHEDULE_MALFORMED, fault=wrong)


def _policies(policies: Features) -> Iterator[Problem]:
    for service, written in policies.items():
        for name, rule in written.items():
            if name != PATCH and (wrong := rule_problem(rule)):
                yield _problem(("policies", service, name), rules.POLICY_RULE_MALFORMED, fault=wrong)


def _marks(value: Any, path: DocumentPath) -> Iterator[Problem]:
    """Marks of merging, which a template would take for its own."""
    if isinstance(value, Mapping):
        if "$patch" in value:
            yield _problem((*path, "$patch"), rules.PATCH_IN_FEATURES)
        for key, item in value.items():
            yield from _marks(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marks(item, (*path, index))
