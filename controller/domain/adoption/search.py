"""The search for the spec that differs least: one field after the other, as long as one helps. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import lookup

# The measured difference of a spec, None where it cannot be served.
Measure = Callable[[Mapping[str, Any]], int | None]
DocumentField = tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """A field of the spec, and the values that it may have; None leaves it out. With `again`, it is tried as
    long as any field helps, otherwise once."""

    field: DocumentField
    values: tuple[Any, ...]
    again: bool = False

    @property
    def name(self) -> str:
        """`features.networking.backend`."""
        return ".".join(self.field)


@dataclass(frozen=True)
class Step:
    """One field that made the difference smaller."""

    name: str
    value: Any
    before: int
    after: int


@dataclass(frozen=True)
class Found:
    """The best spec, its difference and that of the start (None: it could not be served), the fields that
    helped, and how many specs were measured."""

    spec: Mapping[str, Any]
    difference: int
    start: int | None
    steps: tuple[Step, ...]
    tried: int


class NothingFits(Exception):
    """None of the specs can be served."""


def search(start: Mapping[str, Any], choices: Sequence[Choice], measure: Measure) -> Found:
    """The start is changed only where that makes the difference smaller, so no field is set for nothing.

    Each spec is measured once. Raises NothingFits.
    """
    known: dict[str, int | None] = {}

    def measured(spec: Mapping[str, Any]) -> int | None:
        key = json.dumps(spec, sort_keys=True)
        if key not in known:
            known[key] = measure(spec)
        return known[key]

    best, least = start, measured(start)
    began, steps = least, list[Step]()

    def one_pass(fields: Sequence[Choice]) -> bool:
        nonlocal best, least
        helped = False
        for choice in fields:
            for value in choice.values:
                spec = with_field(best, choice.field, value)
                found = measured(spec)
                if found is not None and (least is None or found < least):
                    steps.append(Step(choice.name, value, -1 if least is None else least, found))
                    best, least, helped = spec, found, True
        return helped

    again = [choice for choice in choices if choice.again]
    while one_pass(again):
        pass
    if one_pass([choice for choice in choices if not choice.again]):
        while one_pass(again):
            pass

    def reconsidered() -> bool:
        """Fields that helped before others were set: each may have another value by now, or go."""
        nonlocal best, least
        changed = False
        fields = {choice.name: choice for choice in choices}
        for name in dict.fromkeys(step.name for step in steps):
            at_first = lookup(start, fields[name].field)
            for value in (at_first, *fields[name].values):
                spec = with_field(best, fields[name].field, value)
                found = measured(spec)
                if found is None or least is None or spec == best:
                    continue
                if found < least or (found == least and value == at_first):
                    steps.append(Step(name, value, least, found))
                    best, least, changed = spec, found, True
        return changed

    while reconsidered():
        pass
    if least is None:
        raise NothingFits
    return Found(best, least, began, tuple(steps), len(known))


def with_field(spec: Mapping[str, Any], field: DocumentField, value: Any) -> dict[str, Any]:
    """A copy with this field; without it for None, and without maps that are empty then."""
    key, *rest = field
    changed = dict(spec)
    below = value
    if rest:
        there = changed.get(key)
        below = with_field(there if isinstance(there, Mapping) else {}, tuple(rest), value) or None
    if below is None:
        changed.pop(key, None)
    else:
        changed[key] = below
    return changed
