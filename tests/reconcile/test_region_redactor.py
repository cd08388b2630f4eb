"""What containers say is redacted by what the region's Secrets hold at that moment, and held lately."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import ApiUnavailable
from controller.reconcile.region_redactor import FORMER_KEPT, RegionRedactor
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

OLD, NEW = "old-password-1", "brand-new-pass-2"


class Secrets:
    """One Secret, and the looks of a reconciler."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock)
        self.redactor = RegionRedactor(self.kube, self.clock, "openstack")
        self.hold("nova", OLD)

    def hold(self, name: str, password: str) -> None:
        meta = {"name": name, "namespace": "openstack"}
        body: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
        self.kube.apply({**body, "stringData": {"password": password}}, manager="test")

    def look(self, *texts: str, names: frozenset[str] = frozenset({"nova"})) -> list[str]:
        self.redactor.look_through(names)
        return [self.redactor.redact(text) for text in texts]


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


def test_a_rotated_password_is_known_at_the_next_look(secrets: Secrets) -> None:
    secrets.look(f"denied for {OLD}")
    secrets.hold("nova", NEW)
    assert secrets.look(f"denied for {NEW}") == ["denied for [redacted]"]


def test_the_former_password_is_looked_for_for_a_day(secrets: Secrets) -> None:
    secrets.look(f"denied for {OLD}")
    secrets.hold("nova", NEW)
    secrets.look("something new")
    secrets.clock.advance(FORMER_KEPT - 1)
    assert secrets.look(f"again denied for {OLD}") == ["again denied for [redacted]"]
    secrets.clock.advance(2)
    assert secrets.look(f"after a day {OLD} and {NEW}") == [f"after a day {OLD} and [redacted]"]


def test_what_no_bundle_refers_to_any_more_stays_secret_too(secrets: Secrets) -> None:
    secrets.look(f"denied for {OLD}")
    assert secrets.look(f"denied for {OLD}", names=frozenset()) == ["denied for [redacted]"]


def test_what_bundles_begin_to_refer_to_is_looked_for_in_texts_that_stay(secrets: Secrets) -> None:
    assert secrets.look(f"denied for {OLD}", names=frozenset()) == [f"denied for {OLD}"]
    assert secrets.look(f"denied for {OLD}") == ["denied for [redacted]"]


def test_texts_that_stay_cost_no_request(secrets: Secrets) -> None:
    secrets.look("one", "two")
    secrets.kube.forget_requests()
    assert secrets.look("one", "two", "") == ["one", "two", ""]
    assert secrets.kube.requests == []


def test_new_texts_cost_one_list_a_look_and_no_secret_is_read_again(secrets: Secrets) -> None:
    secrets.look("one")
    secrets.kube.forget_requests()
    secrets.look("two", "three")
    assert [request.verb for request in secrets.kube.requests] == ["list"]


def test_without_the_secrets_nothing_is_said(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise ApiUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(secrets.kube, "list_metadata", away)
        for _ in range(2):
            with pytest.raises(ApiUnavailable):
                secrets.look(f"denied for {OLD}")
    assert secrets.look(f"denied for {OLD}") == ["denied for [redacted]"]
