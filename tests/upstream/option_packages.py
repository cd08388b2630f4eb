"""What the packages of an OpenStack series say of options: asked in a virtual environment of each series.

The environments are made once, of the pins in `requirements-<series>.txt`, and kept in the sandbox's cache.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.openstack.series import Series, find_python
from sandbox.paths import cache_root
from tests.fakes.option_files import chart_options

HERE = Path(__file__).resolve().parent
PROGRAM, SERVICES = HERE / "option_program.py", HERE / "service_program.py"
SERIES = ("2025.1", "2025.2", "2026.1")
# The packages that define the options of a chart's files, beside the libraries that all services have.
PACKAGES: Mapping[str, tuple[str, ...]] = {
    chart: options.packages for chart, options in sorted(chart_options().items()) if options.packages
}
INSTALL_SECONDS, ASK_SECONDS = 3600, 300


def requirements(series: str) -> Path:
    """The pinned packages of a series."""
    return HERE / f"requirements-{series}.txt"


def pins_digest(series: str) -> str:
    """What the facts of a series were recorded with."""
    return sha256(requirements(series).read_bytes()).hexdigest()[:12]


@cache
def python_of(series: str, tell: Callable[[str], None] = print) -> Path:
    """The interpreter of the series' environment, made first where it is missing (ten minutes).

    Raises SandboxError where no Python of the machine can run the series, or pip fails."""
    root = cache_root() / "options" / f"{series}-{platform.machine()}-{pins_digest(series)}"
    interpreter, ready = root / "venv" / "bin" / "python", root / "ready"
    with locked(root.parent / f"{root.name}.lock", timeout=INSTALL_SECONDS):
        if not ready.exists():
            base = find_python(Series(series, ("3.12",), 0))
            if base is None:
                raise SandboxError(f"no Python 3.12 here, which the packages of OpenStack {series} need")
            tell(f"installing the packages of OpenStack {series} below {root}: ten minutes, once")
            _run([str(base), "-m", "venv", "--clear", str(root / "venv")])
            pip = ["nice", str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            # setuptools for packages that still import pkg_resources.
            _run([*pip, "setuptools<80"])
            _run([*pip, "--no-deps", "--requirement", str(requirements(series))])
            ready.touch()
    return interpreter


def ask(series: str, chart: str, **question: Any) -> dict[str, Any]:
    """What `option_program.py` answers about the files of a chart. Raises SandboxError when it fails."""
    asked = {"packages": PACKAGES[chart], **question}
    answer = _run([str(python_of(series)), str(PROGRAM)], stdin=json.dumps(asked), timeout=ASK_SECONDS)
    found = json.loads(answer)
    assert isinstance(found, dict)
    return found


def load(series: str, chart: str, action: str, **question: Any) -> Any:
    """What an action of `service_program.py` answers for a chart. Raises SandboxError when it fails."""
    asked = {"packages": PACKAGES[chart], **question}
    command = [str(python_of(series)), str(SERVICES), action]
    return json.loads(_run(command, stdin=json.dumps(asked), timeout=ASK_SECONDS))


def run_program(series: str, program: str, **question: Any) -> Any:
    """What another program of this directory answers. Raises SandboxError when it fails."""
    command = [str(python_of(series)), str(HERE / program)]
    return json.loads(_run(command, stdin=json.dumps(question), timeout=ASK_SECONDS))


def _run(command: list[str], *, stdin: str = "", timeout: int = INSTALL_SECONDS) -> str:
    # The environments have their packages compiled in place, not in a worktree's own directory.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    done = subprocess.run(
        command,
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise SandboxError(f"{' '.join(command[:4])} … failed:\n{done.stderr[-2000:]}")
    return done.stdout
