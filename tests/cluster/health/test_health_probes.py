"""health as the chart runs it, with probes: it may read what it asks with, tells what it hears, and heals."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import CLOUDS_SECRET
from sandbox.cluster import Sandbox
from tests.cluster.region import NAME, Region, wait_until
from tests.fakes.identity import FakeIdentity, served_identity

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("health")]


@pytest.fixture
def identity() -> Iterator[FakeIdentity]:
    with served_identity() as served:
        yield served


@pytest.fixture
def region(sandbox: Sandbox, tmp_path: Path) -> Iterator[Region]:
    """A namespace with a region whose Keystone is deployed, as core and helmbundle would leave it."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    region = Region(sandbox, namespace, tmp_path, containers=("health",), environment={"PROBE_SECONDS": "1"})
    try:
        region.install()
        region.apply()
        settle(region)
        yield region
    finally:
        region.controllers.stop(grace=2.0)
        region.helm("uninstall", f"osctl-{namespace}", "--ignore-not-found")
        sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def settle(region: Region) -> None:
    bundle = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "HelmBundle",
        "metadata": {"name": "identity", "labels": {"osctl.dev/deployment": NAME}},
        "spec": {"releases": [{"name": "keystone", "chart": {"name": "keystone", "path": "keystone"}}]},
    }
    region.kubectl("apply", "-f", "-", input=json.dumps(bundle))
    ready = {"type": "Ready", "status": "True", "reason": "ReleasesDeployed", "message": ""}
    patch_status(
        region,
        "hb/identity",
        observedGeneration=region.get("hb", "identity")["metadata"]["generation"],
        releases=[{"name": "keystone", "namespace": region.namespace, "state": "Deployed"}],
        conditions=[{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    )
    generation = region.osdpl()["metadata"]["generation"]
    patch_status(region, f"osdpl/{NAME}", observedGeneration=generation, appliedGeneration=generation)


def patch_status(region: Region, target: str, **status: Any) -> None:
    patch = json.dumps({"status": status})
    region.kubectl("patch", target, "--subresource=status", "--type=merge", "-p", patch)


def give_credentials(region: Region, content: bytes) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": CLOUDS_SECRET},
        "data": {"clouds.yaml": base64.b64encode(content).decode()},
    }
    region.kubectl("apply", "-f", "-", input=json.dumps(body))


def test_the_region_is_asked_with_its_own_credentials_and_what_is_lost_is_reported(
    region: Region, identity: FakeIdentity
) -> None:
    def reported(status: str, word: str = "") -> bool:
        found = (region.status().get("health") or {}).get("probes") or {}
        entry = found.get("endpoints") or {}
        return bool(entry.get("status") == status and word in str(entry.get("message")))

    def show() -> str:
        return f"{json.dumps(region.status(), indent=1)}\n{region.controllers.log('health')[-2000:]}"

    wait_until("it waits for credentials", lambda: reported("Progressing"), show=show)
    give_credentials(region, identity.clouds())
    wait_until("the endpoints answer", lambda: reported("Ready"), show=show)
    identity.up = False
    wait_until("a lost one is told", lambda: reported("Unhealthy", "compute"), show=show)
    wait_until("it counts", lambda: region.condition("WorkloadsHealthy")["status"] == "False", show=show)
    identity.up = True
    wait_until("it heals", lambda: reported("Ready"), show=show)
    region.controllers.kill("health")
    region.controllers.start("health")
    wait_until("it stays so after a restart", lambda: reported("Ready"), show=show)
