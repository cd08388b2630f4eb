"""The wheel: what `pip install` of the project alone gives a person."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sandbox.patience import patient

ROOT = Path(__file__).parents[2]
SHARE = "data/share/openstack-controller"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is made of, without what an editor or a test run left in the checkout."""
    copy = tmp_path_factory.mktemp("source")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    parts = ["charts", "values", "controller", "containers", "pyproject.toml", "setup.py"]
    parts += ["README.md", "LICENSE"]
    names = subprocess.run(
        [*listing, *parts], cwd=ROOT, capture_output=True, check=True, timeout=patient(300)
    ).stdout
    there = b"\0".join(name for name in names.split(b"\0") if name and (ROOT / name.decode()).exists())
    pack = ["tar", "-c", "--null", "-T", "-"]
    archive = subprocess.run(
        pack, cwd=ROOT, input=there, capture_output=True, check=True, timeout=patient(300)
    ).stdout
    subprocess.run(["tar", "-x"], cwd=copy, input=archive, check=True, timeout=patient(300))
    return copy


@pytest.fixture(scope="module")
def shipped(source: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the wheel below `share/openstack-controller`."""
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(target), str(source)]
    subprocess.run(command, check=True, timeout=patient(300))
    [wheel] = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = [name.partition("/")[2] for name in file.namelist()]
    return {name.removeprefix(f"{SHARE}/") for name in names if name.startswith(SHARE)}


@pytest.mark.slow
def test_it_carries_every_chart_and_every_value(source: Path, shipped: set[str]) -> None:
    here = {
        str(path.relative_to(source))
        for top in ("charts", "values")
        for path in (source / top).rglob("*")
        if path.is_file()
    }
    assert here
    assert here - shipped == set()


@pytest.mark.slow
def test_the_library_chart_is_a_part_of_each_chart_and_no_link(shipped: set[str]) -> None:
    assert "charts/keystone/charts/openstack-lib/Chart.yaml" in shipped
