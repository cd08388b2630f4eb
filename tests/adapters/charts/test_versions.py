"""Which versions a constraint takes; `tests/contract/test_chart_dependencies.py` asks Helm the same."""

from __future__ import annotations

import pytest

from controller.adapters.charts.versions import satisfies

CASES = [
    ("2026.1.0", ">= 0.1.0", True),
    ("2026.1.8+a2a343968", ">= 0.1.0", True),
    ("2026.1.0-dev", ">= 0.1.0", False),
    ("2026.1.0-dev", ">= 0.1.0-0", True),
    ("1.2.3", "*", True),
    ("1.2.3", "1.2.3", True),
    ("1.2.4", "1.2.3", False),
    ("1.2.3+b", "1.2.3+a", True),
    ("v1.2.3", "=1.2.3", True),
    ("1.2.9", "1.2", True),
    ("1.3.0", "1.2.x", False),
    ("1.9.0", "1", True),
    ("1.2.3", "!=1.2.3", False),
    ("1.2.3", "!=1.2", False),
    ("1.3.0", "!=1.2.x", True),
    ("1.2.4", ">1.2.3", True),
    ("1.2.4", ">1.2", False),
    ("1.3.0", ">1.2", True),
    ("1.2.3", "<1.2.3", False),
    ("1.2.3-beta", "<1.2.3-rc", True),
    ("1.2.9", "<=1.2", True),
    ("1.3.0", "<=1.2", False),
    ("1.9.0", "=<1", True),
    ("1.2.3", "=>1.2.3", True),
    ("1.2.9", "~1.2.3", True),
    ("1.3.0", "~1.2.3", False),
    ("1.9.0", "~>1", True),
    ("5.0.0", "~0.0.0", True),
    ("1.9.0", "^1.2.3", True),
    ("2.0.0", "^1.2.3", False),
    ("2.0.0-a", "^1.2.3-0", False),
    ("0.2.9", "^0.2.3", True),
    ("0.3.0", "^0.2.3", False),
    ("0.0.4", "^0.0.3", False),
    ("0.9.0", "^0", True),
    ("0.1.0", "^0.0", False),
    ("5.0.0", "^*", False),
    ("1.5.0", ">=1.2, <2", True),
    ("2.0.0", ">=1.2 <2", False),
    ("3.0.0", "<1 || >=3", True),
    ("2.0.0", "<1 || >=3", False),
    ("1.5.0", "1.2 - 1.9", True),
    ("2.0.0", "1.2.0 - 1.9.9", False),
    ("1.0.0-alpha.10", ">=1.0.0-alpha.9", True),
]


@pytest.mark.parametrize(("version", "constraint", "taken"), CASES)
def test_a_constraint_takes_what_helm_says_it_takes(version: str, constraint: str, taken: bool) -> None:
    assert satisfies(version, constraint) is taken


@pytest.mark.parametrize(
    ("version", "constraint"),
    [
        ("latest", "*"),
        ("1.x", "*"),
        ("", "*"),
        ("1.0.0", ""),
        ("1.0.0", "about 1"),
        ("1.0.0", "1 || "),
        ("1.0.0", "1 ||| 2"),
        ("1.0.0", ">2 rubbish"),
        ("1.0.0", ">=>1"),
    ],
)
def test_what_is_no_version_or_constraint_is_reported(version: str, constraint: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        satisfies(version, constraint)
