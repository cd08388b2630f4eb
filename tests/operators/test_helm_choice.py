"""HELM_BINARY selects the Helm adapter, and a path that cannot serve is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from containers.helm import helm_client
from controller.adapters.helm.cli import CliClient
from controller.adapters.helm.sdk import SdkClient
from controller.ports.helm import HelmClient
from controller.settings import SettingInvalid, read_settings
from tests.fakes.kube import FakeKube


def program(directory: Path, answer: str, *, mode: int = 0o755) -> Path:
    path = directory / "helm"
    path.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    path.chmod(mode)
    return path


def chosen(binary: str) -> HelmClient:
    return helm_client(read_settings({"HELM_BINARY": binary}), FakeKube(), None)


def test_without_a_path_it_is_the_library() -> None:
    assert isinstance(chosen(""), SdkClient)


def test_with_the_path_of_helm_4_it_is_the_program(tmp_path: Path) -> None:
    assert isinstance(chosen(str(program(tmp_path, "echo v4.0.1"))), CliClient)


@pytest.mark.parametrize("answer", ["echo v3.19.0", "echo v40.0.0", "exit 1", "true"])
def test_a_program_that_is_not_helm_4_is_refused(tmp_path: Path, answer: str) -> None:
    with pytest.raises(SettingInvalid, match=r"HELM_BINARY: .* is not Helm 4"):
        chosen(str(program(tmp_path, answer)))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="is not a program that can be run"):
        chosen(str(tmp_path / "gone"))


def test_a_file_that_may_not_be_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="is not a program that can be run"):
        chosen(str(program(tmp_path, "echo v4.0.1", mode=0o644)))


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(SettingInvalid, match='HELM_BINARY: "bin/helm" is not an absolute path'):
        read_settings({"HELM_BINARY": "bin/helm"})
