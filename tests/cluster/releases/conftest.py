"""helmbundle alone, without a region: one installation for all tests that ask something of a bundle."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from controller.ports.kubernetes import HELMBUNDLE
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import NeverHappened, Region, wait_until

# What tests of this folder make beside their bundles.
LEFT = "secret/mine,service/memcached"


@pytest.fixture(scope="session")
def helmbundle_alone(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """Its container runs. It belongs to the xdist_group `releases`."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    own = {"OWN_RELEASE": f"osctl-{namespace}"}
    yield from installed(sandbox, namespace, tmp_path_factory.mktemp("releases"), ("helmbundle",), own)
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture
def bench(helmbundle_alone: Region) -> Iterator[Region]:
    """The shared installation without a bundle; what the test leaves goes."""
    yield helmbundle_alone
    _clear(helmbundle_alone)


def _clear(region: Region) -> None:
    region.controllers.start()
    region.kubectl("delete", "hb", "--all", "--wait=false")
    try:
        wait_until("all bundles are gone", lambda: not region.get("hb")["items"], 60)
    except NeverHappened:  # after a test that failed
        for live in region.get("hb")["items"]:
            name = live["metadata"]["name"]
            region.kube.merge_patch(HELMBUNDLE, name, region.namespace, {"metadata": {"finalizers": None}})
    for release in region.revisions():
        region.helm("uninstall", release)
    for one in LEFT.split(","):
        region.kubectl("delete", one, "--ignore-not-found")
    theirs = ("get", "deploy,sts,jobs,svc", "-l", "application", "-o", "name")
    wait_until("its workloads are gone", lambda: not region.kubectl(*theirs).split())
