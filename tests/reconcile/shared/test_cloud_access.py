"""The region's OpenStack, opened with the credentials that there are now."""

from __future__ import annotations

import base64

import pytest

from controller.domain.api.names import CLOUDS_KEY, CLOUDS_SECRET
from controller.errors import CloudRefused, CloudUnavailable
from controller.reconcile.shared.cloud_access import CloudAccess
from tests.fakes.cloud import FakeCloud
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock


class _Cloud(FakeCloud):
    closed = False

    def close(self) -> None:
        self.closed = True


class _Clouds:
    """Opens a cloud for any text but `broken`."""

    def __init__(self) -> None:
        self.opened: list[_Cloud] = []

    def open(self, clouds: bytes, authority: bytes = b"") -> _Cloud:
        if clouds == b"broken":
            raise CloudRefused("the credentials are not a clouds.yaml")
        self.opened.append(_Cloud())
        return self.opened[-1]


class _Access:
    def __init__(self) -> None:
        self.kube, self.clouds = FakeKube(FakeClock()), _Clouds()
        self.access = CloudAccess(self.kube, self.clouds, FakeClock(), "openstack")

    def give(self, text: bytes) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": CLOUDS_SECRET, "namespace": "openstack"},
            "data": {CLOUDS_KEY: base64.b64encode(text).decode()},
        }
        self.kube.apply(secret, manager="test")


@pytest.fixture
def access() -> _Access:
    return _Access()


def test_the_same_credentials_are_opened_once(access: _Access) -> None:
    access.give(b"first")
    assert access.access.cloud() is access.access.cloud()


def test_new_credentials_open_another_cloud_and_close_the_one_before(access: _Access) -> None:
    access.give(b"first")
    before = access.access.cloud()
    access.give(b"second")
    assert access.access.cloud() is access.clouds.opened[1]
    assert before is access.clouds.opened[0]
    assert [one.closed for one in access.clouds.opened] == [True, False]


def test_credentials_that_cannot_be_used_leave_the_open_cloud_open(access: _Access) -> None:
    access.give(b"first")
    access.access.cloud()
    access.give(b"broken")
    with pytest.raises(CloudUnavailable):
        access.access.cloud()
    assert not access.clouds.opened[0].closed
