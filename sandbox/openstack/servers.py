"""MariaDB and RabbitMQ as Debian has them, for clouds on loopback and for tests of the charts.

Nothing is installed system-wide. Debian's packages are taken where they are installed; elsewhere they are
downloaded and unpacked into the cache, which needs apt's tools and no privileges. They are made in a draft
directory and put in their place by one rename.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.debian import unpack_packages
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
    """The paths of the servers. `environment` is their additional environment."""

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
    """The shared directory of unpacked packages, if the machine has not installed them."""
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
    tell("fetching MariaDB and RabbitMQ from Debian's mirror (once; nothing is installed)")
    draft = root.with_name(f"{root.name}-draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    unpack_packages(DEBIAN_PACKAGES, _is_wanted, draft)
    if not _complete(draft):
        raise SandboxError("Debian's packages of MariaDB and RabbitMQ do not hold what was expected of them")
    # Debian's Erlang knows no other place than this one.
    launcher = draft / "usr/lib/erlang/bin/erl"
    launcher.write_text(launcher.read_text().replace("/usr/lib/erlang", f"{root}/usr/lib/erlang"))
    shutil.rmtree(root, ignore_errors=True)
    draft.rename(root)


def _is_wanted(package: str) -> bool:
    return package.startswith(_WANTED) and not package.startswith(_UNWANTED)
