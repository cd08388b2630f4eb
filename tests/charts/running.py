"""Running the scripts of the lean charts outside of a pod."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from sandbox.patience import patient
from tests.charts.test_scripts import scripts


def module(chart: str, script: str, monkeypatch: pytest.MonkeyPatch, **env: str) -> types.ModuleType:
    """A Python script of a chart, imported as a module of its own; those that it imports are beside it."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    found = scripts(chart)
    for beside in sorted(
        {name for name in found if f"\nimport {name.removesuffix('.py')}\n" in found[script]}
    ):
        monkeypatch.setitem(sys.modules, beside.removesuffix(".py"), _loaded(beside, found[beside]))
    return _loaded(script, found[script])


def _loaded(script: str, text: str) -> types.ModuleType:
    loaded = types.ModuleType(script.removesuffix(".py").replace("-", "_"))
    exec(compile(text, script, "exec"), loaded.__dict__)
    return loaded


def program(directory: Path, name: str, text: str) -> Path:
    """An executable file."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def run(file: Path, commands: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a script with `commands` first in its PATH and no other environment than `env`."""
    path = f"{commands}:{os.environ['PATH']}"
    return subprocess.run(
        [str(file)],
        env={"PATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(120),
    )
