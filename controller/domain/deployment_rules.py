"""What must hold between features that lie apart, and what a resource definition cannot say."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values import DocumentPath, format_path
from controller.errors import Problem

Features = Mapping[str, Any]
_ROOT: DocumentPath = ("spec", "features")


def feature_problems(features: Features) -> list[Problem]:
    """Every problem of the completed features (`ResourceSchema.completed`) of a valid object."""
    return [
        *_vlan_ranges(features),
        *_floating_addresses(features),
        *_load_balancer(features),
        *_baremetal(features),
        *_ceph_backup(features),
    ]


def _problem(path: DocumentPath, message: str, remedy: str = "") -> Problem:
    return Problem(format_path(_ROOT + path), message, remedy)


def _vlan_ranges(features: Features) -> Iterator[Problem]:
    for index, network in enumerate(features["networking"]["externalNetworks"]):
        for place, text in enumerate(network["vlanRanges"]):
            first, last = (int(number) for number in text.split(":"))
            if not 1 <= first <= last <= 4094:
                path = ("networking", "externalNetworks", index, "vlanRanges", place)
                yield _problem(path, "must be two VLANs from 1 to 4094, the lower one first")


def _floating_addresses(features: Features) -> Iterator[Problem]:
    floating = features["networking"]["floatingNetwork"]
    path: DocumentPath = ("networking", "floatingNetwork")
    if floating["subnet"]:
        yield from _inside(floating["subnet"], (*path, "subnet"))
    if floating["networkType"] == "vlan" and floating["segmentationID"] is None:
        yield _problem((*path, "segmentationID"), "required, and not set", "networkType is vlan")
    if floating["networkType"] == "flat" and floating["segmentationID"] is not None:
        yield _problem((*path, "segmentationID"), "belongs to networkType vlan")


def _inside(subnet: Features, path: DocumentPath) -> Iterator[Problem]:
    """Addresses of a subnet that lie outside of it, or in the wrong order."""
    network = ipaddress.ip_network(subnet["range"], strict=False)
    for key in ("gateway", "poolStart", "poolEnd"):
        if subnet[key] is not None and ipaddress.ip_address(subnet[key]) not in network:
            yield _problem((*path, key), f"is not an address of {network}")
            return
    start, end = subnet["poolStart"], subnet["poolEnd"]
    if start and end and int(ipaddress.ip_address(start)) > int(ipaddress.ip_address(end)):
        yield _problem((*path, "poolEnd"), "comes before poolStart")


def _load_balancer(features: Features) -> Iterator[Problem]:
    if features["loadBalancer"]["provider"] == "ovn" and features["networking"]["backend"] != "ml2/ovn":
        remedy = "set spec.features.networking.backend to ml2/ovn, or provider to amphora"
        yield _problem(("loadBalancer", "provider"), "ovn needs networking backend ml2/ovn", remedy)


def _baremetal(features: Features) -> Iterator[Problem]:
    known = [network["name"] for network in features["networking"]["externalNetworks"]]
    for index, network in enumerate(features["baremetal"]["networks"]):
        path: DocumentPath = ("baremetal", "networks", index)
        if network["physicalNetwork"] not in known:
            message = "must be the name of one of spec.features.networking.externalNetworks"
            yield _problem((*path, "physicalNetwork"), message, f"known: {', '.join(known) or 'none'}")
        yield from _inside(network, path)


def _ceph_backup(features: Features) -> Iterator[Problem]:
    backup = features["blockStorage"]["backup"]
    if backup["driver"] not in (None, "nfs") and backup["share"]:
        yield _problem(("blockStorage", "backup", "share"), "belongs to driver nfs")
