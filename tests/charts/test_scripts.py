"""Every script that a chart ships is read by its interpreter without complaint."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from controller.adapters.charts.files import walk
from sandbox.patience import patient
from tests.charts.lean import CHARTS, LEAN, nest, objects

pytestmark = pytest.mark.slow

VARIANTS = {"libvirt": nest("conf.ceph.enabled", True), "openvswitch": nest("conf.ovs_dpdk.enabled", True)}


def scripts(name: str) -> dict[str, str]:
    return {
        key: text
        for item in objects(name, VARIANTS.get(name))
        if item["kind"] == "ConfigMap"
        for key, text in item.get("data", {}).items()
    }


@pytest.mark.parametrize("name", LEAN)
def test_scripts_parse(name: str, tmp_path: Path) -> None:
    for key, text in scripts(name).items():
        if key.endswith(".py"):
            ast.parse(text, key)
            continue
        file = tmp_path / key
        file.write_text(text)
        checked = subprocess.run(
            ["bash", "-n", str(file)], capture_output=True, text=True, check=False, timeout=patient(120)
        )
        assert (checked.returncode, checked.stderr) == (0, ""), key


@pytest.mark.parametrize("name", LEAN)
def test_scripts_begin_with_their_interpreter_and_stop_at_the_first_error(name: str) -> None:
    for key, text in scripts(name).items():
        first, *_ = text.splitlines()
        if key == "http.sh":  # is sourced
            continue
        assert first.startswith("#!"), key
        if key.endswith(".sh"):
            assert "\nset -e" in text or "\nset -uo" in text, key


@pytest.mark.parametrize("name", LEAN)
def test_what_an_installer_compiles_beside_a_script_is_no_part_of_the_chart(
    name: str, tmp_path: Path
) -> None:
    """Else each image that is built has charts of its own, and every region upgrades its releases to them."""
    before = walk(CHARTS / name, CHARTS).files
    shutil.copytree(CHARTS / name, tmp_path / name)
    for script in list((tmp_path / name).rglob("*.py")):
        compiled = script.parent / "__pycache__" / f"{script.stem}.cpython-311.pyc"
        compiled.parent.mkdir(exist_ok=True)
        compiled.write_bytes(b"made at another time")
    after = walk(tmp_path / name, tmp_path).files
    assert [file for file, _ in after] == [file for file, _ in before]
