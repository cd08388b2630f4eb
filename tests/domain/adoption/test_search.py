"""The search for the spec that differs least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.adoption.search import Choice, NothingFits, search, with_field

_FIELDS = (("a",), ("b", "c"), ("b", "d"))
_COSTS = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3)
CHOICES = [Choice(field, (0, 1, 2), again=index == 0) for index, field in enumerate(_FIELDS)]


def value_at(spec: Mapping[str, Any], field: tuple[str, ...]) -> Any:
    here: Any = spec
    for key in field:
        here = (here or {}).get(key)
    return here


@given(_COSTS)
def test_fields_that_do_not_depend_on_each_other_are_all_found(costs: list[list[int]]) -> None:
    measured: list[str] = []

    def measure(spec: Mapping[str, Any]) -> int:
        measured.append(repr(spec))
        values = [value_at(spec, field) for field in _FIELDS]
        return sum(10 if one is None else costs[index][one] for index, one in enumerate(values))

    found = search({}, CHOICES, measure)
    assert found.difference == sum(map(min, costs))
    assert found.difference <= (found.start or 0)
    assert len(set(measured)) == len(measured) == found.tried


def test_a_field_that_changes_nothing_is_not_set() -> None:
    found = search({"x": 1}, CHOICES, lambda spec: 5)
    assert (found.spec, found.steps) == ({"x": 1}, ())


def test_what_cannot_be_served_is_passed_over() -> None:
    found = search({}, CHOICES, lambda spec: 3 if spec.get("a") == 2 else None)
    assert (found.spec, found.difference, found.start) == ({"a": 2}, 3, None)
    with pytest.raises(NothingFits):
        search({}, CHOICES, lambda spec: None)


def test_a_field_is_set_and_taken_out() -> None:
    spec = with_field({"a": {"b": 1}}, ("a", "c"), 2)
    assert spec == {"a": {"b": 1, "c": 2}}
    assert with_field(with_field(spec, ("a", "b"), None), ("a", "c"), None) == {}


def test_a_field_that_no_longer_helps_goes_again() -> None:
    """As consoles with another proxy differ less, until encryption is off."""

    def measure(spec: Mapping[str, Any]) -> int:
        first, second = spec.get("first", 0), spec.get("second", 0)
        return {(0, 0): 9, (1, 0): 8, (1, 1): 6, (0, 1): 5}[first, second]

    fields = [Choice(("first",), (0, 1)), Choice(("second",), (0, 1))]
    found = search({}, fields, measure)
    assert (found.spec, found.difference) == ({"second": 1}, 5)


def test_a_field_that_changes_nothing_any_more_is_taken_out() -> None:
    def measure(spec: Mapping[str, Any]) -> int:
        return 5 if spec.get("second") else 8 if spec.get("first") else 9

    found = search({}, [Choice(("first",), (1,)), Choice(("second",), (1,))], measure)
    assert found.spec == {"second": 1}
