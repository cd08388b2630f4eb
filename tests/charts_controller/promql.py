"""Evaluates alert rules over sample series: as much of PromQL as our rules use, and an error for the rest.

`promtool test rules` does the same, but is no package of PyPI, where none evaluates. promql-parser parses the
expressions; what they mean is as prometheus.io/docs/prometheus/latest/querying says (operators,
functions; ranges are open to the left), with the extrapolation of `increase`.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import promql_parser
from promql_parser import AggModifierType, LabelModifierType, MatchOp, VectorMatchCardinality

# Seconds between two scrapes, and between two evaluations of a rule.
STEP = 30.0
# An instant selector takes a sample that is at most so old.
LOOKBACK = 300.0

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Value = Vector | float


class Unsupported(Exception):
    """PromQL that this evaluator does not know: teach it, rather than leave a rule untested."""


@dataclass(frozen=True)
class Series:
    """One series of samples: None where a scrape found it no more (a marker of staleness)."""

    name: str
    labels: Mapping[str, str]
    samples: Sequence[tuple[float, float | None]]

    def latest(self, now: float) -> float | None:
        """What an instant selector takes at `now`."""
        place = bisect_right(self.samples, now, key=lambda sample: sample[0])
        if not place or self.samples[place - 1][0] <= now - LOOKBACK:
            return None
        return self.samples[place - 1][1]

    def within(self, now: float, seconds: float) -> list[tuple[float, float]]:
        """The samples of the last `seconds`."""
        since = bisect_right(self.samples, now - seconds, key=lambda sample: sample[0])
        until = bisect_right(self.samples, now, key=lambda sample: sample[0])
        return [(at, value) for at, value in self.samples[since:until] if value is not None]


def evaluate(expression: str, series: Iterable[Series], now: float) -> Vector:
    """The instant vector that the expression gives at `now`, by labels without the metric's name.

    Raises Unsupported for anything that is not known here.
    """
    found = _Evaluation(tuple(series), now).value(promql_parser.parse(expression))
    if not isinstance(found, dict):
        raise Unsupported(f"{expression} gives no vector")
    return found


def firing(rule: Mapping[str, Any], series: Sequence[Series], until: float) -> list[dict[Labels, float]]:
    """What fires at each evaluation from 0 to `until`: labels with those of the rule, and the value."""
    waits = promql_parser.parse_duration(rule["for"]).total_seconds() if "for" in rule else 0.0
    since: dict[Labels, float] = {}
    reported = []
    for step in range(int(until / STEP) + 1):
        now = step * STEP
        found = evaluate(str(rule["expr"]), series, now)
        since = {labels: since.get(labels, now) for labels in found}
        reported.append(
            {
                frozenset({**dict(labels), **rule["labels"]}.items()): value
                for labels, value in found.items()
                if now - since[labels] >= waits
            }
        )
    return reported


class _Evaluation:
    def __init__(self, series: tuple[Series, ...], now: float) -> None:
        self._series = series
        self._now = now

    def value(self, node: Any) -> Value:
        kinds: dict[str, Callable[[Any], Value]] = {
            "NumberLiteral": lambda node: float(node.val),
            "ParenExpr": lambda node: self.value(node.expr),
            "VectorSelector": self._instant,
            "Call": self._call,
            "AggregateExpr": self._aggregate,
            "BinaryExpr": self._binary,
        }
        known = kinds.get(type(node).__name__)
        if known is None:
            raise Unsupported(f"{type(node).__name__}: {node.prettify()}")
        return known(node)

    def _vector(self, node: Any) -> Vector:
        found = self.value(node)
        if not isinstance(found, dict):
            raise Unsupported(f"a scalar where a vector is meant: {node.prettify()}")
        return found

    def _selected(self, selector: Any) -> list[Series]:
        if selector.offset or selector.at or not selector.name or selector.matchers.or_matchers:
            raise Unsupported(selector.prettify())
        return [
            one
            for one in self._series
            if one.name == selector.name
            and all(_matches(matcher, one.labels) for matcher in selector.matchers.matchers)
        ]

    def _instant(self, selector: Any) -> Vector:
        found = ((one, one.latest(self._now)) for one in self._selected(selector))
        return _unique((_labels(one.labels), value) for one, value in found if value is not None)

    def _call(self, node: Any) -> Value:
        name, args = node.func.name, node.args
        if name == "time" and not args:
            return self._now
        if name == "absent" and len(args) == 1:
            return self._absent(args[0])
        over = _OVER_RANGE.get(name)
        if over is None or len(args) != 1 or type(args[0]).__name__ != "MatrixSelector":
            raise Unsupported(node.prettify())
        seconds = args[0].range.total_seconds()
        found = (
            (_labels(one.labels), over(one.within(self._now, seconds), self._now, seconds))
            for one in self._selected(args[0].vector_selector)
        )
        return _unique((labels, value) for labels, value in found if value is not None)

    def _absent(self, selector: Any) -> Vector:
        if self._vector(selector):
            return {}
        equal = [one for one in selector.matchers.matchers if one.op == MatchOp.Equal]
        return {frozenset((one.name, one.value) for one in equal): 1.0}

    def _aggregate(self, node: Any) -> Vector:
        gather = _AGGREGATES.get(str(node.op))
        given = node.modifier
        if gather is None or node.param is not None or (given and given.type != AggModifierType.By):
            raise Unsupported(node.prettify())
        kept = set(given.labels) if given else set()
        groups: dict[Labels, list[float]] = {}
        for labels, value in self._vector(node.expr).items():
            groups.setdefault(frozenset(one for one in labels if one[0] in kept), []).append(value)
        return {labels: gather(values) for labels, values in groups.items()}

    def _binary(self, node: Any) -> Value:
        operator, modifier = str(node.op), node.modifier
        if modifier and (modifier.return_bool or modifier.group_labels):
            raise Unsupported(node.prettify())
        if operator in ("and", "or", "unless"):
            return _set_operation(operator, self._vector(node.lhs), self._vector(node.rhs), _key_of(modifier))
        if operator not in _ARITHMETIC and operator not in _COMPARISONS:
            raise Unsupported(node.prettify())
        left, right = self.value(node.lhs), self.value(node.rhs)
        if isinstance(left, float) and isinstance(right, float):
            if operator in _COMPARISONS:
                raise Unsupported(node.prettify())
            return _ARITHMETIC[operator](left, right)
        if isinstance(left, dict) and isinstance(right, dict):
            if modifier and modifier.card != VectorMatchCardinality.OneToOne:
                raise Unsupported(node.prettify())
            pairs = _one_to_one(left, right, _key_of(modifier), keep=operator in _COMPARISONS)
        elif isinstance(left, dict):
            assert isinstance(right, float)
            pairs = {labels: (value, right) for labels, value in left.items()}
        else:
            assert isinstance(right, dict)
            pairs = {labels: (left, value) for labels, value in right.items()}
        if operator in _ARITHMETIC:
            return {labels: _ARITHMETIC[operator](*pair) for labels, pair in pairs.items()}
        # A comparison keeps what it is true for, with the vector's value.
        place = 0 if isinstance(left, dict) else 1
        return {labels: pair[place] for labels, pair in pairs.items() if _COMPARISONS[operator](*pair)}


def _labels(labels: Mapping[str, str]) -> Labels:
    """An empty label is as good as none."""
    return frozenset((name, value) for name, value in labels.items() if value)


def _matches(matcher: Any, labels: Mapping[str, str]) -> bool:
    value = labels.get(matcher.name, "")
    if matcher.op in (MatchOp.Equal, MatchOp.NotEqual):
        return bool((value == matcher.value) == (matcher.op == MatchOp.Equal))
    if matcher.op in (MatchOp.Re, MatchOp.NotRe):
        return (re.fullmatch(matcher.value, value) is not None) == (matcher.op == MatchOp.Re)
    raise Unsupported(f"{matcher.op}")


def _unique(found: Iterable[tuple[Labels, float]]) -> Vector:
    vector: Vector = {}
    for labels, value in found:
        if labels in vector:
            raise AssertionError(f"two series with the labels {sorted(labels)}")
        vector[labels] = value
    return vector


def _key_of(modifier: Any) -> Callable[[Labels], Labels]:
    """What two series have in common that belong together."""
    matching = modifier.matching if modifier else None
    if matching is None:
        return lambda labels: labels
    names, included = set(matching.labels), matching.type == LabelModifierType.Include
    return lambda labels: frozenset(one for one in labels if (one[0] in names) == included)


def _set_operation(operator: str, left: Vector, right: Vector, key: Callable[[Labels], Labels]) -> Vector:
    if operator == "or":
        there = {key(labels) for labels in left}
        return left | {labels: value for labels, value in right.items() if key(labels) not in there}
    there = {key(labels) for labels in right}
    return {labels: value for labels, value in left.items() if (key(labels) in there) == (operator == "and")}


def _one_to_one(
    left: Vector, right: Vector, key: Callable[[Labels], Labels], *, keep: bool
) -> dict[Labels, tuple[float, float]]:
    """Pairs by what they have in common; `keep`: under all labels of the left, else under those."""
    others = _unique((key(labels), value) for labels, value in right.items())
    mine = _unique((key(labels), value) for labels, value in left.items())
    named = {key(labels): labels if keep else key(labels) for labels in left}
    return {named[common]: (mine[common], others[common]) for common in mine.keys() & others.keys()}


def _increase(samples: list[tuple[float, float]], now: float, seconds: float) -> float | None:
    """With Prometheus' extrapolation to the ends of the range; a fall is a counter that began again."""
    if len(samples) < 2:
        return None
    (first_at, first), (last_at, last) = samples[0], samples[-1]
    pairs = itertools.pairwise(samples)
    grown = last - first + sum(before for (_, before), (_, after) in pairs if after < before)
    covered = last_at - first_at
    average = covered / (len(samples) - 1)
    to_start, to_end = first_at - (now - seconds), now - last_at
    to_start = to_start if to_start < 1.1 * average else average / 2
    if grown > 0 and first >= 0:
        # A counter was not below 0 before.
        to_start = min(to_start, covered * first / grown)
    to_end = to_end if to_end < 1.1 * average else average / 2
    return grown * (covered + to_start + to_end) / covered


def _changes(samples: list[tuple[float, float]], now: float, seconds: float) -> float | None:
    if not samples:
        return None
    return float(sum(one != next_ for (_, one), (_, next_) in itertools.pairwise(samples)))


def _extreme(choose: Callable[[Iterable[float]], float]) -> Callable[..., float | None]:
    def over(samples: list[tuple[float, float]], now: float, seconds: float) -> float | None:
        return choose(value for _, value in samples) if samples else None

    return over


_OVER_RANGE: dict[str, Callable[[list[tuple[float, float]], float, float], float | None]] = {
    "increase": _increase,
    "changes": _changes,
    "max_over_time": _extreme(max),
    "min_over_time": _extreme(min),
}
_AGGREGATES: dict[str, Callable[[list[float]], float]] = {"sum": sum, "max": max, "min": min}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
}
