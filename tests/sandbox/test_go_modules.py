"""The key in the cache of a program that is built from a module of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.go_modules import GoModule


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go", "budget.go"])
def test_every_source_decides_where_a_build_is_kept(tmp_path: Path, name: str) -> None:
    module = GoModule("helm", tmp_path, (".",))
    before = module.digest()
    (tmp_path / name).write_text("package main\n")

    assert module.digest() != before
