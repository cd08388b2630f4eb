"""Regions on charts of upstream's shape, from a repository with TLS and credentials."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from tests.chart_repositories.certificates import authority
from tests.chart_repositories.servers import (
    PASSWORD,
    USERNAME,
    Server,
    archives,
    http_repository,
    oci_registry,
    serve,
)
from tests.chart_repositories.upstream import shapes, upstream_charts, version_of
from tests.cluster.conftest import installed
from tests.cluster.region import NAME, RELEASES, Region, wait_until
from tests.render.specs import brought

# In one group with those that change nodes: each region of the cluster tells of these, and here comes a time
# when nothing at all may be written.
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region")]

# How long nothing at all may be written once a region has settled.
QUIET_SECONDS = 20
CREDENTIALS, CA = "chart-credentials", "chart-ca"
# What an installation has that has once had a region.
OURS = {"secret/osctl-digest-key"}


@contextmanager
def region_of(
    sandbox: Sandbox, namespace: str, directory: Path, server: Server, **spec: Any
) -> Iterator[Region]:
    """A region whose charts come from the server, Secrets and all; just applied."""
    with region_to_be(sandbox, namespace, directory, server, oci=bool(spec.pop("oci", False))) as made:
        region, charts = made
        region.apply(region.manifest(charts=charts, **spec))
        yield region


@contextmanager
def region_to_be(
    sandbox: Sandbox, namespace: str, directory: Path, server: Server, *, oci: bool = False
) -> Iterator[tuple[Region, dict[str, str]]]:
    """A region that has nothing but the Secrets of its repository yet, and its `spec.charts`."""
    scheme, _, host = server.address.partition("://")
    repository = f"oci://{host}/charts" if oci else f"{scheme}://{host}"
    environment = {"CHART_CACHE_DIR": str(directory / "cache")}
    for region in installed(sandbox, namespace, directory / "run", environment=environment):
        literals = [f"--from-literal=username={USERNAME}", f"--from-literal=password={PASSWORD}"]
        region.kubectl("create", "secret", "generic", CREDENTIALS, *literals)
        region.kubectl("create", "secret", "generic", CA, f"--from-literal=ca.crt={authority().ca}")
        yield region, {"repository": repository, "credentialsSecret": CREDENTIALS, "caSecret": CA}


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_core_converges_on_charts_of_upstreams_shape(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    charts = upstream_charts(*RELEASES)
    with (
        serve(http_repository(archives(charts), login=True)) as server,
        region_of(sandbox, namespace, tmp_path, server) as region,
    ):
        wait_for(region, "Ready", region.ready)
        assert region.revisions() == dict.fromkeys(RELEASES, (1, "deployed"))
        # core and helmbundle share what either has pulled.
        pulled = [path for path in server.paths() if path.endswith(".tgz")]
        assert sorted(pulled) == sorted(f"/{name}-{version_of(name)}.tgz" for name in RELEASES)
        assert_objects_are_there(region, RELEASES)
        assert_records_are_large(region)
        server.answer = http_repository({})  # down, as good as
        assert_nothing_happens(region)
        assert PASSWORD not in everything_shown(region)


def wait_for(region: Region, what: str, check: Callable[[], Any], timeout: float = 300.0) -> None:
    """Kubernetes starts a container again that has ended: one that lost its Lease on a busy machine."""

    def restarted_and_true() -> bool:
        region.controllers.start()
        time.sleep(1)
        return bool(check())

    wait_until(what, restarted_and_true, timeout, lambda: region.kubectl("get", "hb,osdpl"))


def assert_objects_are_there(region: Region, releases: set[str]) -> None:
    """Every Job that upstream runs has completed and stays, for the start-up waits of pods."""
    jobs = {job["metadata"]["name"]: job for job in region.get("jobs")["items"]}
    for name in releases:
        for job, attributes in shapes()[name]["objects"].get("Job", {}).items():
            if "delete" not in attributes.get("hook", ""):
                named = job.replace("release-name", name)
                assert jobs[named]["status"].get("succeeded") == 1, named


def assert_records_are_large(region: Region) -> None:
    records = region.get("secrets", "-l", "owner=helm,name in (keystone,nova,neutron)")["items"]
    sizes = {record["metadata"]["name"]: len(record["data"]["release"]) for record in records}
    assert len(sizes) == 3
    assert all(200_000 < size < 400_000 for size in sizes.values()), sizes


def assert_nothing_happens(region: Region) -> None:
    """Random values and a restart touch nothing: no write, and so no action of Helm."""
    for name in ("core", "helmbundle"):
        region.controllers.restart(name)
    region.controllers.wait_healthy()
    before, moment = region.revisions(), audit.now()
    time.sleep(QUIET_SECONDS)
    written = region.writes_since(moment)
    assert written == [], "\n".join(map(str, written))
    assert region.revisions() == before
    assert region.ready()


def everything_shown(region: Region) -> str:
    logs = "".join(region.controllers.log(name) for name in region.containers)
    return region.kubectl("get", "osdpl,hb,events", "-o", "yaml", "--show-managed-fields") + logs


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_compute_converges_on_charts_of_upstreams_shape(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    """With a registry in the place of a repository."""
    charts = upstream_charts()
    features = {
        "services": {"enabled": ["dns", "load-balancer"]},
        "loadBalancer": {"provider": "ovn"},
        "networking": {"backend": "ml2/ovn"},
    }
    with (
        serve(oci_registry(charts, login="bearer")) as server,
        region_of(
            sandbox,
            namespace,
            tmp_path,
            server,
            oci=True,
            preset="compute",
            features=features,
            **brought("dns"),
        ) as region,
    ):
        wait_for(region, "Ready", region.ready, 1500)
        revisions = region.revisions()
        assert {"cinder", "heat", "barbican", "designate", "octavia", "horizon", "ovn"} < set(revisions)
        # Not all at their first revision: a container that ends amid 17 installs leaves some to be unlocked.
        assert {status for _, status in revisions.values()} == {"deployed"}
        assert_nothing_happens(region)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_region_on_charts_of_upstreams_shape_goes_without_a_trace(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    """Hooks of the deletion that leave their Jobs, Secrets to be kept, ClusterRoles, claims and all."""
    with (
        serve(http_repository(archives(upstream_charts(*RELEASES)), login=True)) as server,
        region_to_be(sandbox, namespace, tmp_path, server) as (region, charts),
    ):
        before = everything_there(region)
        region.apply(region.manifest(charts=charts, volumes="Delete"))
        wait_for(region, "Ready", region.ready)
        assert "glance" in hooks_of_deletion()
        made = everything_there(region) - before
        assert {
            "job.batch/glance-db-sync",
            "ClusterRole/nova-bootstrap",
            "secret/keystone-fernet-keys",
        } <= made
        region.kubectl("delete", "osdpl", NAME, "--wait=false")
        wait_for(region, "the region is gone", lambda: not region.get("osdpl,hb")["items"])
        failed = [
            line for line in region.controllers.log("helmbundle").splitlines() if "UninstallFailed" in line
        ]
        assert failed == []
        left: set[str] = set()

        def nothing_left() -> bool:
            left.clear()
            left.update(everything_there(region) - before - OURS)
            return not left

        wait_until("nothing is left", nothing_left, 120, lambda: "\n".join(sorted(left)))


def hooks_of_deletion() -> set[str]:
    """Charts whose deletion has hooks."""
    return {
        name
        for name in RELEASES
        for attributes in shapes()[name]["objects"].get("Job", {}).values()
        if "delete" in attributes.get("hook", "")
    }


def everything_there(region: Region) -> set[str]:
    """Every object of the namespace, and every one of the cluster that Helm has made for it."""
    kinds = set(region.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split())
    kinds -= {"events", "events.events.k8s.io"}
    found = region.kubectl("get", ",".join(sorted(kinds)), "-o", "name", "--ignore-not-found").split()
    made = region.kubectl(
        "get", "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/managed-by=Helm", "-o", "json"
    )
    return {*found, *_of_namespace(json.loads(made)["items"], region.namespace)}


def _of_namespace(objects: list[dict[str, Any]], namespace: str) -> set[str]:
    mark = "meta.helm.sh/release-namespace"
    return {
        f"{obj['kind']}/{obj['metadata']['name']}"
        for obj in objects
        if (obj["metadata"].get("annotations") or {}).get(mark) == namespace
    }
