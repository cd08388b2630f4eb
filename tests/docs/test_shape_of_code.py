"""The shape that the code keeps: short modules and functions, objects that are whole from their beginning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES_OF_A_MODULE = 400
MOST_LINES_OF_A_FUNCTION = 60
MAKES = ("__init__", "__post_init__", "__new__")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def _modules() -> Iterator[tuple[str, str]]:
    for package in ("controller", "containers"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def _is_own(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _stored(function: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute) and _is_own(node)}


def born_late(source: str) -> list[str]:
    """`Class.method.attribute` of what comes into being only after the object."""
    found = []
    for one in ast.walk(ast.parse(source)):
        if not isinstance(one, ast.ClassDef):
            continue
        methods = [part for part in one.body if isinstance(part, Function)]
        fields = {part.target.id for part in one.body if _is_field(part)}  # type: ignore[attr-defined]
        born = fields.union(*(_stored(part) for part in methods if part.name in MAKES))
        found += [
            f"{one.name}.{part.name}.{name}"
            for part in methods
            if part.name not in MAKES
            for name in sorted(_stored(part) - born)
        ]
    return found


def _is_field(part: ast.stmt) -> bool:
    return isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)


def test_no_module_is_too_long() -> None:
    lengths = {name: source.count("\n") for name, source in _modules()}
    assert {name: count for name, count in lengths.items() if count > MOST_LINES_OF_A_MODULE} == {}


@pytest.mark.slow
def test_no_function_is_too_long() -> None:
    lengths = {
        f"{name}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for name, source in _modules()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, Function)
    }
    assert {name: count for name, count in lengths.items() if count > MOST_LINES_OF_A_FUNCTION} == {}


def test_an_attribute_that_is_born_late_is_found() -> None:
    source = (
        "class A:\n  x: int\n  def __init__(self):\n    self.y = 1\n"
        "  def run(self):\n    self.x, self.z = 1, 2\n"
    )
    assert born_late(source) == ["A.run.z"]


@pytest.mark.slow
def test_objects_have_all_their_attributes_from_their_beginning() -> None:
    assert {name: found for name, source in _modules() if (found := born_late(source))} == {}


def test_containers_patch_nothing_into_what_they_compose() -> None:
    patched = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, source in _modules()
        if name.startswith("containers/")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and not _is_own(node)
    ]
    assert patched == []
