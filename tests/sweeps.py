"""Sweeps of which a few cases are daily: all others repeat their behaviour, in `make test-exhaustive`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def swept(cases: Iterable[Any], daily: Container[Any]) -> list[Any]:
    """Parameters of a test: those in `daily` have no mark. Of several parameters a case is a tuple."""
    return [case if case in daily else _rare(case) for case in cases]


def _rare(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)
