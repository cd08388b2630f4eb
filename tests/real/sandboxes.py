"""Sandboxes with real nodes, for as long as some tests need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.node.prepare import check_machine
from sandbox.paths import Layout, sandbox_directory
from sandbox.take_down import take_down


@contextmanager
def real_sandbox(name: str, *, nodes: int = 1, kept: bool = False) -> Iterator[Sandbox]:
    """A new one until the end of the block; with `kept` the one that runs, which is left running. Skips the
    test on a machine that cannot have one."""
    try:
        check_machine(Layout(sandbox_directory(name)))
    except SandboxError as error:
        pytest.skip(str(error))
    if not kept:
        take_down(name)
    try:
        yield Sandbox.up(name, real=True, nodes=None if kept else nodes)
    finally:
        if not kept:
            take_down(name)
