"""A region to test with: a clean namespace, our chart, our containers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import RELEASE_NAMESPACE
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.cluster.region import CONTAINERS, Region


@pytest.fixture
def region(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    """Installed and running; no OpenStackDeployment applied yet."""
    yield from installed(sandbox, namespace, tmp_path)


@pytest.fixture(scope="session")
def shared_region(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """One Ready region shared by the tests of one xdist group; each leaves it Ready."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    # Passes without a cause come often enough for a test to see some, and that they write nothing.
    environment = {"RESYNC_SECONDS": "10"}
    for region in installed(sandbox, namespace, tmp_path_factory.mktemp("region"), environment=environment):
        region.apply()
        region.wait_ready()
        yield region
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def installed(
    sandbox: Sandbox,
    namespace: str,
    directory: Path,
    containers: tuple[str, ...] = CONTAINERS,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Any]:
    """A region whose `containers` run; taken down with everything of it afterwards."""
    region = Region(sandbox, namespace, directory, containers, environment or {})
    try:
        region.install()
        yield region
    finally:
        region.controllers.stop(grace=2.0)
        remove(region)


def remove(region: Region) -> None:
    """All of a region whose containers run no more."""
    sandbox, namespace = region.sandbox, region.namespace
    # What holds finalizers would keep the namespace; cluster-wide objects would outlive it.
    sandbox.kubectl("-n", namespace, "delete", "osdpl,hb", "--all", "--wait=false", "--ignore-not-found")
    for kind in ("osdpl", "hb"):
        for name in sandbox.kubectl("-n", namespace, "get", kind, "-o", "name").split():
            _let_go(sandbox, namespace, name)
    region.helm("uninstall", f"osctl-{namespace}", "--ignore-not-found")
    for name in _cluster_wide(sandbox, namespace):
        sandbox.kubectl("delete", name, "--ignore-not-found", "--wait=false")


def _cluster_wide(sandbox: Sandbox, namespace: str) -> list[str]:
    """What releases of the namespace have left outside of it: no other region may have these names."""
    kinds, label = "clusterroles,clusterrolebindings", "app.kubernetes.io/managed-by=Helm"
    found = json.loads(sandbox.kubectl("get", kinds, "-l", label, "-o", "json"))["items"]
    return [
        f"{one['kind'].lower()}/{one['metadata']['name']}"
        for one in found
        if (one["metadata"].get("annotations") or {}).get(RELEASE_NAMESPACE) == namespace
    ]


def _let_go(sandbox: Sandbox, namespace: str, name: str) -> None:
    patch = '{"metadata":{"finalizers":null}}'
    try:
        sandbox.kubectl("-n", namespace, "patch", name, "--type=merge", "-p", patch)
    except SandboxError as error:
        # The garbage collector, or the API server itself, was faster.
        if "NotFound" not in str(error):
            raise
