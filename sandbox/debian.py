"""Debian's packages unpacked into a directory: nothing is installed, and no privileges are needed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox.builds import demand_builds
from sandbox.errors import SandboxError


def unpack_packages(names: Sequence[str], wanted: Callable[[str], bool], into: Path) -> None:
    """Unpacks those of the packages, and of what they depend on, that are wanted and not installed here.

    `into` is an empty directory. Raises SandboxError with cause and remedy.
    """
    demand_builds(", ".join(names))
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise SandboxError(
                f"{', '.join(names)} are not installed, and without apt they cannot be fetched: install them "
                "as your system does it (the names are Debian's)"
            )
    work = into.with_name(f"{into.name}-packages")
    shutil.rmtree(work, ignore_errors=True)
    for directory in (work / "lists" / "partial", work / "archives" / "partial"):
        directory.mkdir(parents=True)
    # State of our own: neither the machine's lists nor its locks are touched.
    own = ["-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}"]
    own += ["-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]
    run_program(["apt-get", *own, "-qq", "update"], timeout=300)
    without = [
        f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    ]
    listed = run_program(["apt-cache", *own, "depends", "--recurse", *without, *names])
    found = {line for line in listed.splitlines() if line and line[0] not in " <|"}
    chosen = _missing(sorted(filter(wanted, found)))
    if chosen:
        run_program(["apt-get", *own, "-qq", "download", *chosen], timeout=600, cwd=work / "archives")
    for archive in sorted((work / "archives").glob("*.deb")):
        run_program(["dpkg-deb", "--extract", str(archive), str(into)])
    shutil.rmtree(work)


def _missing(names: Sequence[str]) -> list[str]:
    """Those that dpkg does not know as installed: the machine's own C library must not be doubled."""
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    installed = {line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in installed]


def run_program(command: Sequence[str], *, timeout: float = 600, cwd: Path | None = None) -> str:
    """What the program prints. Raises SandboxError with its complaint where it fails, and past the time."""
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False, cwd=cwd
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{command[0]} {command[1]} did not end within {timeout:.0f} s") from None
    if answer.returncode != 0:
        raise SandboxError(
            f"{Path(command[0]).name} failed: {(answer.stderr or answer.stdout)[-1500:].strip()}"
        )
    return answer.stdout
