"""In which order a run with servers goes, and when servers of a group end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.patience import patient
from tests.order import LONGEST
from tests.unasked import ROOT

CONFTEST = """
import pytest

pytest_plugins = ["tests.order"]

@pytest.fixture(scope="session")
def cloud():
    print("began")
    yield
    print("ended")

@pytest.fixture(scope="session")
def bed(cloud):
    yield
    print("left")
"""
TESTS = """
import pytest

@pytest.fixture(scope="module")
def place():
    yield

def test_another():
    print("another")

def test_beside_others_of_its_module(place):
    pass

@pytest.mark.cluster
def test_with_servers():
    print("servers")

@pytest.mark.xdist_group("openstack")
def test_first_of_the_group(bed):
    print("first")

@pytest.mark.xdist_group("openstack")
def test_last_of_the_group():
    print("last")
"""
WORDS = ("began", "first", "last", "left", "ended", "servers", "another")


@pytest.mark.slow
def test_long_groups_come_first_and_their_servers_end_with_them(tmp_path: Path) -> None:
    assert "openstack" in LONGEST
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = (sys.executable, "-m", "pytest", "-q", "-rA", "-n", "1", "--dist", "loadgroup")
    done = subprocess.run(
        [*command, "--no-loadscope-reorder", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=patient(60),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "5 passed" in done.stdout, done.stdout + done.stderr
    assert "test_beside_others_of_its_module@" in done.stdout
    assert tuple(line for line in done.stdout.splitlines() if line in WORDS) == WORDS
