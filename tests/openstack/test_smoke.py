"""osctl smoke against a real OpenStack, block storage among its services: what the fake behind HTTP plays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openstack
import pytest
import yaml

from controller.domain.region.smoke import TAG
from sandbox.openstack.cloud import Cloud
from sandbox.patience import patient
from tests.cli.objects import ROOT, osctl

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(1200)]


@pytest.fixture
def clouds(cloud: Cloud, tmp_path: Path) -> str:
    file = tmp_path / "clouds.yaml"
    file.write_text(yaml.safe_dump(cloud.clouds()))
    return str(file)


@pytest.fixture
def sdk(cloud: Cloud) -> Any:
    own = {"auth": cloud.credentials(), "region_name": "RegionOne"}
    return openstack.connect(load_yaml_config=False, load_envvars=False, **own)


def seen(sdk: Any) -> dict[str, set[str]]:
    """Everything that a run could leave, by kind."""
    return {
        "projects": {one.id for one in sdk.identity.projects()},
        "servers": {one.id for one in sdk.compute.servers(all_projects=True)},
        "flavors": {one.id for one in sdk.compute.flavors(is_public=None)},
        "images": {one.id for one in sdk.image.images()},
        "volumes": {one.id for one in sdk.block_storage.volumes(all_projects=True)},
        "networks": {one.id for one in sdk.network.networks()},
        "subnets": {one.id for one in sdk.network.subnets()},
        "ports": {one.id for one in sdk.network.ports()},
        "groups": {one.project_id for one in sdk.network.security_groups()},
    }


def test_every_step_passes_a_volume_at_the_server_too_and_nothing_is_left(sdk: Any, clouds: str) -> None:
    before = seen(sdk)
    found = osctl("smoke", "--clouds", clouds, "-o", "json")
    told = json.loads(found.stdout)
    assert found.exit_code == 0, told
    assert [one["step"] for one in told["steps"]] == [
        *("token", "leftovers", "project", "image", "network", "port", "volume", "flavor", "server"),
        *("attachment", "removal"),
    ]
    assert seen(sdk) == before


def test_a_later_run_removes_what_one_left_that_was_killed(sdk: Any, clouds: str) -> None:
    before = seen(sdk)
    command = [sys.executable, "-P", "-m", "controller.cli.main", "smoke", "--clouds", clouds]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 300
    while seen(sdk)["servers"] == before["servers"]:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=patient(60))
    assert list(sdk.identity.projects(tags=TAG))
    found = osctl("smoke", "--clouds", clouds, "--sweep")
    assert found.exit_code == 0, found.output
    assert "1 removed" in found.stdout
    assert seen(sdk) == before


def test_a_server_that_no_host_takes_is_reported_in_novas_words(sdk: Any, clouds: str) -> None:
    before = seen(sdk)
    services = list(sdk.compute.services(binary="nova-compute"))
    for one in services:
        sdk.compute.disable_service(one)
    try:
        found = osctl("smoke", "--clouds", clouds)
    finally:
        for one in services:
            sdk.compute.enable_service(one)
    assert found.exit_code == 9
    assert "the server is ERROR: No valid host was found" in found.stdout
    assert seen(sdk) == before
