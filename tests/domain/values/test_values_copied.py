"""A copy of values is as deep as `copy.deepcopy` makes it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.domain.values.chart_values import copied


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"b": [1, {"c": []}]}, "d": [[{}], "x", None, 1.5, True]},
        [],
        {},
        "text",
        {"set": {1, 2}, "pair": ([1], {"a": []}), "bytes": b"x"},
    ],
)
def test_a_copy_is_equal(value: Any) -> None:
    assert copied(value) == value


def test_a_copy_shares_no_map_and_no_list_at_any_depth() -> None:
    value: dict[str, Any] = {"map": {"list": [{"deep": [1]}]}, "pair": ([1],)}
    before, twin = copy.deepcopy(value), copied(value)
    twin["map"]["list"][0]["deep"].append(2)
    twin["map"]["list"].append(3)
    twin["pair"][0].append(4)
    twin["new"] = 5
    assert value == before


def test_what_stands_in_two_places_can_be_changed_in_one_of_the_copy() -> None:
    shared = {"a": 1}
    twin = copied({"one": shared, "two": shared})
    twin["one"]["a"] = 2
    assert twin["two"] == {"a": 1}
