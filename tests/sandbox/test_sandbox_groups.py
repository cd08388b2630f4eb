"""Tests of one group share what they change: they never run at the same time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sandbox.pytest_plugin import demand_groups


def item(nodeid: str, *marks: str) -> pytest.Item:
    def get_closest_marker(name: str) -> Any:
        return name if name in marks else None

    return cast(pytest.Item, SimpleNamespace(nodeid=nodeid, get_closest_marker=get_closest_marker))


def demanded(grouped: bool, items: list[pytest.Item]) -> str:
    """What is refused, and why; empty for nothing."""
    try:
        demand_groups(grouped, items)
    except pytest.UsageError as refusal:
        return str(refusal)
    return ""


def test_a_group_that_xdist_has_not_noted_is_an_error() -> None:
    refusal = demanded(True, [item("a.py::test_x[1@2]", "xdist_group")])
    assert refusal.startswith("a.py::test_x[1@2] would run beside others of its group")


def test_a_group_that_xdist_has_noted_is_kept_together() -> None:
    assert demanded(True, [item("a.py::test_x[1]@shared", "xdist_group"), item("a.py::test_y")]) == ""


def test_without_groups_asked_for_nothing_is_demanded() -> None:
    assert demanded(False, [item("a.py::test_x", "xdist_group")]) == ""
