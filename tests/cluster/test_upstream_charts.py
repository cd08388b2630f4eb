"""Regions on charts of upstream's shape, from a repository with TLS and credentials."""

from __future__ import annotations

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
from tests.chart_repositories.upstream import VERSION, shapes, upstream_charts
from tests.cluster.conftest import installed
from tests.cluster.region import RELEASES, Region, wait_until

pytestmark = pytest.mark.cluster

# How long nothing at all may be written once a region has settled.
QUIET_SECONDS = 20
CREDENTIALS, CA = "chart-credentials", "chart-ca"


@contextmanager
def region_of(
    sandbox: Sandbox, namespace: str, directory: Path, server: Server, **spec: Any
) -> Iterator[Region]:
    """A region whose charts come from the server, Secrets and all; nothing applied yet."""
    scheme, _, host = server.address.partition("://")
    repository = f"oci://{host}/charts" if spec.pop("oci", False) else f"{scheme}://{host}"
    environment = {"CHART_CACHE_DIR": str(directory / "cache")}
    for region in installed(sandbox, namespace, directory / "run", environment=environment):
        literals = [f"--from-literal=username={USERNAME}", f"--from-literal=password={PASSWORD}"]
        region.kubectl("create", "secret", "generic", CREDENTIALS, *literals)
        region.kubectl("create", "secret", "generic", CA, f"--from-literal=ca.crt={authority().ca}")
        charts = {"repository": repository, "credentialsSecret": CREDENTIALS, "caSecret": CA}
        region.apply(region.manifest(charts=charts, **spec))
        yield region


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
        assert sorted(pulled) == sorted(f"/{name}-{VERSION}.tgz" for name in RELEASES)
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
    features = {"loadBalancer": {"provider": "ovn"}, "networking": {"backend": "ml2/ovn"}}
    with (
        serve(oci_registry(charts, login="bearer")) as server,
        region_of(
            sandbox, namespace, tmp_path, server, oci=True, preset="compute", features=features
        ) as region,
    ):
        wait_for(region, "Ready", region.ready, 1500)
        revisions = region.revisions()
        assert {"cinder", "heat", "barbican", "designate", "octavia", "horizon", "ovn"} < set(revisions)
        # Not all at their first revision: a container that ends amid 17 installs leaves some to be unlocked.
        assert {status for _, status in revisions.values()} == {"deployed"}
        assert_nothing_happens(region)
