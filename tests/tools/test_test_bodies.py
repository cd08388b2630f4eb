"""tools/test_bodies.py finds tests that check nothing, and fast tests that sleep."""

from __future__ import annotations

import ast

import pytest

from tools.test_bodies import sleeping, unchecked

HELPERS = """
def expect(value): assert value
def forward(value): expect(value)
def quiet(value): return value
"""


@pytest.mark.parametrize(
    ("body", "checks"),
    [
        ("assert x", True),
        ("assert True", False),
        ("quiet(x)", False),
        ("forward(x)", True),
        ("map(expect, x)", True),
        ("with pytest.raises(ValueError): quiet(x)", True),
        ("play.expect(x)", True),
    ],
)
def test_a_test_checks_by_itself_or_by_what_it_calls(body: str, checks: bool) -> None:
    trees = {
        "tests/helpers.py": ast.parse(HELPERS),
        "tests/test_x.py": ast.parse(f"def test_x(x):\n    {body}\n"),
    }
    assert unchecked(trees) == ([] if checks else ["tests/test_x.py:1: test_x checks nothing"])


@pytest.mark.parametrize(
    ("name", "body", "found"),
    [
        ("tests/domain/test_x.py", "time.sleep(1)", True),
        ("tests/domain/test_x.py", "while waiting(): time.sleep(1)", False),
        ("tests/domain/test_x.py", "machine.sleep(1)", False),
        ("tests/cluster/test_x.py", "time.sleep(1)", False),
    ],
)
def test_a_fast_test_sleeps_only_in_a_loop(name: str, body: str, found: bool) -> None:
    assert bool(sleeping(name, ast.parse(f"def test_x():\n    {body}\n"))) is found
