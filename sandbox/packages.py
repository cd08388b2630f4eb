"""Packages of Debian, fetched by apt from the machine's own sources and unpacked: nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox.errors import SandboxError

TOOLS = ("apt-get", "dpkg-deb")
UPDATE_SECONDS = 300.0
DOWNLOAD_SECONDS = 900.0


def unpack_packages(names: Sequence[str], target: Path, tell: Callable[[str], None]) -> None:
    """Puts what these packages (and not those that they depend on) hold into `target`, unless it is there.

    Raises SandboxError with the cause.
    """
    if target.exists():
        return
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise SandboxError(
            f"{', '.join(names)} of Debian cannot be fetched: there is no {' and no '.join(missing)} here"
        )
    tell(f"fetching {', '.join(names)} with apt (once; nothing is installed)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".packages-") as place:
        work = Path(place)
        for part in ("lists/partial", "archives/partial", "root"):
            (work / part).mkdir(parents=True)
        own = apt_options(work)
        run(["apt-get", *own, "-qq", "update"], timeout=UPDATE_SECONDS)
        run(["apt-get", *own, "-qq", "download", *names], timeout=DOWNLOAD_SECONDS, cwd=work / "archives")
        for archive in sorted((work / "archives").glob("*.deb")):
            run(["dpkg-deb", "--extract", str(archive), str(work / "root")])
        shutil.rmtree(target, ignore_errors=True)
        (work / "root").chmod(0o755)
        (work / "root").rename(target)


def apt_options(work: Path) -> list[str]:
    """By these apt keeps its state in `work`: neither the machine's lists nor its locks are touched."""
    own = ["-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}"]
    return [*own, "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]


def run(
    command: Sequence[str],
    *,
    timeout: float = 600.0,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What the command prints. Raises SandboxError with the end of its output, or at the timeout."""
    name = Path(command[0]).name
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{name} did not end within {timeout:.0f} s") from None
    except OSError as error:
        raise SandboxError(f"cannot run {name}: {error.strerror}") from error
    if answer.returncode != 0:
        raise SandboxError(f"{name} failed: {(answer.stderr or answer.stdout)[-1500:].strip()}")
    return answer.stdout
