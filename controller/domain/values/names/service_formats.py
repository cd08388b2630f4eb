"""What services read themselves of the text of an option, when they start; oslo.config takes any text. Pure.

The kinds: `cpus` (nova.virt.hardware, parse_cpu_spec), `pages` and `page`
(numa_get_reserved_huge_pages and _numa_get_pagesize_constraints there),
`devices` (nova.pci.devspec), `alias` (nova.pci.request), `vlans` (neutron_lib.plugins.utils,
parse_network_vlan_range), `tunnels` (ML2's tunnel types), `mapping` (neutron_lib.utils.helpers,
parse_mappings), `bandwidths` (neutron_lib.placement.utils). A service that cannot read such a text ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_CPUS = "CPUs, as 4-15,^6"
_PAGES = "pages of a NUMA node, as node:0,size:2MB,count:64, with a size in KiB or with a unit such as 1GB"
_PAGE = "large, small, any, or a size as 2048 (in KiB) or 1GB"
_DEVICES = 'a device in JSON, as {"vendor_id": "8086", "product_id": "154d"}'
_ADDRESS = f'{_DEVICES}, and an address of it as "0000:0a:00.0" or "*:0a:00.*"'
_ONE_PLACE = f"{_DEVICES}, with either address or devname"
_ALIAS = 'an alias in JSON, as {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}'
_VLANS = "a physical network, with two VLANs from 1 to 4094 or without, as rack1:100:199"
_TUNNELS = "two numbers, the smaller one first, as 1:1000"
_MAPPING = "pairs of a network and what serves it, as rack1:br-ex, each name once"
_BANDWIDTHS = "a device with two numbers in kbit/s, as br-ex:10000:10000; each number may be absent"

# oslo.utils, string_to_bytes in units of IEC.
_SIZE = re.compile(r"[-+]?\d*\.?\d+(?:[KMGTPEZYRQ]i?)?(?:b|bit|B)")
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_ALIAS_KEYS = {
    "name": None,
    "capability_type": ("pci",),
    "product_id": None,
    "vendor_id": None,
    "device_type": ("type-PCI", "type-PF", "type-VF"),
    "numa_policy": ("required", "legacy", "preferred", "socket"),
    "resource_class": None,
    "traits": None,
    "live_migratable": None,
}
# Domain, bus, slot and function of a PCI address, each with the largest number.
_LARGEST = (0xFFFF, 0xFF, 0x1F, 0x7)


def cpus(text: str) -> frozenset[int] | None:
    """The CPUs of a set as Nova writes them; None where Nova cannot read it."""
    taken, left_out = set[int](), set[int]()
    for rule in filter(None, (one.strip() for one in text.split(","))):
        out = rule.startswith("^")
        first, dash, last = rule.removeprefix("^").partition("-")
        try:
            start, end = int(first), int(last if dash else first)
        except ValueError:
            return None
        if start > end:
            return None
        (left_out if out else taken).update(range(start, end + 1))
    return frozenset(taken - left_out)


def _cpus(text: str) -> str:
    return "" if not text.strip() or cpus(text) else _CPUS


def _pages(text: str) -> str:
    pairs = (one.partition(":") for one in text.split(","))
    given = {name.strip(): value.strip() for name, _, value in pairs}
    try:
        if not _is_number(given["size"]) and not _SIZE.fullmatch(given["size"]):
            return _PAGES
        int(given["node"]), int(given["count"])
    except (KeyError, ValueError):
        return _PAGES
    return ""


def _page(text: str) -> str:
    size = text.isdigit() or _SIZE.fullmatch(text) is not None
    return "" if size or text in ("large", "small", "any") else _PAGE


def _is_number(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _devices(text: str) -> str:
    found = _json(text)
    devices = found if isinstance(found, list) else [found]
    return next(filter(None, map(_device, devices)), "")


def _device(one: Any) -> str:
    if not isinstance(one, Mapping):
        return _DEVICES
    if one.get("address") and one.get("devname"):
        return _ONE_PLACE
    ids = (one.get(name, "*") for name in ("vendor_id", "product_id"))
    if not all(_is_hexadecimal(each, 0xFFFF) for each in ids):
        return _DEVICES
    return "" if _is_address(one.get("address")) else _ADDRESS


def _is_address(given: Any) -> bool:
    """Whether Nova reads it: a text with wildcards, or regular expressions for its parts."""
    if isinstance(given, Mapping):
        return all(_is_pattern(given.get(part, "")) for part in ("domain", "bus", "slot", "function"))
    if given is None or given == "":
        return True
    if not isinstance(given, str):
        return False
    place, _, function = given.partition(".")
    parts = place.split(":") if place else []
    whole = [*["*"] * (3 - len(parts)), *(part.strip() or "*" for part in parts), function.strip() or "*"]
    return len(parts) <= 3 and all(map(_is_hexadecimal, whole, _LARGEST))


def _is_pattern(given: Any) -> bool:
    try:
        re.compile(given)
    except (re.error, TypeError):
        return False
    return True


def _is_hexadecimal(given: Any, largest: int) -> bool:
    if not isinstance(given, str):
        return False
    try:
        return given.strip() == "*" or 0 <= int(given, 16) <= largest
    except ValueError:
        return False


def _alias(text: str) -> str:
    found = _json(text)
    if not isinstance(found, Mapping) or not found.get("name"):
        return _ALIAS
    for name, value in found.items():
        words = _ALIAS_KEYS.get(name, ())
        if not isinstance(value, str) or (words is not None and value not in words):
            return _ALIAS
    ids = (found[name] for name in ("vendor_id", "product_id") if name in found)
    return "" if all(map(_HEX4.fullmatch, ids)) else _ALIAS


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _vlans(text: str) -> str:
    network, colon, ids = text.strip().partition(":")
    if not colon:
        return "" if network else _VLANS
    return "" if network and _in_order(ids.split(":"), range(1, 4095)) else _VLANS


def _tunnels(text: str) -> str:
    return "" if _in_order(text.split(":"), range(1, 2**32)) else _TUNNELS


def _in_order(given: Iterable[str], allowed: range) -> bool:
    try:
        first, last = (int(one) for one in given)
    except ValueError:
        return False
    return first <= last and first in allowed and last in allowed


def _mapping(text: str) -> str:
    names = set[str]()
    for one in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = (part.strip() for part in one.partition(":"))
        if not name or not value or ":" in value or name in names:
            return _MAPPING
        names.add(name)
    return ""


def _bandwidths(text: str) -> str:
    _, colon, rates = text.partition(":")
    given = rates.split(":") if colon else ["", ""]
    good = len(given) == 2 and all(not one or (_is_number(one) and int(one) >= 0) for one in given)
    return "" if good else _BANDWIDTHS


FORMATS: Mapping[str, Callable[[str], str]] = {
    "cpus": _cpus,
    "pages": _pages,
    "page": _page,
    "devices": _devices,
    "alias": _alias,
    "vlans": _vlans,
    "tunnels": _tunnels,
    "mapping": _mapping,
    "bandwidths": _bandwidths,
}
