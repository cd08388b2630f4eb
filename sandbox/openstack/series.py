"""The OpenStack series that can be started, and where one of them keeps its files and listens."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.paths import cache_root

SOURCE = Path(__file__).resolve().parent
HOST = "127.0.0.1"
SERVICES = (
    "keystone",
    "placement",
    "nova",
    "glance",
    "neutron",
    "cinder",
    "mariadb",
    "rabbit",
    "rabbit-dist",
    "epmd",
)
# Beside the pins: what decides the packages, and what decides how a new cloud is set up.
_PACKAGE_INPUTS = ("ml2_driver.py",)
_SETUP_INPUTS = ("series.py", "configuration.py", "services.py", "schema.py", "seed.py")
_PLUGINS = sorted((SOURCE / "plugins").glob("*.py"))


@dataclass(frozen=True)
class Series:
    """One OpenStack release: which Pythons may run it, best first, and its first port."""

    name: str
    pythons: tuple[str, ...]
    first_port: int

    @property
    def requirements(self) -> Path:
        """The pinned packages."""
        return SOURCE / f"requirements-{self.name}.txt"

    def ports(self) -> dict[str, int]:
        """The port of each service on loopback; fixed, for the catalogue of the golden copy names them."""
        return {name: self.first_port + index for index, name in enumerate(SERVICES)}


KNOWN = {
    series.name: series
    for series in (
        Series("2025.1", ("3.11", "3.12"), 15000),
        Series("2026.1", ("3.12",), 15100),
    )
}
DEFAULT = "2025.1"


def find_series(name: str) -> Series:
    """The series of that name. Raises SandboxError naming those there are."""
    if name not in KNOWN:
        raise SandboxError(f'no OpenStack series "{name}": one of {", ".join(KNOWN)}')
    return KNOWN[name]


@dataclass(frozen=True)
class Places:
    """The directories of one series in the cache.

    `root` is keyed by what decides the Python packages, `setup` is the key of what decides a new cloud.
    """

    root: Path
    setup: str

    @property
    def venv(self) -> Path:
        return self.root / "venv"

    @property
    def golden(self) -> Path:
        """A stopped cloud that was set up and never used."""
        return self.root / f"golden-{self.setup}"

    @property
    def run(self) -> Path:
        """The running cloud. Always here: its configuration and its database hold absolute paths."""
        return self.root / "run"

    @property
    def lock(self) -> Path:
        return self.root / "lock"


def places_of(series: Series) -> Places:
    """Where this series lives for the present pins and the present set-up."""
    packages = _digest(series.requirements, *(SOURCE / name for name in _PACKAGE_INPUTS))
    root = cache_root() / "openstack" / f"{series.name}-{platform.machine()}-{packages}"
    return Places(root, _digest(*(SOURCE / name for name in _SETUP_INPUTS), *_PLUGINS))


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def find_python(series: Series) -> Path | None:
    """An interpreter that may run the series; None where the machine has none."""
    return next((found for version in series.pythons for found in _interpreters(version)), None)


def _interpreters(version: str) -> Iterator[Path]:
    """Interpreters of that version that start and have what building extensions needs."""
    named = [shutil.which(f"python{version}"), "/usr/bin/python3", shutil.which("python3")]
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    check = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2], sys._base_executable)"
    for command in [*(str(one) for one in named if one), *map(str, pyenv)]:
        try:
            answer = subprocess.run(
                [command, "-c", check], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        found, _, executable = answer.stdout.strip().partition(" ")
        if answer.returncode == 0 and found == version:
            yield Path(executable)
