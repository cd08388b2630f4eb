"""Finds tests that cannot fail by what they check, and fast tests that sleep: `python -m tools.test_bodies`.

A test checks if it, or a function of the tests that it calls, asserts, raises, or expects an exception. An
assertion of a constant is none. A sleep is allowed in a loop, which ends by a condition or by its deadline,
and in folders whose tests watch real servers.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
# A quiet time is what some of them look at: nothing may happen in it.
WITH_SERVERS = frozenset(
    {
        "bench",
        "chaos",
        "charts",
        "charts_controller",
        "cluster",
        "openstack",
        "real",
        "real_upgrade",
        "upstream",
    }
)
EXPECTS = frozenset({"raises", "fail", "warns", "deprecated_call"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def unchecked(trees: Mapping[str, ast.Module]) -> list[str]:
    """Every test without a check, as file, line and name."""
    tests: list[tuple[str, Function]] = []
    checking, left = set[str](), dict[str, set[str]]()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                called = _called(node)
                if called is None:
                    checking.add(node.name)
                else:
                    left[node.name] = left.get(node.name, set()) | called
                tests += [(path, node)] if node.name.startswith("test_") else []
    while more := {name for name, called in left.items() if called & checking} - checking:
        checking |= more
    return [
        f"{path}:{node.lineno}: {node.name} checks nothing"
        for path, node in tests
        if node.name not in checking
    ]


def sleeping(name: str, tree: ast.Module) -> list[str]:
    """Every sleep of a fast test outside of a loop."""
    if Path(name).parts[1] in WITH_SERVERS:
        return []
    looped = {
        part for loop in ast.walk(tree) if isinstance(loop, ast.For | ast.While) for part in ast.walk(loop)
    }
    return [
        f"{name}:{node.lineno}: sleeps outside of a loop"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _name_of(node.func) == "sleep"
        and _is_of_time(node)
        and node not in looped
    ]


def _is_of_time(node: ast.Call) -> bool:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return owner is None or (isinstance(owner, ast.Name) and owner.id in {"time", "asyncio"})


def _called(function: Function) -> set[str] | None:
    """The names that a function calls or hands over; None if it checks something itself."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant)
        ):
            return None
        if isinstance(node, ast.Call):
            if (name := _name_of(node.func)) in EXPECTS:
                return None
            found.add(name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def main() -> int:
    """0 where nothing is found."""
    trees, found = {}, []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        trees[name] = ast.parse(text)
        found += sleeping(name, trees[name]) if "sleep" in text else []
    found += unchecked(trees)
    print("\n".join(found) or "every test checks something")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
