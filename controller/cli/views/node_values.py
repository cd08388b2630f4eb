"""Values of some nodes instead of a release's value: from `spec.nodes`, or from `services` in the chart's own
form. It reads the two forms of OpenStack-Helm's charts (`controller/domain/region/node_overrides.py`).
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.region.node_overrides import SEPARATOR
from controller.domain.values.chart_values import DocumentPath, Path, is_map, leaves, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues
from controller.domain.values.value_provenance import CHART_DEFAULTS

_CONF: Path = ("conf", "overrides")
_VALUES: Path = ("overrides",)


@dataclass(frozen=True)
class NodeValue:
    """One value of the pods of one DaemonSet on some nodes.

    `nodes` says which: a label with its value, or the name of a node. `daemonset` is with the chart's name,
    as `nova_compute`. `origin` is the field behind it, and `place` its `file:line`.
    """

    nodes: str
    daemonset: str
    path: Path
    value: Any
    layer: str
    origin: str
    place: str


@dataclass(frozen=True)
class _Group:
    """Values of some nodes: the leaf of the release's values that contains them, and their place in it."""

    nodes: str
    daemonset: str
    leaf: Path
    root: DocumentPath
    values: Mapping[str, Any]


def node_values(merged: MergedValues, about: Path = ()) -> tuple[NodeValue, ...]:
    """The values at a path and below it that differ on some nodes, in the chart's order: the last match for a
    node wins.
    """
    return tuple(
        _node_value(merged.history.layer_of(group.leaf), group, path, value)
        for group in (*_of_conf(merged), *_of_values(merged))
        for path, value in leaves(group.values)
        if path[: len(about)] == about
    )


def _node_value(layer: Layer | None, group: _Group, path: Path, value: Any) -> NodeValue:
    full = (*group.root, *path)
    layer = layer or Layer(CHART_DEFAULTS, {})
    return NodeValue(
        group.nodes, group.daemonset, path, value, layer.name, layer.full_path(full), layer.place(full)
    )


def _of_conf(merged: MergedValues) -> Iterator[_Group]:
    for daemonset, body in _maps(merged, _CONF):
        for kind in ("labels", "hosts"):
            leaf = (*_CONF, daemonset, kind)
            entries = lookup(body, (kind,))
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                conf = lookup(entry, ("conf",))
                if is_map(conf):
                    yield _Group(_name(entry), daemonset, leaf, (*leaf, index), {"conf": conf})


def _of_values(merged: MergedValues) -> Iterator[_Group]:
    for daemonset, body in _maps(merged, _VALUES):
        for kind in ("labels", "hosts"):
            entries = lookup(body, (kind,))
            for key, entry in entries.items() if is_map(entries) else ():
                leaf = (*_VALUES, daemonset, kind, key, "values")
                values = lookup(entry, ("values",))
                if is_map(values):
                    nodes = key.replace(SEPARATOR, "=") if kind == "labels" else f"named {key}"
                    yield _Group(nodes, daemonset, leaf, leaf, values)


def _maps(merged: MergedValues, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = lookup(merged.values, path)
    for key, body in found.items() if is_map(found) else ():
        if is_map(body):
            yield key, body


def _name(entry: Mapping[str, Any]) -> str:
    label = entry.get("label")
    if isinstance(label, Mapping):
        values = label.get("values")
        shown = ",".join(map(str, values)) if isinstance(values, list) else ""
        return f"{label.get('key')}={shown}"
    return f"named {entry.get('name')}"
