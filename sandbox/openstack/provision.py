"""What a cloud needs on the machine: OpenStack's Python packages, MariaDB and RabbitMQ.

Nothing is installed system-wide. Debian's packages are taken where they are installed; elsewhere they are
downloaded and unpacked into the cache, which needs apt's tools and no privileges. Everything is made in a
draft directory and put in its place by one rename.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
            _run([uv, "venv", "--quiet", "--python", str(python), str(draft)])
            install = [uv, "pip", "install", "--quiet", "--compile-bytecode"]
            install += ["--python", str(draft / "bin" / "python")]
        else:
            _run([str(python), "-m", "venv", str(draft)])
            install = [str(draft / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        _run([*install, "--requirement", str(series.requirements)], timeout=1800)
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
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise SandboxError(
                "MariaDB and RabbitMQ are not installed, and without apt they cannot be fetched: install "
                f"them as your system does it (Debian's names: {', '.join(DEBIAN_PACKAGES)})"
            )
    tell("fetching MariaDB and RabbitMQ from Debian's mirror (once; nothing is installed)")
    work = places.root / "packages"
    draft = places.root / "system"
    for directory in (work, draft):
        shutil.rmtree(directory, ignore_errors=True)
    for directory in (work / "lists" / "partial", work / "archives" / "partial", draft):
        directory.mkdir(parents=True)
    # State of our own: neither the machine's lists nor its locks are touched.
    own = ["-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}"]
    own += ["-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]
    _run(["apt-get", *own, "-qq", "update"], timeout=300)
    without = [
        f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    ]
    listed = _run(["apt-cache", *own, "depends", "--recurse", *without, *DEBIAN_PACKAGES])
    names = {line for line in listed.splitlines() if line and line[0] not in " <|"}
    chosen = sorted(name for name in names if name.startswith(_WANTED) and not name.startswith(_UNWANTED))
    _run(["apt-get", *own, "-qq", "download", *_missing(chosen)], timeout=600, cwd=work / "archives")
    for archive in sorted((work / "archives").glob("*.deb")):
        _run(["dpkg-deb", "--extract", str(archive), str(draft)])
    shutil.rmtree(work)
    if not _complete(draft):
        raise SandboxError("Debian's packages of MariaDB and RabbitMQ do not hold what was expected of them")
    # Debian's Erlang knows no other place than this one.
    launcher = draft / "usr/lib/erlang/bin/erl"
    launcher.write_text(launcher.read_text().replace("/usr/lib/erlang", f"{places.system}/usr/lib/erlang"))
    shutil.rmtree(places.system, ignore_errors=True)
    draft.rename(places.system)


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


def _run(command: Sequence[str], *, timeout: float = 600, cwd: Path | None = None) -> str:
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
