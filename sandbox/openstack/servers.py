"""MariaDB and RabbitMQ as Debian has them, for clouds on loopback and for tests of the charts.

Nothing is installed system-wide. Debian's packages are taken where they are installed; elsewhere they are
downloaded and unpacked into the cache, which needs apt's tools and no privileges. They are made in a draft
directory and put in their place by one rename.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.paths import cache_root

Tell = Callable[[str], None]
DEBIAN_PACKAGES = ("mariadb-server-core", "mariadb-client-core", "rabbitmq-server")
# Of what those depend on, what a server process needs to run: not Perl, not scripts of maintainers.
_WANTED = ("mariadb-", "erlang-", "rabbitmq-", "lib")
_UNWANTED = ("libperl", "libdbi", "libconfig", "libterm", "libfcgi", "libhtml", "libcgi")


@dataclass(frozen=True)
class Programs:
    """Where the servers are. `environment` is what they need beside their own settings."""

    mariadbd: Path
    mariadb: Path
    install_db: Path
    basedir: Path
    rabbitmq: Path
    epmd: Path
    environment: Mapping[str, str]


def ensure_servers(tell: Tell) -> Programs:
    """The servers, fetched first where they are missing. Raises SandboxError with cause and remedy."""
    return _installed_programs() or _unpacked_programs(tell)


def unpacked_root() -> Path:
    """Where the packages are unpacked when the machine has not installed them; everyone shares them."""
    return cache_root() / "openstack" / f"system-{platform.machine()}"


def _installed_programs() -> Programs | None:
    root = Path("/")
    return _programs(root, {}) if _complete(root) else None


def _unpacked_programs(tell: Tell) -> Programs:
    root = unpacked_root()
    # Clouds of several series and tests want them, perhaps at once.
    with locked(root.parent / "servers.lock", timeout=900):
        if not _complete(root):
            _unpack_packages(root, tell)
    libraries = ":".join(str(path) for path in sorted((root / "usr" / "lib").glob("*-linux-gnu")))
    environment = {
        "LD_LIBRARY_PATH": libraries,
        "PATH": f"{root}/usr/bin:{root}/usr/sbin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    }
    return _programs(root, environment)


def _complete(root: Path) -> bool:
    programs = _programs(root, {})
    needed = (programs.mariadbd, programs.mariadb, programs.install_db, programs.rabbitmq, programs.epmd)
    return all(path.exists() for path in needed)


def _programs(root: Path, environment: Mapping[str, str]) -> Programs:
    usr = root / "usr"
    return Programs(
        mariadbd=usr / "sbin/mariadbd",
        mariadb=usr / "bin/mariadb",
        install_db=usr / "bin/mariadb-install-db",
        basedir=usr,
        rabbitmq=usr / "lib/rabbitmq/bin/rabbitmq-server",
        epmd=usr / "bin/epmd",
        environment=environment,
    )


def _unpack_packages(root: Path, tell: Tell) -> None:
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise SandboxError(
                "MariaDB and RabbitMQ are not installed, and without apt they cannot be fetched: install "
                f"them as your system does it (Debian's names: {', '.join(DEBIAN_PACKAGES)})"
            )
    tell("fetching MariaDB and RabbitMQ from Debian's mirror (once; nothing is installed)")
    work = root.parent / "packages"
    draft = work / "system"
    shutil.rmtree(work, ignore_errors=True)
    for directory in (work / "lists" / "partial", work / "archives" / "partial", draft):
        directory.mkdir(parents=True)
    # State of our own: neither the machine's lists nor its locks are touched.
    own = ["-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}"]
    own += ["-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]
    run(["apt-get", *own, "-qq", "update"], timeout=300)
    without = [
        f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    ]
    listed = run(["apt-cache", *own, "depends", "--recurse", *without, *DEBIAN_PACKAGES])
    names = {line for line in listed.splitlines() if line and line[0] not in " <|"}
    chosen = sorted(name for name in names if name.startswith(_WANTED) and not name.startswith(_UNWANTED))
    run(["apt-get", *own, "-qq", "download", *_missing(chosen)], timeout=600, cwd=work / "archives")
    for archive in sorted((work / "archives").glob("*.deb")):
        run(["dpkg-deb", "--extract", str(archive), str(draft)])
    if not _complete(draft):
        raise SandboxError("Debian's packages of MariaDB and RabbitMQ do not hold what was expected of them")
    # Debian's Erlang knows no other place than this one.
    launcher = draft / "usr/lib/erlang/bin/erl"
    launcher.write_text(launcher.read_text().replace("/usr/lib/erlang", f"{root}/usr/lib/erlang"))
    shutil.rmtree(root, ignore_errors=True)
    draft.rename(root)
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


def run(command: Sequence[str], *, timeout: float = 600, cwd: Path | None = None) -> str:
    """The command's output. Raises SandboxError with the end of what it said."""
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
