"""The key of digests is made once, and comes back as it was while a process knows it."""

from __future__ import annotations

import pytest

from controller.domain.api.names import DIGEST_KEY_SECRET
from controller.errors import ApiUnavailable, Forbidden, KubeError, ObjectRefused
from controller.ports.kubernetes import SECRET
from controller.reconcile.shared.installation_key import LOOK_SECONDS, InstallationKey, KeptInstallationKey
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock, FakeRandomness

NS = "openstack"


@pytest.fixture
def kube() -> FakeKube:
    return FakeKube(FakeClock())


def key_of(kube: FakeKube, seed: int = 1) -> InstallationKey:
    return InstallationKey(kube, FakeRandomness(seed), NS)


def test_every_process_has_the_same(kube: FakeKube) -> None:
    first = key_of(kube).read()
    assert len(first) == 32
    assert key_of(kube, 2).read() == first


def test_one_that_is_gone_comes_back_as_it_was(kube: FakeKube) -> None:
    clock = FakeClock()
    key = KeptInstallationKey(key_of(kube), clock)
    before = key.read()
    kube.delete(SECRET, DIGEST_KEY_SECRET, NS)
    clock.advance(LOOK_SECONDS)
    assert key.read() == before
    assert key_of(kube, 2).read() == before


def test_one_that_is_there_is_looked_at_now_and_then_and_never_written(kube: FakeKube) -> None:
    clock = FakeClock()
    key = KeptInstallationKey(key_of(kube), clock)
    key.read()
    kube.forget_requests()
    for _ in range(10):
        key.read()
    clock.advance(LOOK_SECONDS)
    key.read()
    assert len(kube.requests) == 1
    assert kube.writes == []


def test_another_one_in_its_place_is_left(kube: FakeKube) -> None:
    clock = FakeClock()
    key = KeptInstallationKey(key_of(kube), clock)
    before = key.read()
    kube.delete(SECRET, DIGEST_KEY_SECRET, NS)
    other = key_of(kube, 2).read()
    clock.advance(LOOK_SECONDS)
    assert key.read() == before != other
    assert key_of(kube, 3).read() == other


def refuse_with(error: KubeError | None, kube: FakeKube) -> None:
    """From now on the API server answers a write so; None for no more."""

    def answer(_: Request) -> None:
        if error is not None:
            raise error

    kube.before_write = answer


@pytest.mark.parametrize("error", [Forbidden("a quota"), ObjectRefused("a policy")])
def test_one_that_may_not_come_back_keeps_nothing_else_waiting(kube: FakeKube, error: KubeError) -> None:
    clock = FakeClock()
    key = KeptInstallationKey(key_of(kube), clock)
    before = key.read()
    kube.delete(SECRET, DIGEST_KEY_SECRET, NS)
    clock.advance(LOOK_SECONDS)
    refuse_with(error, kube)
    assert key.read() == before
    refuse_with(None, kube)
    clock.advance(LOOK_SECONDS)
    assert key.read() == before
    assert key_of(kube, 2).read() == before


def test_an_api_server_that_does_not_answer_is_asked_again_at_once(kube: FakeKube) -> None:
    clock = FakeClock()
    key = KeptInstallationKey(key_of(kube), clock)
    before = key.read()
    kube.delete(SECRET, DIGEST_KEY_SECRET, NS)
    clock.advance(LOOK_SECONDS)
    refuse_with(ApiUnavailable("no answer"), kube)
    with pytest.raises(ApiUnavailable):
        key.read()
    refuse_with(None, kube)
    assert key.read() == before
    assert key_of(kube, 2).read() == before
