"""Finds what releases lack, or do badly without, by the checks of services. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from controller.domain.shared.cel import CelError, Expression
from controller.domain.shared.lenient_yaml import read_document
from controller.domain.values.chart_values import lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.service_formats import cpus
from controller.domain.values.rules.checks import ServiceCheck
from controller.errors import Problem
from controller.render.checked_values import CheckedValues, checked_values

_PLACEHOLDER = re.compile(r"\$\{(\w*)\}?")
# A field of spec.services, by service and chart.
_IN_VALUES = re.compile(r"spec\.services\.[^.]+\.[^.]+\.values\.")

Evaluate = Callable[[Expression, Any], Any]


def failed_checks(
    check: ServiceCheck, features: Mapping[str, Any], releases: Mapping[str, MergedValues]
) -> Iterator[Problem]:
    """What the check finds. `releases` are the final values of all of them, by name; there is nothing to find
    where its own is not among them. Raises CelError for a check that does not fit the values."""
    if check.release not in releases:
        return
    of_all: set[str] | None = None
    for values in checked_values(check.release, releases[check.release], check.daemonset):
        problems = list(_failed(check, features, sorted(releases), values))
        # What is wrong on all nodes is not repeated for some of them.
        yield from (one for one in problems if one.message not in (of_all or ()))
        of_all = {one.message for one in problems} if of_all is None else of_all


def _failed(
    check: ServiceCheck, features: Mapping[str, Any], releases: list[str], values: CheckedValues
) -> Iterator[Problem]:
    functions = functions_on(values)

    def evaluate(what: Expression, item: Any) -> Any:
        given = {"features": features, "releases": releases, "item": item}
        return what.value({name: given[name] for name in what.variables if name in given}, functions)

    if check.when is not None and not evaluate(check.when, None):
        return
    for item in evaluate(check.for_each, None) if check.for_each is not None else (None,):
        lacking = evaluate(check.lacks, item) if check.lacks is not None else ()
        if lacking or not _is_met(check.needs, item, evaluate):
            words = {"item": str(item), "lacks": ", ".join(map(str, lacking))}
            at = _value_path(check.rule.path, str(item))
            path, source = values.place(at) if at else ("", "")
            yield check.rule.at(path or check.rule.path.replace("*", str(item)), source=source, **words)


def _value_path(path: str, item: str) -> tuple[str, ...]:
    """The path in the values of a release, where it is one; `*` stands for the item."""
    found = _IN_VALUES.match(path)
    keys = path[found.end() :].split(".") if found else []
    return tuple(item if key == "*" else key for key in keys)


def _is_met(needs: Expression | None, item: Any, evaluate: Evaluate) -> bool:
    """Whether a condition holds, if there is one. One that asks a value for what its shape does not have does
    not hold."""
    try:
        return needs is None or evaluate(needs, item) is True
    except CelError:
        return False


def functions_on(found: CheckedValues) -> Mapping[str, Callable[..., Any]]:
    """What checks can ask of the values of a release."""
    return {
        # The final value at a path; null where there is none.
        "value": lambda path: lookup(found.values, _path(path)),
        # Whether it is there, and neither empty nor off.
        "given": lambda path: bool(lookup(found.values, _path(path))),
        # Whether anything but the chart has set it, or something below it.
        "chosen": lambda path: found.chosen(_path(path)),
        # Whether the operator has set it, or something below it.
        "own": lambda path: found.own(_path(path)),
        "keys": lambda given: sorted(given or {}),
        "listed": _listed,
        "document": _document,
        "placeholders": _placeholders,
        "isTemplate": lambda given: isinstance(given, str) and "{{" in given,
        # A scalar as the text that a file of options has; '' for null.
        "text": _text,
        # Whether an option has one of the words for true.
        "isOn": lambda given: _text(given).strip().lower() in ("true", "1", "yes", "on"),
        # The numbers of a set of CPUs.
        "cpus": lambda given: sorted(cpus(str(given or "")) or ()),
    }


def _text(given: Any) -> str:
    return "" if given is None else str(given).lower() if isinstance(given, bool) else str(given)


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
