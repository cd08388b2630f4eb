"""What a cloud needs on the machine: OpenStack's Python packages in the cache, and the servers."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.debian import run_program
from sandbox.errors import SandboxError
from sandbox.openstack.series import SOURCE, Places, Series, find_python
from sandbox.openstack.servers import Programs, Tell, ensure_servers

DISTRIBUTION = "osctl_sandbox_ml2-1.0.dist-info"


def ensure_provisions(series: Series, places: Places, tell: Tell) -> Programs:
    """The virtual environment and the servers, made first where they are missing (minutes, once).

    Raises SandboxError with cause and remedy.
    """
    places.root.mkdir(parents=True, exist_ok=True)
    if not places.venv.exists():
        _make_venv(series, places, tell)
    return ensure_servers(tell)


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
