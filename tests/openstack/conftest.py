"""One real OpenStack for all tests of a session, and one region beside it whose node container runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.openstack.cloud import Cloud
from sandbox.openstack.configuration import COMPUTES
from sandbox.openstack.series import DEFAULT, find_series
from sandbox.take_down import take_down
from tests.cluster.region import Region
from tests.openstack.bed import Bed, spec_of

NAMESPACE = "openstack"
NOTES = (
    "not-ready-since",
    "readiness-losses",
    "fenced",
    "last-compute-report",
    "evacuation-declined",
    "cordoned-by",
    "disks-shared",
)


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    """The running cloud, of the series OPENSTACK_SERIES; stopped afterwards if it did not run before."""
    series = find_series(os.environ.get("OPENSTACK_SERIES") or DEFAULT)
    known = Cloud.find(series)
    ran = known is not None and known.running()
    try:
        found = Cloud.up(series, fresh=not ran)
    except SandboxError as error:
        if "this machine has" in str(error):
            pytest.skip(str(error))
        raise
    yield found
    if not ran:
        found.down()


@pytest.fixture(scope="session")
def shared_bed(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    name = "openstack-tests"
    directory = tmp_path_factory.mktemp("sandbox") / name
    sandbox = Sandbox.up(name, directory, "small", private=True)
    try:
        sandbox.create_namespace(NAMESPACE, {})
        environment = {"RESYNC_SECONDS": "60"}
        region = Region(sandbox, NAMESPACE, tmp_path_factory.mktemp("region"), ("node",), environment)
        region.install()
        region.apply(spec_of(region))
        bed = Bed(region, cloud)
        bed.give_credentials()
        yield bed
        region.controllers.stop(grace=2.0)
    finally:
        take_down(name, directory)


@pytest.fixture
def bed(shared_bed: Bed) -> Bed:
    """Every host up, enabled and empty; every node ready and schedulable; the container running."""
    _reset(shared_bed)
    return shared_bed


def _reset(bed: Bed) -> None:
    bed.region.controllers.start("node")
    bed.give_credentials()
    bed.region.apply(spec_of(bed.region))
    bed.kubectl("uncordon", *COMPUTES)
    bed.kubectl("annotate", "node", *COMPUTES, *(f"{bed.note(note)}-" for note in NOTES))
    for host in COMPUTES:
        bed.set_ready(host, True)
    bed.clean()
