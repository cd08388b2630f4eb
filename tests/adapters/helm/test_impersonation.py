"""The account that each helm process is asked to act as."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.adapters.helm.cli import CliClient
from controller.settings import SettingInvalid, read_settings


def arguments(directory: Path, service_account: str) -> list[str]:
    """What a read of a release's history gives helm as its arguments."""
    seen = directory / "arguments"
    program = directory / "helm"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{seen}"\necho "[]"\n', encoding="utf-8")
    program.chmod(0o755)
    CliClient(program, service_account=service_account).history("web", "openstack")
    return seen.read_text(encoding="utf-8").splitlines()


def test_helm_acts_as_the_service_account_in_the_releases_namespace(tmp_path: Path) -> None:
    given = arguments(tmp_path, "charts")

    assert given[given.index("--kube-as-user") + 1] == "system:serviceaccount:openstack:charts"


def test_without_a_service_account_helm_acts_as_we_do(tmp_path: Path) -> None:
    assert "--kube-as-user" not in arguments(tmp_path, "")


@pytest.mark.parametrize("text", ["Charts", "a b", "openstack:charts", "-charts"])
def test_what_is_no_name_of_an_account_is_refused(text: str) -> None:
    with pytest.raises(SettingInvalid, match="CHARTS_SERVICE_ACCOUNT"):
        read_settings({"CHARTS_SERVICE_ACCOUNT": text})
