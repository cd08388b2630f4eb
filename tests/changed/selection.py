"""Which tests know of a change: those of the changed modules, and of all that import these.

The graph of imports says it, in a fifth of a second and without a run before: a database of what each test
has executed (testmon) is of one machine, and knows nothing of charts and values, which no module imports.
A test that starts a program by its name is not known to depend on it: before a merge comes `make test`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGES = ("controller", "containers", "sandbox", "tests", "tools")
ALL = ("tests",)
HERE = "tests.changed"
# What every test depends on, and no import says so.
COMMON = ("pyproject.toml", "setup.py", "Makefile", "requirements.lock", "requirements-dev.lock")
# pytest itself imports them, for every test.
FOR_ALL = {"tests.conftest", "sandbox.pytest_plugin"}


def select_tests(changed: Iterable[str]) -> tuple[str, ...]:
    """Paths for pytest that know of these files, given as paths from the root; `ALL` where no one can say.

    A file that is no module belongs to the modules that name its topmost directory: `charts`, `values`.
    """
    found: set[str] = set()
    for path in changed:
        of_it = _of_file(path)
        if of_it is None:
            return ALL
        found |= of_it
    return tuple(sorted(found))


def _of_file(path: str) -> set[str] | None:
    name = module_name(path)
    if path in COMMON:
        return None
    if name not in imports().modules and path.endswith(".py") and path.startswith(PACKAGES):
        # One that is gone: what imported it has changed too, or does not load any more.
        return set()
    return _that_know(name) if name in imports().modules else _that_read(path)


def _that_read(path: str) -> set[str] | None:
    top = path.removeprefix("tests/").partition("/")[0]
    readers = {module for module in imports().modules if names(module, top) and HERE not in module}
    found = _below(readers)
    if path.startswith("tests/") and (ROOT / "tests" / top / "__init__.py").exists():
        found.add(f"tests/{top}")
    if not found and not path.endswith(".md"):
        return None
    return found


def _that_know(module: str) -> set[str] | None:
    known = imports().find_downstream_modules(module)
    return None if FOR_ALL & {module, *known} else _below({module})


def _below(modules: set[str]) -> set[str]:
    """The tests among them, and among all that import them."""
    graph = imports()
    known = modules.union(*(graph.find_downstream_modules(one) for one in modules)) - FOR_ALL
    tests = {str(file_of(one)) for one in known if one.rpartition(".")[2].startswith("test_")}
    # pytest itself imports these, for all tests beside and below.
    shared = {str(file_of(one).parent) for one in known if one.endswith(".conftest")}
    return tests | shared


def module_name(path: str) -> str:
    """The module that a file is, if it is one."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def file_of(module: str) -> Path:
    path = Path(*module.split("."))
    package = path / "__init__.py"
    return package if (ROOT / package).exists() else path.with_suffix(".py")


def names(module: str, part: str) -> bool:
    """Whether a text of the module may be a path with this part: `charts` of `ROOT / "charts"`."""
    source = source_of(module)
    return part in source and part in _names_in(source)


@cache
def source_of(module: str) -> str:
    return (ROOT / file_of(module)).read_text(encoding="utf-8")


@cache
def _names_in(source: str) -> frozenset[str]:
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return frozenset(
        part for text in texts if isinstance(text, str) and "\n" not in text for part in text.split("/")
    )
