"""osctl as a plugin of kubectl, as a release has it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tools.release.plugin import write_plugin

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    write_plugin(ROOT, tmp_path, "1.2.3", 1_700_000_000)
    return tmp_path


def test_the_manifest_names_the_archive_and_its_digest(plugin: Path):
    manifest = yaml.safe_load((plugin / "osctl.krew.yaml").read_text())
    assert manifest["metadata"]["name"] == "osctl"
    assert manifest["spec"]["version"] == "v1.2.3"
    digest = hashlib.sha256((plugin / "kubectl-osctl-1.2.3.tar.gz").read_bytes()).hexdigest()
    for platform in manifest["spec"]["platforms"]:
        assert (platform["uri"], platform["sha256"]) == ("kubectl-osctl-1.2.3.tar.gz", digest)
        with tarfile.open(plugin / platform["uri"]) as archive:
            assert {one["from"] for one in platform["files"]} == set(archive.getnames())
    assert len(manifest["spec"]["shortDescription"]) <= 50  # what krew shows


def test_the_address_of_the_files_is_in_the_manifest(tmp_path: Path):
    write_plugin(ROOT, tmp_path, "1.2.3", 0, "https://files.example.org/1.2.3/")
    platform = yaml.safe_load((tmp_path / "osctl.krew.yaml").read_text())["spec"]["platforms"][0]
    assert platform["uri"] == "https://files.example.org/1.2.3/kubectl-osctl-1.2.3.tar.gz"


def test_the_same_version_and_time_make_the_same_files(
    plugin: Path, tmp_path_factory: pytest.TempPathFactory
):
    again = tmp_path_factory.mktemp("again")
    write_plugin(ROOT, again, "1.2.3", 1_700_000_000)
    assert {one.name: one.read_bytes() for one in again.iterdir()} == {
        one.name: one.read_bytes() for one in plugin.iterdir()
    }


def test_the_launcher_runs_osctl_with_all_arguments(plugin: Path, tmp_path: Path):
    with tarfile.open(plugin / "kubectl-osctl-1.2.3.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = programs / "osctl"
    fake.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    fake.chmod(0o755)
    launcher = [str(tmp_path / "kubectl-osctl"), "status", "a b"]
    with_it = subprocess.run(
        launcher, env={"PATH": f"{programs}:{os.defpath}"}, capture_output=True, text=True, check=False
    )
    assert with_it.stdout == "[status][a b]"
    without = subprocess.run(launcher, env={"PATH": os.defpath}, capture_output=True, text=True, check=False)
    assert without.returncode == 127
    assert "pipx install openstack_controller-1.2.3-py3-none-any.whl" in without.stderr
