"""Before an upgrade the controller looks how full the volumes of the databases are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import UPGRADE_CHECK_LABEL
from controller.domain.region.upgrade.space_check import space_check
from controller.ports.kubernetes import KubeObject
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.upgrade.played_checks import play_end
from tests.reconcile.region.upgrade.upgrading_region import NEW, UpgradingRegion

CLAIM = "mysql-data-mariadb-server-0"


def server(name: str = "mariadb-server-0", claim: str = CLAIM, node: str = "node-1") -> KubeObject:
    volume = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": KEY[0],
            "labels": {"application": "mariadb", "component": "server"},
        },
        "spec": {
            "nodeName": node,
            "tolerations": [{"key": "control"}],
            "containers": [{"name": "mariadb", "image": "mariadb:11.4"}],
            "volumes": [{"name": "etc", "secret": {"secretName": "mariadb-etc"}}, {"name": "data", **volume}],
        },
    }


class RegionWithDatabase(UpgradingRegion):
    """One whose upgrade is in its checks, with these database servers."""

    def __init__(self, *servers: KubeObject) -> None:
        super().__init__()
        for one in servers:
            self.kube.create(one)
        self.edit(openstackVersion=NEW)
        self.reconcile()
        self.reconcile()

    def jobs(self) -> list[KubeObject]:
        every = self.kube.objects("Job")
        return [job for job in every if job["metadata"]["labels"][UPGRADE_CHECK_LABEL].startswith("space-")]

    def outcome(self) -> Mapping[str, Any]:
        [found] = [one for one in self.upgrade["checks"] if one["name"] == f"space-{CLAIM}"]
        return dict(found)


def test_each_server_has_a_check_beside_it_that_only_reads_its_claim() -> None:
    region = RegionWithDatabase(server(), server("mariadb-server-1", "mysql-data-mariadb-server-1", "node-2"))
    assert len(region.jobs()) == 2
    [job] = [one for one in region.jobs() if one["spec"]["template"]["spec"]["nodeName"] == "node-1"]
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}}]
    assert container["volumeMounts"] == [{"name": "data", "mountPath": "/volume", "readOnly": True}]
    assert pod["tolerations"] == [{"key": "control"}]
    assert pod["automountServiceAccountToken"] is False
    assert "fsGroup" not in pod["securityContext"]
    assert "mariadb" not in str(job["spec"]["template"]["metadata"]["labels"].get("application"))


@pytest.mark.parametrize("other", [server(claim=""), server(node="")])
def test_a_server_without_a_claim_or_a_node_has_no_check(other: KubeObject) -> None:
    assert RegionWithDatabase(other).jobs() == []


@pytest.mark.parametrize(
    ("code", "state", "holds"), [(0, "Passed", False), (1, "Warning", False), (2, "Failed", True)]
)
def test_a_volume_without_room_holds_the_upgrade(code: int, state: str, holds: bool) -> None:
    region = RegionWithDatabase(server())
    text = f"space: {CLAIM}: 0.4 of 5.0 GiB are free, 8 %"
    play_end(region.kube, region.jobs()[0], code, text)
    region.deploy()
    for _ in range(3):
        region.reconcile()
    assert (region.upgrade["phase"] == "Preflight") is holds
    if code:
        assert region.outcome()["state"] == state
        assert f"{CLAIM}: 0.4 of 5.0 GiB are free, 8 %" in region.outcome()["message"]


@pytest.mark.parametrize(
    ("free", "whole", "code"),
    [
        *((9, 100, 2), (10, 100, 1), (24, 100, 1), (25, 100, 0), (100, 100, 0)),
        # Much room is enough on a volume of any size.
        *((10, 1000, 1), (49, 1000, 1), (50, 1000, 0)),
    ],
)
def test_the_program_of_the_check_judges_by_the_free_part(
    free: int, whole: int, code: int, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, types\n"
        f"seen = types.SimpleNamespace(f_bavail={free}, f_blocks={whole}, f_frsize=2**30)\n"
        "os.statvfs = lambda path: seen\n"
    )
    command = space_check(CLAIM, "controller:1", "").check.about.command
    ended = subprocess.run(
        [sys.executable, *command[1:]],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == f"space: {CLAIM}: {free}.0 of {whole}.0 GiB are free, {100 * free // whole} %\n"
