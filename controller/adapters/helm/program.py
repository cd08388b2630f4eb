"""Where Helm is: the program built with us (helm/main.go), beside this Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from controller.errors import ControllerError

VARIABLE = "HELM_BINARY"
ANSWER_SECONDS = 30.0


class ProgramMissing(ControllerError):
    """There is no program of Helm here, or not ours. The text says in one line what to do."""


def find_program(named: Path | None = None) -> Path:
    """The program `named`, else the one beside this Python. Raises ProgramMissing."""
    program = named or Path(sys.prefix) / "bin" / "helm"
    if not (program.is_file() and os.access(program, os.X_OK)):
        what = (
            f'{VARIABLE}: "{program}" is not a program that can be run'
            if named
            else "charts are rendered by Helm, which is not here"
        )
        raise ProgramMissing(f"{what}: run `make helm` in a checkout, or use the controller's image")
    return program


def require_worker(program: Path) -> None:
    """Raises ProgramMissing for another Helm than ours, which does not work off requests."""
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
