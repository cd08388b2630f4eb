"""Values for labelled nodes: one way to write them, both of OpenStack-Helm's ways to say them.

    nodes:
      "role::gpu": {services: {compute: {nova: {compute: {values: {conf: {…}}}}}}}

Form `conf` (nova, neutron, octavia): `conf.overrides.<chart>_<daemonset>.labels`, a list of labels with
conf; only `conf` can differ, and the name of every DaemonSet of the set is a digest of all its labels.
Form `values` (libvirt, ovn): `overrides.<chart>_<daemonset>.labels."<label>::<value>".values`; any value
can differ, and the default DaemonSet keeps its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.spec_rules import pods_and_nodes as rules
from controller.domain.releases.bundle import ChartRef, ReleaseSpec
from controller.domain.values.catalogue import NODE_FORM_CONF, ChartEntry, ServiceEntry
from controller.domain.values.chart_values import (
    PATCH,
    DocumentPath,
    Path,
    Values,
    format_path,
    is_map,
    lookup,
    type_name,
)
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import LayerKind, SpecSource
from controller.domain.values.merge import MergedValues, merge_onto
from controller.domain.values.suggestion import suggestion, unknown_key
from controller.errors import Problem, SpecInvalid

_LABEL = re.compile(
    r"^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
_LABEL_VALUE = re.compile(r"^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
_NAME = re.compile(r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$")
SEPARATOR = "::"
# DaemonSets that neutron's chart makes with one of `network.backend` only, whatever their switch says.
_BACKEND_OF = {("neutron", "ovs-agent"): "openvswitch", ("neutron", "sriov-agent"): "sriov"}


@dataclass(frozen=True)
class _NodeValues:
    """Values of one DaemonSet on the nodes with one label."""

    label: str
    daemonset: str
    values: Mapping[str, Any]
    path: DocumentPath


def node_layer(
    spec: SpecSource, service: ServiceEntry, chart: str, below: MergedValues, *, shipped: bool = False
) -> tuple[Layer | None, list[Problem]]:
    """The layer that puts the values of `spec.nodes` into a release, None where nothing is said about it.

    `below` is what all nodes get: values for some of them must be of the same types. Labels are taken in
    alphabetical order, which for form `conf` is their precedence: a node that has two of them follows the
    last. `shipped`: the chart is one of ours.
    """
    entry = service.charts[chart]
    found = list(_of_chart(spec.spec, service.name, chart))
    if not found:
        return None, []
    problems = [problem for item in found for problem in _check(item, chart, entry, below.values)]
    problems += [
        problem for layer in label_layers(spec, service, chart) for problem in _misfits(layer, below)
    ]
    if entry.node_form == NODE_FORM_CONF:
        problems += _given_twice(chart, found, below)
        problems += () if shipped else _bad_names(chart, found)
    if problems:
        return None, problems
    values = _as_conf(chart, found) if entry.node_form == NODE_FORM_CONF else _as_values(chart, found)
    origins = dict(_origins(chart, entry, found))
    return Layer(LayerKind.NODES, values, spec.source, (), spec.lines, origins), []


def label_layers(spec: SpecSource, service: ServiceEntry, chart: str) -> list[Layer]:
    """What each label changes of the chart's values, as it is written in the spec."""
    return [
        Layer(LayerKind.NODES, item.values, spec.source, item.path, spec.lines)
        for item in _of_chart(spec.spec, service.name, chart)
        if isinstance(item.values, dict)
    ]


def _misfits(layer: Layer, below: MergedValues) -> list[Problem]:
    """Values of one label that are of another type than those of all nodes, or that would delete some."""
    problems = [
        rules.NODE_VALUE_DELETED.at(layer.full_path(path), source=layer.place(path))
        for path in _deletions(layer.values, ())
    ]
    try:
        merge_onto(below, [layer] if not problems else [])
    except SpecInvalid as error:
        problems += error.problems
    return problems


def _deletions(values: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for key, value in values.items():
        if value is None or key == PATCH:
            yield (*path, key)
        elif is_map(value):
            yield from _deletions(value, (*path, key))


def _given_twice(chart: str, found: list[_NodeValues], below: MergedValues) -> Iterator[Problem]:
    """Labels that the release's own values list already: of two lists, one would be lost."""
    for daemonset in dict.fromkeys(item.daemonset for item in found):
        path: Path = ("conf", "overrides", f"{chart}_{daemonset}", "labels")
        if lookup(below.values, path):
            layer = below.history.layer_of(path)
            yield rules.NODE_LABELS_IN_VALUES.at(
                layer.full_path(path) if layer else f"{chart}: {format_path(path)}",
                source=layer.place(path) if layer else "",
            )


def _bad_names(chart: str, found: list[_NodeValues]) -> Iterator[Problem]:
    """Labels that Kubernetes takes for no part of a name: helm-toolkit names DaemonSet and Secret by them."""
    for label in dict.fromkeys(item.label for item in found):
        key = label.partition(SEPARATOR)[0]
        if _NAME.match(f"{chart}-{key.lower().replace('_', '-')}-0"):
            continue
        own = key.rpartition("/")[2].strip("._-") or "my-label"
        value = label.partition(SEPARATOR)[2]
        yield rules.NODE_LABEL_NOT_USABLE.at(
            format_path(("spec", "nodes", label)), chart=chart, key=key, value=value, own=own
        )


def _origins(
    chart: str, entry: ChartEntry, found: list[_NodeValues]
) -> Iterator[tuple[DocumentPath, DocumentPath]]:
    """The field behind each part of the layer."""
    positions: dict[str, int] = {}
    for item in found:
        key = f"{chart}_{item.daemonset}"
        position = positions[key] = positions.get(key, -1) + 1
        if entry.node_form == NODE_FORM_CONF:
            alone = sum(other.daemonset == item.daemonset for other in found) == 1
            yield ("conf", "overrides", key), item.path if alone else ("spec", "nodes")
            root: DocumentPath = ("conf", "overrides", key, "labels", position)
        else:
            root = ("overrides", key, "labels", item.label, "values")
            yield root[:-1], item.path
        yield root, item.path
        for path in _paths(item.values):
            yield (*root, *path), (*item.path, *path)


def _paths(value: Any, path: DocumentPath = ()) -> Iterator[DocumentPath]:
    """Every key and list item of the value, and within it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, (*path, key))


def _of_chart(spec: Mapping[str, Any], service: str, chart: str) -> Iterator[_NodeValues]:
    for label, body in sorted((spec.get("nodes") or {}).items()):
        daemonsets = lookup(body, ("services", service, chart)) or {}
        for daemonset, content in sorted(daemonsets.items()) if isinstance(daemonsets, dict) else ():
            path = ("spec", "nodes", label, "services", service, chart, daemonset)
            values = content.get("values") if isinstance(content, dict) else content
            yield _NodeValues(label, daemonset, values if values is not None else {}, (*path, "values"))


def _is_there(chart: str, daemonset: str, values: Values) -> bool:
    """Whether a release with these values has the DaemonSet, as the switches of OpenStack-Helm's charts say:
    `manifests.daemonset_<name>`, with the chart's name in it where the name alone is that of none."""
    name = daemonset.replace("-", "_")
    switches = lookup(values, ("manifests",)) or {}
    switch = next(
        (key for key in (f"daemonset_{name}", f"daemonset_{chart}_{name}") if key in switches), None
    )
    backends, needed = lookup(values, ("network", "backend")), _BACKEND_OF.get((chart, daemonset))
    off = needed is not None and isinstance(backends, list) and needed not in backends
    return not off and (switch is None or bool(switches[switch]))


def _check(item: _NodeValues, chart: str, entry: ChartEntry, below: Values) -> Iterator[Problem]:
    where = format_path(item.path)
    if item.daemonset not in entry.daemonsets:
        remedy = suggestion(item.daemonset, entry.daemonsets)
        yield rules.NODE_DAEMONSET_UNKNOWN.at(where, chart=chart, daemonset=item.daemonset, suggestion=remedy)
    elif not _is_there(chart, item.daemonset, below):
        there = [name for name in entry.daemonsets if _is_there(chart, name, below)]
        yield rules.NODE_DAEMONSET_MISSING.at(
            where, chart=chart, daemonset=item.daemonset, suggestion=suggestion(item.daemonset, there)
        )
    elif not isinstance(item.values, dict):
        yield rules.NODE_VALUES_NO_MAP.at(where, got=type_name(item.values))
    elif entry.node_form == NODE_FORM_CONF:
        for key in item.values:
            if key != "conf":
                yield rules.NODE_VALUES_NOT_CONF.at(format_path((*item.path, key)), key=key, chart=chart)


def check_nodes(spec: Mapping[str, Any], services: Mapping[str, ServiceEntry]) -> list[Problem]:
    """Keys of `spec.nodes` that are no `<label>::<value>`, and services and charts that are not there.

    `services` are those of the region, by name.
    """
    problems = []
    for key, body in (spec.get("nodes") or {}).items():
        path: DocumentPath = ("spec", "nodes", key, "services")
        for service, charts in (lookup(body, ("services",)) or {}).items():
            if service not in services:
                problems.append(unknown_key(path, 'service "%" in this region', service, services))
                continue
            known = services[service].charts
            problems += [
                unknown_key((*path, service), f'chart "%" in service {service}', chart, known)
                for chart in charts or {}
                if chart not in known
            ]
        label, separator, value = key.partition(SEPARATOR)
        if not separator or not _LABEL.match(label) or not _LABEL_VALUE.match(value):
            problems.append(rules.NODE_LABEL_MALFORMED.at(format_path(("spec", "nodes", key)), key=key))
    return problems


def labels_without_a_node(spec: Mapping[str, Any], nodes: Sequence[Mapping[str, str]]) -> Iterator[Problem]:
    """Keys of `spec.nodes` whose label no node of a cluster has. `nodes` are the labels of each."""
    for key in spec.get("nodes") or {}:
        label, _, value = key.partition(SEPARATOR)
        if not any(labels.get(label) == value for labels in nodes):
            yield rules.NODE_LABEL_UNUSED.at(format_path(("spec", "nodes", key)), label=label, value=value)


def _as_conf(chart: str, found: list[_NodeValues]) -> Values:
    overrides: dict[str, Any] = {}
    for item in found:
        key, _, value = item.label.partition(SEPARATOR)
        labels = overrides.setdefault(f"{chart}_{item.daemonset}", {"labels": []})["labels"]
        labels.append({"label": {"key": key, "values": [value]}, "conf": item.values.get("conf") or {}})
    return {"conf": {"overrides": overrides}}


def _as_values(chart: str, found: list[_NodeValues]) -> Values:
    overrides: dict[str, Any] = {}
    for item in found:
        labels = overrides.setdefault(f"{chart}_{item.daemonset}", {"labels": {}})["labels"]
        labels[item.label] = {"values": item.values}
    return {"overrides": overrides}


def renamed_daemonsets(chart: ChartRef, before: Values, after: Values) -> tuple[str, ...]:
    """DaemonSets of form `conf` that a change of values renames, so that all their pods restart at once.

    helm-toolkit puts a digest of all labels into the name of every DaemonSet of a set, the default one
    included: adding or removing one label replaces them all. Names are those of the default DaemonSets.
    The charts shipped with the controller keep the default one's name.
    """
    if chart.is_shipped:
        return ()
    old, new = _label_sets(before), _label_sets(after)
    changed = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    prefix = f"{chart.name}_"
    return tuple(f"{chart.name}-{key.removeprefix(prefix)}" for key in changed)


def rename_warnings(before: Iterable[ReleaseSpec], after: Iterable[ReleaseSpec]) -> tuple[Problem, ...]:
    """One warning for each DaemonSet that is renamed between two specs of the same releases.

    `before` is what was asked for until now (of HelmBundles, or of another rendering), `after` what is
    asked for next. Releases that come or go are not warned about: their pods start or stop anyway.
    """
    known = {release.name: release for release in before}
    return tuple(
        rules.DAEMONSET_RENAMED.at("spec.nodes", release=release.name, daemonset=name)
        for release in after
        if release.name in known
        for name in renamed_daemonsets(release.chart, known[release.name].values, release.values)
    )


def nodes_left_out(chart: ChartRef, values: Values) -> Iterator[Problem]:
    """DaemonSets of form `values` that leave out nodes with two of their labels, one warning for each.

    helm-toolkit (_daemonset_overrides_root.tpl) has each DaemonSet of a set avoid the labels of all others,
    and the default one those of all: a node with two of them gets no pod. Values of one label are of
    different nodes. The charts shipped with the controller have the later label win.
    """
    if chart.is_shipped:
        return
    for name, body in sorted((lookup(values, ("overrides",)) or {}).items()):
        labels = sorted(lookup(body, ("labels",)) or ())
        if len({label.partition(SEPARATOR)[0] for label in labels}) > 1:
            listed = ", ".join(label.replace(SEPARATOR, "=") for label in labels)
            daemonset = name.removeprefix(f"{chart.name}_")
            yield rules.NODE_LABELS_TOGETHER.at(
                "spec.nodes", chart=chart.name, daemonset=daemonset, labels=listed
            )


def _label_sets(values: Values) -> dict[str, list[Any]]:
    overrides = lookup(values, ("conf", "overrides")) or {}
    sets = {}
    for key, body in overrides.items():
        labels = lookup(body, ("labels",)) or []
        hosts = lookup(body, ("hosts",)) or []
        if labels or hosts:
            sets[key] = [[entry.get("label") for entry in labels], [entry.get("name") for entry in hosts]]
    return sets
