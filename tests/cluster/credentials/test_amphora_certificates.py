"""What amphorae know, on a real API server, by the rights that the chart grants: made, lost, and not made
again before a person restores it, or asks for another one with the command that the region tells."""

from __future__ import annotations

import base64
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.ports import kubernetes as kinds
from sandbox.cluster import Sandbox
from sandbox.patience import patient
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until

pytestmark = pytest.mark.cluster

SERVER, CLIENT, MOUNTED = "octavia-server-authority", "octavia-client-authority", "octavia-amphora-certs"
WORDS = "correct horse battery\n"


@pytest.fixture
def region(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    """A region with Octavia, of which only `secrets` runs."""
    for one in installed(sandbox, namespace, tmp_path / "run", ("secrets",), {"RESYNC_SECONDS": "5"}):
        charts = {"repository": f"file://{tmp_path}"}  # `secrets` reads no charts
        one.apply(
            one.manifest(charts=charts, preset="core", features={"services": {"enabled": ["load-balancer"]}})
        )
        yield one


def texts(region: Region, name: str) -> dict[str, str]:
    """Empty while it is not there."""
    data = (region.kube.get(kinds.SECRET, name, region.namespace) or {}).get("data") or {}
    return {key: base64.b64decode(text).decode() for key, text in data.items()}


def message(region: Region) -> str:
    return str(region.condition("SecretsExchanged").get("message", ""))


def lose(region: Region, *names: str) -> None:
    """While no one looks."""
    region.controllers.kill("secrets")
    region.kubectl("delete", "secret", *names)
    region.controllers.start("secrets")


def osctl(region: Region, *arguments: str) -> subprocess.CompletedProcess[str]:
    at = ("--kubeconfig", str(region.sandbox.kubeconfig), "--passphrase-file", "-")
    command = [sys.executable, "-m", "controller.cli.main", *arguments, *at]
    return subprocess.run(
        command, input=WORDS, capture_output=True, text=True, timeout=patient(120), check=False
    )


def test_what_is_lost_comes_back_from_a_backup_or_with_the_command_that_is_reported(
    region: Region, tmp_path: Path
) -> None:
    def logs() -> str:
        return message(region) + region.controllers.log("secrets")

    def is_lost(name: str) -> bool:
        return f'Secret "{name}": the Secret was deleted' in message(region)

    def is_whole() -> bool:
        return bool(texts(region, MOUNTED)) and region.condition("SecretsExchanged")["status"] == "True"

    wait_until("they are made", is_whole, show=logs)
    known = texts(region, MOUNTED)
    file = str(tmp_path / "backup")
    taken = osctl(region, "credentials", "backup", file, "-n", region.namespace)
    assert taken.returncode == 0, taken.stderr

    lose(region, CLIENT, MOUNTED)
    wait_until("it is told to be lost", lambda: is_lost(CLIENT), show=logs)
    assert region.condition("SecretsExchanged")["reason"] == "CredentialsLost"
    assert not texts(region, CLIENT)
    assert not texts(region, MOUNTED)
    found = re.search(r"osctl (credentials restore FILE [^;]+);", message(region))
    assert found
    restored = osctl(region, *shlex.split(found[1].replace("FILE", file)))
    assert restored.returncode == 0, restored.stderr
    wait_until("it is back", is_whole, show=logs)
    after = texts(region, MOUNTED)
    for key in ("server_ca.cert.pem", "client_ca.cert.pem", "passphrase"):
        assert after[key] == known[key]

    lose(region, SERVER, MOUNTED)
    wait_until("it is told to be lost", lambda: is_lost(SERVER), show=logs)
    typed = re.search(r"kubectl (-n \S+ create secret generic \S+ --type=[^\s;]+)", message(region))
    assert typed
    region.sandbox.kubectl(*shlex.split(typed[1]))
    wait_until("another one is made", is_whole, show=logs)
    assert texts(region, MOUNTED)["server_ca.cert.pem"] != known["server_ca.cert.pem"]
    assert texts(region, MOUNTED)["client_ca.cert.pem"] == known["client_ca.cert.pem"]
