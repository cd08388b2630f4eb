"""Which program of Helm is run; one that cannot serve is refused before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from containers.helm import helm_client
from controller.adapters.helm.program import ProgramMissing, find_program
from controller.settings import SettingInvalid, read_settings
from tests.fakes.kube import FakeKube


def program(directory: Path, answer: str, *, mode: int = 0o755) -> Path:
    path = directory / "helm"
    path.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    path.chmod(mode)
    return path


def start(binary: Path) -> None:
    helm_client(read_settings({"HELM_BINARY": str(binary)}), FakeKube(), None)


def test_it_is_the_one_beside_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    beside = program(tmp_path / "bin", "exit 0")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert find_program() == beside


def test_without_it_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(ProgramMissing, match="make helm") as caught:
        find_program()

    assert "\n" not in str(caught.value)


def test_the_one_that_was_built_with_us_serves() -> None:
    start(find_program())


@pytest.mark.parametrize("answer", ["exit 1", "echo 'unknown command \"work\"' >&2; exit 1", "kill -9 $$"])
def test_another_helm_is_refused(tmp_path: Path, answer: str) -> None:
    with pytest.raises(SettingInvalid, match=r"HELM_BINARY: .* is not the Helm that the controller"):
        start(program(tmp_path, answer))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="is not an executable program"):
        start(tmp_path / "gone")


def test_a_file_that_may_not_be_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="is not an executable program"):
        start(program(tmp_path, "exit 0", mode=0o644))


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(SettingInvalid, match='HELM_BINARY: "bin/helm" is not an absolute path'):
        read_settings({"HELM_BINARY": "bin/helm"})
