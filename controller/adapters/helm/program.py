"""The Helm program that is built with this project (helm/main.go), beside this Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from controller.errors import ControllerError

VARIABLE = "HELM_BINARY"
ANSWER_SECONDS = 30.0


class ProgramMissing(ControllerError):
    """The Helm program is missing, or is not ours. The text says in one line what to do."""


def find_program(named: Path | None = None) -> Path:
    """The program `named`, otherwise the one beside this Python. Raises ProgramMissing."""
    program = named or Path(sys.prefix) / "bin" / "helm"
    if not (program.is_file() and os.access(program, os.X_OK)):
        what = (
            f'{VARIABLE}: "{program}" is not an executable program'
            if named
            else "Helm is needed to render charts, and was not found"
        )
        remedy = f"run `make helm` in a checkout, name the program of a release in {VARIABLE}"
        raise ProgramMissing(f"{what}: {remedy}, or use the controller's image")
    return program


def require_worker(program: Path) -> None:
    """Raises ProgramMissing for another Helm, which cannot serve requests."""
    try:
        answer = subprocess.run(
            [str(program), "work"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        code = -1
    else:
        code = answer.returncode
    if code != 0:
        raise ProgramMissing(f'{VARIABLE}: "{program}" is not the Helm that the controller is built with')
