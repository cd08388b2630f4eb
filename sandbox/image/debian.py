"""The root file system of a Debian suite with Python: what stands for the base image of a Dockerfile.

Nothing is installed on this machine: debootstrap itself is fetched as a package and unpacked beside its work.
The mirror is the machine's own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.paths import cache_root

Tell = Callable[[str], None]

SUITES = ("bookworm", "trixie")
PACKAGES = ("ca-certificates", "python3", "python3-venv")
TOOLS = ("apt-get", "dpkg-deb", "mount", "unshare", "chroot")
LOCK_SECONDS = 1800.0
# Of what a package of Debian leaves behind that only its installation needs.
_NEEDLESS = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")


def lacking() -> str:
    """What keeps this machine from making and mounting root file systems; empty when nothing does."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0:
        return "root file systems are made and mounted as root"
    if missing:
        return f"root file systems are made on Debian with {', '.join(missing)}"
    # A container without the capability is root, too.
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, timeout=60, check=False)
    return "" if tried.returncode == 0 else "this machine does not let us mount anything"


def images_root() -> Path:
    """Where root file systems and layers are kept."""
    return cache_root() / "image-roots"


def ensure_base(suite: str, tell: Tell = lambda _: None) -> Path:
    """The directory that holds the suite's root file system; made first where it is missing (a minute).

    Safe with other processes that do the same. Raises SandboxError with the cause.
    """
    if suite not in SUITES:
        raise SandboxError(f'no base "{suite}": one of {", ".join(SUITES)}')
    if reason := lacking():
        raise SandboxError(reason)
    target = base_directory(suite)
    with locked(target.with_name(f".{target.name}.lock"), timeout=LOCK_SECONDS):
        if not target.exists():
            tell(f"making the root file system of Debian {suite} (a minute, once)")
            _make(suite, target)
    return target


def base_directory(suite: str) -> Path:
    """The directory of the suite's root file system."""
    key = hashlib.sha256(" ".join((suite, *PACKAGES, *_NEEDLESS)).encode()).hexdigest()[:12]
    return images_root() / "bases" / f"{suite}-{key}"


def _make(suite: str, target: Path) -> None:
    work = target.with_name(f".{target.name}.work")
    draft = work / "root"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        run(["apt-get", *_own_lists(work), "-qq", "update"], timeout=300)
        run(["apt-get", *_own_lists(work), "-qq", "download", "debootstrap"], cwd=work)
        [package] = work.glob("debootstrap_*.deb")
        run(["dpkg-deb", "--extract", str(package), str(work / "tool")])
        tool = work / "tool" / "usr"
        run(
            [
                *(str(tool / "sbin" / "debootstrap"), "--variant=minbase"),
                *(f"--include={','.join(PACKAGES)}", suite, str(draft), _mirror(work)),
            ],
            timeout=1800,
            environment={**os.environ, "DEBOOTSTRAP_DIR": str(tool / "share" / "debootstrap")},
        )
        for name in _NEEDLESS:
            shutil.rmtree(draft / name, ignore_errors=True)
        # As in the images of Python: the name that Dockerfiles use.
        (draft / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        draft.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _own_lists(work: Path) -> list[str]:
    """State of our own: neither the machine's lists nor its locks are touched."""
    for directory in (work / "lists" / "partial", work / "archives" / "partial"):
        directory.mkdir(parents=True, exist_ok=True)
    own = ["-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}"]
    return [*own, "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]


def _mirror(work: Path) -> str:
    """The address from which this machine has Debian's own packages."""
    shown = run(["apt-get", *_own_lists(work), "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL)"])
    # Label "Debian-Security" is another archive.
    found = [line.split()[0] for line in shown.splitlines() if line.split()[1:] == ["Debian", "Debian"]]
    if not found:
        raise SandboxError("this machine's apt has no mirror of Debian to make a root file system from")
    return found[0]


def run(
    command: Sequence[str],
    *,
    timeout: float = 600,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The output of a command. Raises SandboxError with the end of what it printed when it fails."""
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            cwd=cwd,
            env=None if environment is None else dict(environment),
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{Path(command[0]).name} did not end within {timeout:.0f} s") from None
    if answer.returncode != 0:
        raise SandboxError(
            f"{Path(command[0]).name} failed: {(answer.stderr or answer.stdout)[-2000:].strip()}"
        )
    return answer.stdout
