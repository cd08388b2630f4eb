"""Modules without a test that `-m` asks for are not imported: to collect all tests takes long.

Marks are read from texts. Those of the module's `pytestmark` are of all its tests. Its tests may also have
those that it names, or the modules of tests that it imports, or a conftest.py beside or above it.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).parents[1]
# Of a tier of tests; other marks say how a test is run.
TIERS = frozenset(("cluster", "openstack", "sample", "image", "real", "slow", "exhaustive", "upstream"))

_MARK = re.compile(r"\bmark\.(\w+)")
_OF_MODULE = re.compile(r"^pytestmark\b.*?(?=^[^\s\])]|\Z)", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"^[ ]*(?:from|import) (tests[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True for a module that has nothing to run, None for all others."""
    expression = config.option.markexpr
    if not expression or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    return None if may_be_asked(collection_path, expression) else True


def may_be_asked(module: Path, expression: str) -> bool:
    """Whether a test of the module may have marks that the expression is true of."""
    always = _of_all_tests(module)
    if not set(re.findall(r"\w+", expression)) - {"and", "or", "not"} <= TIERS:
        return True
    matches = _compiled(expression)
    sometimes = _named(module) - always
    subsets = chain.from_iterable(combinations(sometimes, size) for size in range(len(sometimes) + 1))
    return any(matches.evaluate(always.union(some).__contains__) for some in subsets)


@cache
def _compiled(expression: str) -> Expression:
    return Expression.compile(expression)


def _of_all_tests(module: Path) -> frozenset[str]:
    found = _OF_MODULE.search(_text(module))
    return TIERS & frozenset(_MARK.findall(found[0])) if found else frozenset()


def _named(module: Path) -> frozenset[str]:
    """Marks of tiers that its tests may have."""
    beside = (folder / "conftest.py" for folder in module.parents if folder.is_relative_to(ROOT))
    return frozenset().union(*map(_marks_with_imports, (module, *beside)))


@cache
def _marks_with_imports(module: Path) -> frozenset[str]:
    seen: set[Path] = set()
    left = [module]
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left += _imported(one)
    return frozenset().union(*map(_marks, seen))


@cache
def _marks(module: Path) -> frozenset[str]:
    return TIERS & frozenset(_MARK.findall(_text(module)))


@cache
def _imported(module: Path) -> tuple[Path, ...]:
    """Modules of tests; what they name of themselves counts, whichever of it is imported."""
    found: list[Path] = []
    for name, parts in _IMPORT.findall(_text(module)):
        path = ROOT.joinpath(*name.split("."))
        if path.is_dir():
            found += [path / f"{part}.py" for part in re.findall(r"\w+", parts)] + [path / "__init__.py"]
        else:
            found.append(path.with_suffix(".py"))
    return tuple(found)


@cache
def _text(module: Path) -> str:
    return module.read_text(encoding="utf-8") if module.is_file() else ""
