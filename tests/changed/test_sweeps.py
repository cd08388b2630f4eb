"""Of a sweep the daily cases have no mark, and none is lost."""

from __future__ import annotations

import pytest

from tests.sweeps import swept


def test_all_cases_but_the_daily_ones_are_exhaustive() -> None:
    first, second, third = swept(range(3), daily=(1,))
    assert (first.values, second, third.values) == ((0,), 1, (2,))
    assert {mark.name for case in (first, third) for mark in case.marks} == {"exhaustive"}


def test_a_case_of_several_parameters_keeps_them_apart() -> None:
    daily, rare = swept([("compute", True), ("compute", False)], daily=[("compute", True)])
    assert daily == ("compute", True)
    assert rare == pytest.param("compute", False, marks=pytest.mark.exhaustive)
