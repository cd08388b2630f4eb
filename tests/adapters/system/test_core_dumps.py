"""A container that crashes leaves no file with its memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

CRASH = """
import os, resource, sys
from controller.adapters.system.core_dumps import forbid_core_dumps
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
os.chdir(sys.argv[1])
if sys.argv[2] == "forbidden":
    forbid_core_dumps()
if sys.argv[3] == "child":
    os.execvp("sh", ["sh", "-c", "kill -ABRT $$"])
os.abort()
"""


def dumped(directory: Path, *arguments: str) -> bool:
    """Whether the kernel has written the memory of a process that crashed."""
    command = [sys.executable, "-c", CRASH, str(directory), *arguments]
    process = os.posix_spawn(sys.executable, command, {**os.environ, "PYTHONPATH": str(Path.cwd())})
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status)
    return os.WCOREDUMP(status)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["itself", "child"])
def test_a_crash_writes_no_memory(tmp_path: Path, who: str) -> None:
    if not dumped(tmp_path, "allowed", who):
        pytest.skip("this machine takes no dumps")
    for one in tmp_path.iterdir():
        one.unlink()
    assert not dumped(tmp_path, "forbidden", who)
    assert list(tmp_path.iterdir()) == []
