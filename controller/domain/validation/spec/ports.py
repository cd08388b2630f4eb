"""Numbers that become ports, and are none: in addresses of a spec, and in values of charts. Pure.

Options of oslo.config are looked at with their types (`wrong_option_values`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import effects as rules
from controller.domain.values.chart_values import DocumentPath, Path, format_path, leaves, lookup
from controller.domain.values.layer import Layer
from controller.errors import Problem

_PORTS = range(1, 65536)
# Of kube-apiserver's --service-node-port-range, unless the cluster has another one.
_NODE_PORTS = range(30000, 32768)
_KEY = re.compile(r"(?:^|_)ports?$|^(?:node|container|target|host)Port$")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s]*@)?(?:\[[^\]]*\]|[^/:\s]*):(\d+)(?:[/?#].*)?")
_REGISTRY = re.compile(r"[^/:\s]+:(\d+)(?:/\S*)?")
# Fields of a spec that are a host with a port, and no URL.
_HOSTS: tuple[Path, ...] = (("images", "registry"), ("images", "overrides"))
# Values and options, which charts and services read; a mapping is Keystone's.
_FREE = frozenset(("common", "services", "nodes", "mapping", "metadata", "settings", "policies"))


def address_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Addresses in fields of the spec with a port that no server can have."""
    yield from _addresses(spec, ())


def _addresses(value: Any, path: DocumentPath) -> Iterator[Problem]:
    if isinstance(value, str):
        found = _URL.fullmatch(value)
        if found is None and path[:2] in _HOSTS and "/" in value:
            found = _REGISTRY.fullmatch(value.partition("/")[0])
        if found is not None and int(found[1]) not in _PORTS:
            yield rules.NO_PORT.at(format_path(("spec", *path)), number=found[1])
        return
    items: Any = value.items() if isinstance(value, Mapping) else ()
    for key, part in enumerate(value) if isinstance(value, list) else items:
        if key not in _FREE:
            yield from _addresses(part, (*path, key))


def port_problems(layer: Layer) -> Iterator[Problem]:
    """Ports of endpoints, of Services, of pods and of addresses in the values of a layer."""
    for path, value in leaves(layer.values):
        url = _URL.fullmatch(value) if isinstance(value, str) else None
        if url is not None and int(url[1]) not in _PORTS:
            yield rules.NO_PORT.at(layer.full_path(path), source=layer.place(path), number=url[1])
        number = _number(value) if path[0] != "conf" and _is_port(path) else None
        if number is not None and number not in _PORTS:
            yield rules.NO_PORT.at(layer.full_path(path), source=layer.place(path), number=value)


def node_port_warnings(layer: Layer, final: Mapping[str, Any]) -> Iterator[Problem]:
    """Ports of nodes that clusters do not give away by default."""
    for path, value in leaves(layer.values):
        number = _number(value)
        if path[-2:] != ("node_port", "port") or number is None or number not in _PORTS:
            continue
        if lookup(final, (*path[:-1], "enabled")) and number not in _NODE_PORTS:
            yield rules.NODE_PORT_RANGE.at(layer.full_path(path), source=layer.place(path), number=number)


def _is_port(path: Path) -> bool:
    return (path[0] == "endpoints" and "port" in path[2:]) or bool(_KEY.search(path[-1]))


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() else None
