"""The account that Helm is asked to act as."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.adapters.helm.client import HelmProgram
from controller.ports.helm import HelmRequest
from controller.settings import SettingInvalid, read_settings
from tests.contract.conftest import CHARTS
from tests.fakes.kube import FakeKube


def asked_user(directory: Path, service_account: str) -> str:
    """The user in the request for a render, by a stand-in for Helm that notes it."""
    seen = directory / "request"
    program = directory / "helm"
    program.write_text(
        f'#!/bin/sh\nread -r line\nprintf "%s" "$line" >"{seen}"\necho \'{{"done": true}}\'\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    helm = HelmProgram(FakeKube(), program, service_account=service_account)
    helm.render(HelmRequest("web", "openstack", str(CHARTS / "small"), {}))
    return str(json.loads(seen.read_text(encoding="utf-8"))["user"])


def test_helm_acts_as_the_service_account_in_the_releases_namespace(tmp_path: Path) -> None:
    assert asked_user(tmp_path, "charts") == "system:serviceaccount:openstack:charts"


def test_without_a_service_account_helm_acts_as_we_do(tmp_path: Path) -> None:
    assert asked_user(tmp_path, "") == ""


@pytest.mark.parametrize("text", ["Charts", "a b", "openstack:charts", "-charts"])
def test_what_is_no_name_of_an_account_is_refused(text: str) -> None:
    with pytest.raises(SettingInvalid, match="CHARTS_SERVICE_ACCOUNT"):
        read_settings({"CHARTS_SERVICE_ACCOUNT": text})
