"""`python -m tools.shell`: shellcheck on every shell script, those of charts as they are rendered."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sandbox.patience import patient
from tests.charts.lean import LEAN, ROOT, decoded, merged, nest, objects

# What else a chart's scripts hold when its switches are on.
VARIANTS = {
    "libvirt": merged(
        nest("conf.ceph.enabled", True),
        merged(
            nest("conf.init_modules.enabled", True),
            nest("conf.dynamic_options.libvirt.listen_interface", "eth0"),
        ),
    ),
    "openvswitch": nest("conf.ovs_dpdk.enabled", True),
    "nova": nest("jobs.cell_setup.extended_wait.enabled", True),
    "glance": nest("storage", "rbd"),
}
NOT_CHARTS = (".ci/run",)


def is_shell(name: str, text: str) -> bool:
    return name.endswith(".sh") or text.startswith(("#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash"))


def rendered() -> Iterator[tuple[str, str]]:
    """Name and text of each shell script that the charts ship, in ConfigMaps and in Secrets."""
    for chart in LEAN:
        for values in ({}, *([VARIANTS[chart]] if chart in VARIANTS else [])):
            for item in objects(chart, values):
                if item["kind"] in ("ConfigMap", "Secret"):
                    data = decoded(item) if item["kind"] == "Secret" else item.get("data", {})
                    for name, text in data.items():
                        if is_shell(name, text):
                            yield f"{chart}{'-variant' if values else ''}/{name}", text


def main() -> int:
    checker = shutil.which("shellcheck", path=str(Path(sys.executable).parent))
    if checker is None:
        print("shellcheck is missing: make setup", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        files = [str(ROOT / name) for name in NOT_CHARTS]
        for name, text in rendered():
            file = Path(directory) / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            files.append(str(file))
        # Off by default: a command that fails as an argument of another stops no script.
        checked = subprocess.run(
            [checker, "--shell=bash", "--enable=check-extra-masked-returns", *files],
            check=False,
            timeout=patient(300),
        )
    return checked.returncode


if __name__ == "__main__":
    sys.exit(main())
