"""How often pods run and what they ask for, as an operator wrote it: `pod.replicas` and `pod.resources`.

Charts take any key and any value there without a word; the API server refuses the objects much later, or
nothing happens at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import PATCH, Path, Values, is_map, lookup, type_name
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.merge import Layer
from controller.domain.values.typos import suggestion
from controller.errors import Problem

_REPLICAS, _RESOURCES = ("pod", "replicas"), ("pod", "resources")
_AMOUNTS = ("requests", "limits")
# Kubernetes' own (apimachinery, pkg/api/resource), without a sign: nothing is asked for less than zero.
_QUANTITY = re.compile(r"(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_RESOURCE = re.compile(r"cpu|memory|ephemeral-storage|hugepages-.+|[a-z0-9.-]+/.+")


def pod_problems(layer: Layer) -> Iterator[Problem]:
    """What Kubernetes would refuse of this layer of the spec."""
    for path, value in _entries(layer.values, _REPLICAS):
        if not _is_count(value):
            message = f"expected a whole number, got {type_name(value)}"
            yield _problem(layer, path, message, "say how many pods there are to be, as 3")
    for path, value in _entries(layer.values, _RESOURCES):
        if is_map(value):
            yield from _resources(layer, path, value)


def pod_warnings(layer: Layer, lower: Values, chart: str) -> Iterator[Problem]:
    """Names of pods that the chart with the values `lower` does not have. What is said for several charts
    at once need not be in each."""
    kind, _, _ = layer.name.partition(" ")
    if layer.name == LayerKind.COMMON or (kind.startswith("common.") and ".releases" not in layer.name):
        return
    for place in (_REPLICAS, _RESOURCES, (*_RESOURCES, "jobs")):
        known = lookup(lower, place)
        if not is_map(known):
            continue
        for path, value in _entries(layer.values, place):
            if path[-1] not in known and value is not None:
                message = f'chart {chart} has no "{path[-1]}" here: it has no effect'
                yield _problem(layer, path, message, f"known are {', '.join(sorted(known))}")


def _entries(values: Values, place: Path) -> Iterator[tuple[Path, Any]]:
    found = lookup(values, place)
    for key, value in found.items() if is_map(found) else ():
        if key != PATCH:
            yield (*place, key), value


def _is_count(value: Any) -> bool:
    """Whether it is a number of pods, or says that the chart's is to be taken."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.isascii() and value.isdecimal()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _resources(layer: Layer, path: Path, found: Mapping[str, Any]) -> Iterator[Problem]:
    """Of one container, or of a map of them, as `jobs` is one."""
    for key, value in found.items():
        if key in _AMOUNTS and is_map(value):
            for name, amount in value.items():
                yield from _amount(layer, (*path, key, name), amount)
        elif is_map(value):
            yield from _resources(layer, (*path, key), value)


def _amount(layer: Layer, path: Path, amount: Any) -> Iterator[Problem]:
    if path[-1] == PATCH or amount is None:
        return
    if not _RESOURCE.fullmatch(path[-1]):
        remedy = suggestion(path[-1], ("cpu", "memory", "ephemeral-storage"))
        yield _problem(layer, path, f'Kubernetes has no resource "{path[-1]}"', remedy)
    elif not _is_quantity(amount):
        message = f"expected a quantity of Kubernetes, got {type_name(amount)}"
        yield _problem(layer, path, message, "write it as 500m or 2 for CPU, as 512Mi or 4Gi for memory")


def _is_quantity(amount: Any) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return False
    return bool(_QUANTITY.fullmatch(amount)) if isinstance(amount, str) else amount >= 0


def _problem(layer: Layer, path: Path, message: str, remedy: str) -> Problem:
    return Problem(layer.full_path(path), message, remedy, layer.place(path))
