"""A region to test with: a clean namespace, our chart, our containers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import RELEASE_NAMESPACE
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, Resource
from sandbox.cluster import Sandbox
from sandbox.paths import Layout
from sandbox.profiles import node_object, parse_profile
from sandbox.take_down import take_down
from tests.cluster.leaks import (
    ComponentLogs,
    GeneratedValues,
    Leaked,
    found_in,
    shown_by_cluster,
    shown_by_files,
    shown_by_processes,
)
from tests.cluster.region import CONTAINERS, Region

CLUSTER_ROLE = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = Resource(
    "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)

PROFILE = "single"


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


@pytest.fixture(scope="session")
def _hosts_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    name = f"hosts-{secrets.token_hex(3)}"
    directory = tmp_path_factory.mktemp("sandbox") / name
    yield name, directory
    take_down(name, directory)


@pytest.fixture
def hosts_sandbox(request: pytest.FixtureRequest, _hosts_place: tuple[str, Path]) -> Sandbox:
    """A control plane with one node, which tests of the xdist_group `hosts` change or delete."""
    if request.config.getoption("existing_cluster") is not None:
        pytest.skip("the test changes nodes: not on an existing cluster")
    name, directory = _hosts_place
    box = Sandbox.up(name, directory, PROFILE, private=True)  # it runs from the first test on
    [shape] = parse_profile(PROFILE)
    if shape.name not in box.kubectl("get", "nodes", "-o", "name"):  # a test has deleted it
        box.kubectl("create", "-f", "-", input=json.dumps(node_object(shape, PROFILE)))
    return box


def installed(
    sandbox: Sandbox,
    namespace: str,
    directory: Path,
    containers: tuple[str, ...] = CONTAINERS,
    environment: Mapping[str, str] | None = None,
    *,
    own_charts: bool = True,
) -> Iterator[Any]:
    """A region whose `containers` run; taken down with everything of it afterwards.

    Raises Leaked where something that they have generated is anywhere but in Secrets; with `own_charts` also
    in what releases make.
    """
    region = Region(sandbox, namespace, directory, containers, environment or {})
    generated = GeneratedValues(sandbox.kubeconfig, namespace)
    layout: Layout | None = getattr(sandbox, "layout", None)  # a cluster of others has none
    components = ComponentLogs(layout.logs if layout else None)
    leaks: list[str] = []
    try:
        region.install()
        generated.start()
        yield region
    finally:
        of_processes = list(shown_by_processes(region.controllers.directory))
        region.controllers.stop(grace=2.0)
        values = generated.end(region.kube)
        shown = (
            of_processes,
            shown_by_files(region.controllers.directory),
            components.shown(),
            shown_by_cluster(region.kube, namespace, charts=own_charts),
        )
        leaks += found_in(values, chain.from_iterable(shown)) if values else []
        remove(region)
    if leaks:
        raise Leaked(f"{len(leaks)} generated values can be read: {', '.join(leaks[:20])}")


def remove(region: Region) -> None:
    """All of a region whose containers run no more."""
    kube, namespace = region.kube, region.namespace
    # What holds finalizers would keep the namespace; cluster-wide objects would outlive it.
    for resource in (OSDPL, HELMBUNDLE):
        for live in kube.list_metadata(resource, namespace):
            name = live["metadata"]["name"]
            kube.delete(resource, name, namespace)
            # None where the garbage collector, or the API server itself, was faster.
            kube.merge_patch(resource, name, namespace, {"metadata": {"finalizers": None}})
    region.helm("uninstall", f"osctl-{namespace}", "--ignore-not-found")
    # What releases of the namespace have left outside of it: no other region may have these names.
    for resource in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING):
        for live in kube.list_metadata(resource, labels="app.kubernetes.io/managed-by=Helm"):
            meta = live["metadata"]
            if (meta.get("annotations") or {}).get(RELEASE_NAMESPACE) == namespace:
                kube.delete(resource, meta["name"])
