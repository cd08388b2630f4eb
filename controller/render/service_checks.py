"""Finds what releases lack, or do badly without, by the checks of services. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from controller.domain.shared.cel import CelError, Expression
from controller.domain.shared.lenient_yaml import read_document
from controller.domain.values.chart_values import lookup
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.merge import MergedValues
from controller.domain.values.rules.checks import ServiceCheck
from controller.errors import Problem

_OURS = (LayerKind.VERSION, LayerKind.PRESET, LayerKind.SIZE, LayerKind.SERVICE, LayerKind.EVERY_RELEASE)
_PLACEHOLDER = re.compile(r"\$\{(\w*)\}?")

Evaluate = Callable[[Expression, Any], Any]


def failed_checks(
    check: ServiceCheck, features: Mapping[str, Any], releases: Mapping[str, MergedValues]
) -> Iterator[Problem]:
    """What the check finds. `releases` are the final values of all of them, by name; there is nothing to find
    where its own is not among them. Raises CelError for a check that does not fit the values."""
    if check.release not in releases:
        return
    functions = functions_on(releases[check.release])

    def evaluate(what: Expression, item: Any) -> Any:
        given = {"features": features, "releases": sorted(releases), "item": item}
        return what.value({name: given[name] for name in what.variables if name in given}, functions)

    if check.when is not None and not evaluate(check.when, None):
        return
    for item in evaluate(check.for_each, None) if check.for_each is not None else (None,):
        lacking = evaluate(check.lacks, item) if check.lacks is not None else ()
        if lacking or not _is_met(check.needs, item, evaluate):
            words = {"item": str(item), "lacks": ", ".join(map(str, lacking))}
            yield check.rule.at(check.rule.path, **words)


def is_operators(merged: MergedValues, *path: str) -> bool:
    """Whether a value, or something below it, is neither the chart's nor ours."""
    layer = merged.history.layer_of(path)
    return layer is not None and not any(f"{layer.name} ".startswith(f"{kind} ") for kind in _OURS)


def _is_met(needs: Expression | None, item: Any, evaluate: Evaluate) -> bool:
    """Whether a condition holds, if there is one. One that asks a value for what its shape does not have does
    not hold."""
    try:
        return needs is None or evaluate(needs, item) is True
    except CelError:
        return False


def functions_on(merged: MergedValues) -> Mapping[str, Callable[..., Any]]:
    """What checks can ask of the values of a release."""
    return {
        # The final value at a path; null where there is none.
        "value": lambda path: lookup(merged.values, _path(path)),
        # Whether it is there, and neither empty nor off.
        "given": lambda path: bool(lookup(merged.values, _path(path))),
        # Whether anything but the chart has set it, or something below it.
        "chosen": lambda path: merged.history.layer_of(_path(path)) is not None,
        # Whether the operator has set it, or something below it.
        "own": lambda path: is_operators(merged, *_path(path)),
        "keys": lambda found: sorted(found or {}),
        "listed": _listed,
        "document": _document,
        "placeholders": _placeholders,
        "isTemplate": lambda found: isinstance(found, str) and "{{" in found,
    }


def _path(given: str | list[str]) -> tuple[str, ...]:
    """A path with dots, or its keys."""
    return tuple(given.split(".") if isinstance(given, str) else given)


def _listed(given: Any) -> list[str]:
    """The items of a list, or of a text with commas."""
    named = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else []
    return [name for one in named if (name := str(one).strip())]


def _document(given: Any) -> Any:
    """What a text says in YAML, null where it is none; anything else as it is."""
    if not isinstance(given, str):
        return given
    try:
        return read_document(given, lambda event: event.value)
    except (yaml.YAMLError, ValueError):
        return None


def _placeholders(given: Any) -> list[str]:
    """The names in `${…}` of a text."""
    return sorted(set(_PLACEHOLDER.findall(given if isinstance(given, str) else str(given))))
