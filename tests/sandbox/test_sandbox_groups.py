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


def test_a_group_that_xdist_has_not_noted_is_an_error() -> None:
    with pytest.raises(pytest.UsageError, match=r"a\.py::test_x\[1@2\] would run beside others"):
        demand_groups(True, [item("a.py::test_x[1@2]", "xdist_group")])


def test_a_group_that_xdist_has_noted_is_kept_together() -> None:
    demand_groups(True, [item("a.py::test_x[1]@shared", "xdist_group"), item("a.py::test_y")])


def test_without_groups_asked_for_nothing_is_demanded() -> None:
    demand_groups(False, [item("a.py::test_x", "xdist_group")])
