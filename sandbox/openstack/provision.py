"""What a cloud needs on the machine: OpenStack's Python packages, MariaDB and RabbitMQ.

Nothing is installed system-wide. Debian's packages are taken where they are installed; elsewhere they are
downloaded and unpacked into the cache, which needs apt's tools and no privileges. Everything is made in a
draft directory and put in its place by one rename.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.debian import run_program, unpack_packages
from sandbox.errors import SandboxError
from sandbox.openstack.series import SOURCE, Places, Series, find_python

Tell = Callable[[str], None]
DEBIAN_PACKAGES = ("mariadb-server-core", "mariadb-client-core", "rabbitmq-server")
# Of what those depend on, what a server process needs to run: not Perl, not scripts of maintainers.
_WANTED = ("mariadb-", "erlang-", "rabbitmq-", "lib")
_UNWANTED = ("libperl", "libdbi", "libconfig", "libterm", "libfcgi", "libhtml", "libcgi")
DISTRIBUTION = "osctl_sandbox_ml2-1.0.dist-info"


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


def ensure_provisions(series: Series, places: Places, tell: Tell) -> Programs:
    """The virtual environment and the servers, made first where they are missing (minutes, once).

    Raises SandboxError with cause and remedy.
    """
    places.root.mkdir(parents=True, exist_ok=True)
    if not places.venv.exists():
        _make_venv(series, places, tell)
    return _installed_programs() or _unpacked_programs(places, tell)


def _make_venv(series: Series, places: Places, tell: Tell) -> None:
    python = find_python(series)
    if python is None:
        raise SandboxError(
            f"OpenStack {series.name} runs on Python {' or '.join(series.pythons)}, and this machine has "
            "none with venv; install it (Debian: python3, python3-venv), or choose another series"
        )
    tell(f"installing OpenStack {series.name} on {python} (a few minutes, once)")
    # A virtual environment cannot be moved: it is made in its place, and noted when it is whole.
    draft = places.venv
    shutil.rmtree(draft, ignore_errors=True)
    try:
        uv = shutil.which("uv")
        if uv:
            run_program([uv, "venv", "--quiet", "--python", str(python), str(draft)])
            install = [uv, "pip", "install", "--quiet", "--compile-bytecode"]
            install += ["--python", str(draft / "bin" / "python")]
        else:
            run_program([str(python), "-m", "venv", str(draft)])
            install = [str(draft / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        run_program([*install, "--requirement", str(series.requirements)], timeout=1800)
        _install_driver(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _install_driver(venv: Path) -> None:
    """Puts the ML2 driver where Neutron finds it: a module, and the entry point that names it."""
    (site,) = venv.glob("lib/python*/site-packages")
    shutil.copy(SOURCE / "ml2_driver.py", site / "osctl_sandbox_ml2.py")
    information = site / DISTRIBUTION
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: osctl-sandbox-ml2\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[neutron.ml2.mechanism_drivers]\nosctl_loopback = osctl_sandbox_ml2:LoopbackDriver\n"
    )


def _installed_programs() -> Programs | None:
    root = Path("/")
    return _programs(root, {}) if _complete(root) else None


def _unpacked_programs(places: Places, tell: Tell) -> Programs:
    if not _complete(places.system):
        _unpack_packages(places, tell)
    root = places.system
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


def _unpack_packages(places: Places, tell: Tell) -> None:
    tell("fetching MariaDB and RabbitMQ from Debian's mirror (once; nothing is installed)")
    draft = places.root / "system"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    unpack_packages(
        DEBIAN_PACKAGES, lambda name: name.startswith(_WANTED) and not name.startswith(_UNWANTED), draft
    )
    if not _complete(draft):
        raise SandboxError("Debian's packages of MariaDB and RabbitMQ do not hold what was expected of them")
    # Debian's Erlang knows no other place than this one.
    launcher = draft / "usr/lib/erlang/bin/erl"
    launcher.write_text(launcher.read_text().replace("/usr/lib/erlang", f"{places.system}/usr/lib/erlang"))
    shutil.rmtree(places.system, ignore_errors=True)
    draft.rename(places.system)
