"""Checks of an operator's replicas, resources and disruption budgets: `pod.replicas`, `pod.resources` and
`pod.lifecycle.disruption_budget`. Charts accept any key and any value there; the API server refuses the
objects much later, or nothing happens at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import ceil
from typing import Any

from controller.domain.api.spec_rules import pods_and_nodes as rules
from controller.domain.api.spec_rules.rule import Rule
from controller.domain.validation.cluster.asked_resources import parse_quantity
from controller.domain.values.chart_values import PATCH, Path, Values, is_map, lookup, type_name
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem

_REPLICAS, _RESOURCES = ("pod", "replicas"), ("pod", "resources")
_AMOUNTS = ("requests", "limits")
_BUDGETS = ("pod", "lifecycle", "disruption_budget")
# Budgets of OpenStack-Helm's charts that are named otherwise than the replicas that they are about.
_REPLICAS_OF_BUDGET = {"horizon": "server", "mariadb": "server", "metadata": "api_metadata"}
# Kubernetes' own (apimachinery, pkg/api/resource), without a sign: nothing is asked for less than zero.
_QUANTITY = re.compile(r"(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_RESOURCE = re.compile(r"cpu|memory|ephemeral-storage|hugepages-.+|[a-z0-9.-]+/.+")


def pod_problems(layer: Layer) -> Iterator[Problem]:
    """What Kubernetes would refuse of this layer of the spec."""
    for path, value in _entries(layer.values, _REPLICAS):
        if not _is_count(value):
            yield _problem(layer, path, rules.REPLICAS_MALFORMED, got=type_name(value))
    for path, value in _entries(layer.values, _RESOURCES):
        if is_map(value):
            yield from _resources(layer, path, value)


def limit_problems(layer: Layer, values: Values) -> Iterator[Problem]:
    """Containers that ask for more than they may have with the final values, which Kubernetes refuses: those
    whose figures this layer of the spec has."""
    if lookup(values, (*_RESOURCES, "enabled"), True) is False:
        return
    for path, value in _entries(layer.values, _RESOURCES):
        if is_map(value):
            yield from _limits(layer, path, value, values)


def eviction_warnings(layer: Layer, values: Values) -> Iterator[Problem]:
    """Pods of which none may be evicted with the final `values`, so that no node with one can be drained:
    those whose number or budget this layer of the spec has. Kubernetes rounds a percentage up."""
    budgets = lookup(values, _BUDGETS)
    for name in budgets if is_map(budgets) else ():
        places = (*_BUDGETS, name, "min_available"), (*_REPLICAS, _REPLICAS_OF_BUDGET.get(name, name))
        least, count = lookup(values, places[0]), lookup(values, places[1])
        written = [place for place in places if lookup(layer.values, place) is not None]
        if not written or not _is_count(count) or count is None or not int(count):
            continue
        kept = _kept(least, int(count))
        if kept is not None and kept >= int(count):
            yield _problem(
                layer,
                written[0],
                rules.DISRUPTION_BUDGET_FULL,
                kept=kept,
                count=int(count),
                least=".".join(places[0]),
                replicas=".".join(places[1]),
            )


def _kept(least: Any, count: int) -> int | None:
    """How many pods have to stay; None where it is no number and no percentage."""
    text = str(least)
    if isinstance(least, bool) or not text.removesuffix("%").isdecimal() or not text.isascii():
        return None
    return ceil(int(text[:-1]) * count / 100) if text.endswith("%") else int(text)


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
                yield _problem(
                    layer,
                    path,
                    rules.POD_VALUE_UNREAD,
                    chart=chart,
                    key=path[-1],
                    known=", ".join(sorted(known)),
                )


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


def _limits(layer: Layer, path: Path, found: Mapping[str, Any], values: Values) -> Iterator[Problem]:
    """Of one container, or of a map of them."""
    names = {name for key in _AMOUNTS if is_map(found.get(key)) for name in found[key]}
    for name in sorted(names - {PATCH}):
        asked, most = (lookup(values, (*path, key, name)) for key in _AMOUNTS)
        request, limit = _number(asked), _number(most)
        if request is None or limit is None or request <= limit:
            continue
        key = "requests" if name in (found.get("requests") or {}) else "limits"
        yield _problem(
            layer,
            (*path, key, name),
            rules.REQUEST_ABOVE_LIMIT,
            asked=asked,
            resource=name,
            most=most,
            place=".".join((*path, "limits", name)),
        )
    for key, value in found.items():
        if key not in _AMOUNTS and is_map(value):
            yield from _limits(layer, (*path, key), value, values)


def _number(amount: Any) -> Decimal | None:
    try:
        return None if amount is None or isinstance(amount, bool) else parse_quantity(amount)
    except ValueError:
        return None  # reported elsewhere, or from a chart


def _amount(layer: Layer, path: Path, amount: Any) -> Iterator[Problem]:
    if path[-1] == PATCH or amount is None:
        return
    if not _RESOURCE.fullmatch(path[-1]):
        remedy = suggestion(path[-1], ("cpu", "memory", "ephemeral-storage"))
        yield _problem(layer, path, rules.RESOURCE_UNKNOWN, resource=path[-1], suggestion=remedy)
    elif not _is_quantity(amount):
        yield _problem(layer, path, rules.QUANTITY_MALFORMED, got=type_name(amount))


def _is_quantity(amount: Any) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return False
    return bool(_QUANTITY.fullmatch(amount)) if isinstance(amount, str) else amount >= 0


def _problem(layer: Layer, path: Path, rule: Rule, **facts: object) -> Problem:
    return rule.at(layer.full_path(path), source=layer.place(path), **facts)
