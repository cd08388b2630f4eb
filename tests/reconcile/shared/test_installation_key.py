"""The key of digests is made once, and comes back as it was while a process knows it."""

from __future__ import annotations

import base64

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


def without_entry(kube: FakeKube, data: dict[str, str]) -> None:
    """The Secret with this data in place of its own."""
    kube.delete(SECRET, DIGEST_KEY_SECRET, NS)
    meta = {"name": DIGEST_KEY_SECRET, "namespace": NS}
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})


def stored(kube: FakeKube) -> dict[str, str]:
    secret = kube.get(SECRET, DIGEST_KEY_SECRET, NS)
    assert secret is not None
    return dict(secret["data"])


@pytest.mark.parametrize("data", [{}, {"other": "eA=="}, {"key": "", "other": "eA=="}])
def test_a_secret_without_the_entry_gets_one_and_keeps_the_rest(
    kube: FakeKube, data: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    without_entry(kube, data)
    key = key_of(kube).read()

    assert len(key) == 32
    assert key_of(kube, 2).read() == key
    assert {**stored(kube), "key": ""} == {**data, "key": ""}
    assert "each release may be upgraded once" in caplog.text
    assert base64.b64encode(key).decode() not in caplog.text


def test_an_entry_of_another_length_is_a_key(kube: FakeKube) -> None:
    without_entry(kube, {"key": "eA=="})
    kube.forget_requests()

    assert key_of(kube).read() == b"x"
    assert kube.writes == []


def test_an_entry_that_another_process_has_written_meanwhile_is_taken(kube: FakeKube) -> None:
    without_entry(kube, {"other": "eA=="})
    others: list[bytes] = []

    def write_first(_: Request) -> None:
        kube.before_write = lambda _: None
        others.append(key_of(kube, 2).read())

    kube.before_write = write_first
    assert [key_of(kube).read()] == others


def test_an_entry_that_is_gone_comes_back_as_it_was(kube: FakeKube) -> None:
    clock = FakeClock()
    key = KeptInstallationKey(key_of(kube), clock)
    before = key.read()
    without_entry(kube, {"other": "eA=="})
    clock.advance(LOOK_SECONDS)

    assert key.read() == before
    assert key_of(kube, 2).read() == before
    assert stored(kube)["other"] == "eA=="


def test_an_entry_that_cannot_be_written_is_reported_with_the_remedy(kube: FakeKube) -> None:
    without_entry(kube, {"other": "eA=="})
    refuse_with(ObjectRefused("field is immutable"), kube)

    with pytest.raises(ObjectRefused, match=r'no entry "key".*immutable.*delete the Secret'):
        key_of(kube).read()


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
