"""Merging of values layers into one.

Maps merge; scalars and lists replace. `null` and `{$patch: delete}` delete, `{$patch: replace, …}`
replaces a whole map, `{$secretRef: {name, key}}` is one leaf. A map over something that is no map (or
the reverse) is an error. The words are those of Kubernetes' strategic merge patch; `null` is Helm's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deepmerge import Merger

from controller.domain.api.spec_rules import values as rules
from controller.domain.api.spec_rules.rule import Rule
from controller.domain.values.chart_values import (
    PATCH,
    PATCH_DELETE,
    PATCH_REPLACE,
    SECRET_REF,
    Path,
    Values,
    copied,
    is_map,
    is_secret_ref,
    type_name,
)
from controller.domain.values.layer import Layer
from controller.domain.values.value_provenance import DELETED, HistoryRecorder, ValueHistory
from controller.errors import Problem, SpecInvalid

_SECRET_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")
_SECRET_KEY = re.compile(r"^[-._a-zA-Z0-9]{1,253}$")


@dataclass(frozen=True)
class MergedValues:
    """What a release gets in the end.

    `values` are the effective ones, chart defaults included; they share structure with the defaults and
    are only to be read. `history`: which layer set which of them.
    """

    defaults: Values
    values: Values
    history: ValueHistory

    @cached_property
    def overlay(self) -> dict[str, Any]:
        """What to send to Helm so that chart defaults and overlay together give `values`.

        A key of the defaults that is gone is sent as null, which is how Helm deletes; but not one that is
        null in the defaults, which Helm leaves out by itself, and hands to templates when it is mentioned.
        """
        sent = _overlay((), self.defaults, self.values, self.history)
        return sent if isinstance(sent, dict) else {}


def merge_layers(defaults: Values, layers: Sequence[Layer]) -> MergedValues:
    """Merges the layers, lowest first, over the chart's defaults; no input is changed.

    Raises SpecInvalid with every type conflict and every malformed mark found, naming both layers.
    """
    return merge_onto(MergedValues(defaults=defaults, values=dict(defaults), history=ValueHistory()), layers)


def merge_onto(lower: MergedValues, layers: Sequence[Layer]) -> MergedValues:
    """Merges further layers over what was merged already; as `merge_layers`."""
    history = HistoryRecorder(lower.history)
    problems: list[Problem] = []
    merged: Any = lower.values
    for layer in layers:
        merged = _LayerMerge(layer, history, problems).over(merged)
    if problems:
        raise SpecInvalid(problems)
    return MergedValues(defaults=lower.defaults, values=merged, history=history.recorded())


class _LayerMerge:
    """Lays one layer over what is there, by deepmerge with strategies that copy on write.

    deepmerge's own map strategy changes its base, and its list strategy appends: neither is used.
    """

    def __init__(self, layer: Layer, history: HistoryRecorder, problems: list[Problem]) -> None:
        self._layer = layer
        self._history = history
        self._problems = problems
        self._merger = Merger([(dict, [self._merge_maps])], [self._replace], [self._resolve_conflict])

    def over(self, base: Any) -> Any:
        if self._deletes((), self._layer.values):
            self._complain((), rules.LAYER_DELETED)
            return base
        return self._merge_maps(self._merger, [], base, dict(self._layer.values))

    def _merge_maps(self, merger: Merger, path: list[Any], base: Any, upper: Any) -> Any:
        here: Path = tuple(path)
        if is_secret_ref(base) or is_secret_ref(upper):
            return self._resolve_conflict(merger, path, base, upper)
        patch = self._patch(here, upper)
        if patch == PATCH_REPLACE:
            self._history.end_below(self._layer, here, base)
            return self._fresh(here, {key: value for key, value in upper.items() if key != PATCH})
        result = dict(base)
        for key, value in upper.items():
            below = (*here, key)
            if value is None or (isinstance(value, dict) and self._patch(below, value) == PATCH_DELETE):
                if key in result:
                    self._history.record(self._layer, below, DELETED)
                    self._history.end_below(self._layer, below, result.pop(key))
            elif result.get(key) is None:
                result[key] = self._fresh(below, value)
            else:
                result[key] = merger.value_strategy([*path, key], result[key], value)
        return result

    def _replace(self, merger: Merger, path: list[Any], base: Any, upper: Any) -> Any:
        return self._fresh(tuple(path), upper)

    def _resolve_conflict(self, merger: Merger, path: list[Any], base: Any, upper: Any) -> Any:
        here: Path = tuple(path)
        replaces = isinstance(upper, dict) and upper.get(PATCH) == PATCH_REPLACE
        if is_map(base) == is_map(upper) or replaces:
            return self._fresh(here, {k: v for k, v in upper.items() if k != PATCH} if replaces else upper)
        self._problems.append(
            rules.VALUES_TYPE_CONFLICT.at(
                self._layer.full_path(here),
                source=self._layer.place(here),
                wanted=_kind(base),
                owner=self._history.owner(here),
                layer=self._layer.name,
                got=type_name(upper),
                remedy="give a map of the same shape" if is_map(base) else "give a value that is not a map",
            )
        )
        return base

    def _fresh(self, path: Path, value: Any) -> Any:
        """A copy of a value that meets nothing below it, without marks, each leaf recorded."""
        if is_secret_ref(value):
            self._check_secret_ref(path, value)
        elif isinstance(value, dict):
            patch = self._patch(path, value)
            clean = {
                key: self._fresh((*path, key), item)
                for key, item in value.items()
                if key != PATCH and item is not None and not self._deletes((*path, key), item)
            }
            if not clean and patch != PATCH_DELETE:
                self._history.record(self._layer, path, {})
            return clean
        elif isinstance(value, list):
            self._check_list(path, value)
        self._history.record(self._layer, path, value)
        return copied(value)

    def _deletes(self, path: Path, value: Any) -> bool:
        return isinstance(value, dict) and self._patch(path, value) == PATCH_DELETE

    def _patch(self, path: Path, value: Mapping[str, Any]) -> str:
        """The value of `$patch`, empty if there is none or if it is wrong (which is noted)."""
        if PATCH not in value:
            unknown = [key for key in value if key.startswith("$") and key != SECRET_REF]
            if unknown:
                self._complain(path, rules.MARK_UNKNOWN, mark=unknown[0])
            return ""
        patch = value[PATCH]
        if patch == PATCH_REPLACE or (patch == PATCH_DELETE and len(value) == 1):
            return str(patch)
        self._complain(path, rules.PATCH_MALFORMED)
        return ""

    def _check_secret_ref(self, path: Path, value: Mapping[str, Any]) -> None:
        ref = value[SECRET_REF]
        good = (
            len(value) == 1
            and isinstance(ref, dict)
            and set(ref) - {"prefix"} == {"name", "key"}
            and all(isinstance(part, str) for part in ref.values())
            and _SECRET_NAME.match(ref["name"])
            and _SECRET_KEY.match(ref["key"])
        )
        if not good:
            self._complain(path, rules.SECRET_REF_MALFORMED)

    def _check_list(self, path: Path, items: Sequence[Any]) -> None:
        for item in items:
            if is_secret_ref(item):
                self._check_secret_ref(path, item)
            elif isinstance(item, dict):
                if PATCH in item:
                    self._complain(path, rules.PATCH_IN_LIST)
                self._check_list(path, list(item.values()))
            elif isinstance(item, list):
                self._check_list(path, item)

    def _complain(self, path: Path, rule: Rule, **facts: object) -> None:
        problem = rule.at(self._layer.full_path(path), source=self._layer.place(path), **facts)
        if problem not in self._problems:
            self._problems.append(problem)


def _kind(value: object) -> str:
    return "a map" if is_map(value) else "a single value or list"


_OMIT = object()


def _overlay(path: Path, default: Any, final: Any, history: ValueHistory) -> Any:
    if default is final and is_map(final):  # no layer came by: merging copies what it changes
        return _OMIT
    if not (is_map(default) and is_map(final)):
        return copied(final) if path in history or default != final else _OMIT
    sent: dict[str, Any] = {}
    for key, value in final.items():
        if key not in default:
            sent[key] = copied(value)
            continue
        part = _overlay((*path, key), default[key], value, history)
        if part is not _OMIT:
            sent[key] = part
    sent.update({key: None for key, value in default.items() if key not in final and value is not None})
    return sent or _OMIT
