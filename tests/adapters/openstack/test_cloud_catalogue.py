"""A catalogue is that of the login, until it is found to be old."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.client import OpenStackCloud
from controller.adapters.openstack.clouds_yaml import parse_clouds
from controller.adapters.system.randomness import SystemRandomness
from controller.errors import CloudRefused
from tests.fakes.identity import FakeIdentity, served_identity
from tests.fakes.world import FakeClock

# It loads openstacksdk.
pytestmark = pytest.mark.slow


@pytest.fixture
def keystone() -> Iterator[FakeIdentity]:
    with served_identity() as served:
        yield served


def opened(keystone: FakeIdentity) -> tuple[OpenStackCloud, FakeClock]:
    clock = FakeClock()
    calls = CloudCalls(parse_clouds(keystone.clouds()), clock, SystemRandomness(), sleep=clock.advance)
    return OpenStackCloud(calls), clock


def test_endpoints_that_came_after_the_login_are_found_at_the_next_look(keystone: FakeIdentity) -> None:
    keystone.listed = False
    cloud, clock = opened(keystone)
    with pytest.raises(CloudRefused):
        cloud.compute_services()
    keystone.listed = True
    clock.advance(1)
    assert [one.host for one in cloud.compute_services()] == ["cmp1"]
    assert keystone.logins == 2


def test_a_region_without_such_a_service_is_not_logged_into_again_and_again(keystone: FakeIdentity) -> None:
    keystone.listed = False
    cloud, clock = opened(keystone)
    for _ in range(50):
        with pytest.raises(CloudRefused):
            cloud.compute_services()
        clock.advance(10)
    assert keystone.logins == 1


def test_a_keystone_that_contradicts_itself_is_not_logged_into_at_each_look(keystone: FakeIdentity) -> None:
    keystone.strange = True
    cloud, clock = opened(keystone)
    for _ in range(50):
        with pytest.raises(CloudRefused):
            cloud.compute_services()
        clock.advance(1)
    assert keystone.logins <= 6


def test_a_service_that_left_the_catalogue_and_came_back_is_found(keystone: FakeIdentity) -> None:
    cloud, clock = opened(keystone)
    assert cloud.compute_services()
    keystone.listed = False
    clock.advance(1)
    assert cloud.compute_services(), "the login's catalogue still has it"
    keystone.listed = True
    assert cloud.compute_services()
    assert keystone.logins == 1


def test_what_is_missing_is_reported_with_its_interface_and_since_when(keystone: FakeIdentity) -> None:
    keystone.listed = False
    cloud, clock = opened(keystone)
    reported = set()
    for _ in range(3):
        with pytest.raises(CloudRefused) as refused:
            cloud.compute_services()
        assert refused.value.code == 404
        reported.add(str(refused.value))
        clock.advance(60)
    # One text for as long as it lasts: a status that repeats it is not written again.
    [text] = reported
    assert text.startswith("the catalogue of RegionOne has no public endpoint of compute yet (since 20")
    assert text.endswith("the controller reads the catalogue again at each reconciliation")
