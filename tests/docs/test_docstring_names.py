"""What a docstring or comment names of our own modules exists."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = "domain|ports|render|reconcile|adapters|cli"
# As `controller.domain.api.reasons`, `domain.releases.attempt.Attempt`; not the URL or file of someone.
_NAMED = re.compile(rf"(?<![\w./-])(?:controller\.)?((?:{LAYERS})(?:\.\w+)+)(?![\w/])")


def _names() -> Iterator[tuple[str, str]]:
    for path in [*(ROOT / "controller").rglob("*.py"), *(ROOT / "containers").rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            prose = token.type == tokenize.COMMENT or token.string.startswith('"""')
            for name in _NAMED.findall(token.string) if prose else ():
                yield f"{path.relative_to(ROOT)}:{token.start[0]}", name


def _exists(name: str) -> bool:
    """A package, a module, or something that a module defines."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        base = ROOT.joinpath("controller", *parts[:length])
        rest = parts[length:]
        if base.with_suffix(".py").is_file():
            tree = ast.parse(base.with_suffix(".py").read_text(encoding="utf-8"))
            return not rest or rest[0] in _defined(tree)
        if base.is_dir():
            return not rest
    return False


def _defined(tree: ast.Module) -> set[str]:
    named = (ast.ClassDef, ast.FunctionDef)
    found = {node.name for node in ast.walk(tree) if isinstance(node, named)}
    return found | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@pytest.mark.slow
def test_modules_named_in_prose_exist() -> None:
    names = list(_names())
    assert len(names) > 10
    assert [f"{where} {name}" for where, name in names if not _exists(name)] == []


@pytest.mark.parametrize(
    "name", ["domain.release_state.Recorded", "reconcile.immutable_jobs", "domain.region_ready"]
)
def test_a_name_that_is_gone_is_seen(name: str) -> None:
    assert _NAMED.findall(f"see `{name}`.") == [name]
    assert not _exists(name)
