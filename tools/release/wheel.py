"""The wheel of osctl and the containers, and the program of Helm that they render with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.helm import ensure_helm
from sandbox.images.oci import architecture
from tools.release.source import ReleaseError

_SECONDS = 600


def write_wheel(source: Path, target: Path, epoch: int) -> None:
    """Builds the wheel of `source` with the setuptools of this Python, without a network.

    Raises ReleaseError.
    """
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(target), str(source)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    # setuptools leaves it in the source, where the image would see it.
    for left in (source / "build", *source.glob("*.egg-info")):
        shutil.rmtree(left, ignore_errors=True)
    if done.returncode != 0:
        raise ReleaseError(f"the wheel was not built: {done.stderr.strip()[-2000:]}")


def write_helm(target: Path, version: str) -> None:
    """Copies the program of Helm, built first where the cache lacks it."""
    shutil.copyfile(ensure_helm(), program := target / f"osctl-helm-{version}-linux-{architecture()}")
    program.chmod(0o755)
