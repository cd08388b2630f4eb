"""`make demo` and `make demo-down`, as a person runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import processes
from sandbox.patience import patient
from tests.cluster.region import RELEASES, ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("demo"), pytest.mark.timeout(1800)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A state directory of our own, so that no one's demo is touched."""
    yield tmp_path
    run(tmp_path, "demo-down")


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *arguments],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=patient(900),
        check=False,
    )


def test_the_demo_ends_ready_runs_on_and_leaves_nothing_when_it_goes(home: Path):
    shown = run(home, "demo")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "region-one: Ready, 10 releases installed" in shown.stdout
    for release in RELEASES:
        assert re.search(rf"\b{release}: installed|installed before: .*\b{release}\b", shown.stderr), release
    place = home / "openstack-controller" / "sandboxes" / "demo"
    assert f"export KUBECONFIG={place / 'kubeconfig'}" in shown.stdout
    running = processes.find_owned(place)
    assert len(running) >= 8  # five of the control plane, and the controllers
    gone = run(home, "demo-down")
    assert (gone.returncode, gone.stdout) == (0, "the demo is gone\n")
    assert not any(processes.is_running(process) for process in running)
    assert not place.exists()
    assert run(home, "demo-down").stdout == "there is no demo\n"
