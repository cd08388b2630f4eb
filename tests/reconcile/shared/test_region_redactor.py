"""What containers say is redacted by what the region's Secrets hold at that moment, and held lately."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import timestamp
from controller.errors import ApiUnavailable
from controller.reconcile.shared.region_redactor import (
    FORMER_KEPT,
    LEARNT_EVERY,
    STALE_AFTER,
    WITHHELD,
    RegionRedactor,
)
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

    def one_pass(self, *texts: str, names: frozenset[str] = frozenset({"nova"})) -> list[str]:
        self.redactor.learn_from_secrets(names)
        return [self.redactor.redact_output(text) for text in texts]

    def restart(self) -> None:
        """health begins again, and knows nothing."""
        self.redactor = RegionRedactor(self.kube, self.clock, "openstack")

    def changed(self, field: str, ago: float, *, made: float) -> None:
        """The Secret was made and this field of it was changed so many seconds ago."""
        now = self.clock.now()
        entry = {"manager": "test", "time": timestamp(now - ago), "fieldsV1": {field: {}}}
        meta = {"creationTimestamp": timestamp(now - made), "managedFields": [entry]}
        get = self.kube.get

        def with_times(*given: Any) -> Any:
            found = get(*given)
            return found and {**found, "metadata": {**found["metadata"], **meta}}

        self.kube.get = with_times  # type: ignore[method-assign]


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


def test_a_rotated_password_is_known_at_the_next_look(secrets: Secrets) -> None:
    secrets.one_pass(f"denied for {OLD}")
    secrets.clock.advance(1)
    secrets.hold("nova", NEW)
    assert secrets.one_pass(f"denied for {NEW}") == ["denied for [redacted]"]


def test_the_former_password_is_looked_for_for_a_day(secrets: Secrets) -> None:
    secrets.one_pass(f"denied for {OLD}")
    secrets.hold("nova", NEW)
    secrets.one_pass("something new")
    secrets.clock.advance(FORMER_KEPT - 1)
    assert secrets.one_pass(f"again denied for {OLD}") == ["again denied for [redacted]"]
    secrets.clock.advance(2)
    assert secrets.one_pass(f"after a day {OLD} and {NEW}") == [f"after a day {OLD} and [redacted]"]


def test_what_no_bundle_refers_to_any_more_stays_secret_too(secrets: Secrets) -> None:
    secrets.one_pass(f"denied for {OLD}")
    assert secrets.one_pass(f"denied for {OLD}", names=frozenset()) == ["denied for [redacted]"]


def test_what_bundles_begin_to_refer_to_is_looked_for_in_texts_that_stay(secrets: Secrets) -> None:
    assert secrets.one_pass(f"denied for {OLD}", names=frozenset()) == [f"denied for {OLD}"]
    assert secrets.one_pass(f"denied for {OLD}") == ["denied for [redacted]"]


def test_what_was_rotated_before_anything_was_said_is_known(secrets: Secrets) -> None:
    for _ in range(3):
        secrets.one_pass("")
    secrets.hold("nova", NEW)
    assert secrets.one_pass(f"denied for {OLD} and {NEW}") == ["denied for [redacted] and [redacted]"]


def test_what_is_rotated_while_nothing_is_said_is_learnt(secrets: Secrets) -> None:
    secrets.one_pass("")
    for number in range(3):
        secrets.hold("nova", f"password-number-{number}")
        secrets.clock.advance(LEARNT_EVERY)
        secrets.one_pass("")
    said = [f"denied for password-number-{number}" for number in range(3)]
    assert secrets.one_pass(*said) == ["denied for [redacted]"] * 3


@pytest.mark.parametrize(
    ("field", "ago", "made", "shown"),
    [
        ("f:data", 3600, 7200, WITHHELD),
        ("f:data", FORMER_KEPT + 1, 2 * FORMER_KEPT, "words"),
        ("f:metadata", 3600, 7200, "words"),
        ("f:data", 7200, 7200, "words"),
    ],
    ids=["rotated", "rotated long ago", "labelled", "made"],
)
def test_after_a_restart_no_output_is_reported_while_a_former_password_may_be_in_it(
    secrets: Secrets, field: str, ago: float, made: float, shown: str
) -> None:
    secrets.changed(field, ago, made=made)
    secrets.restart()
    assert secrets.one_pass("words") == [shown]
    assert secrets.redactor.redact("a word of ours") == "a word of ours"
    secrets.clock.advance(FORMER_KEPT)
    assert secrets.one_pass("words") == ["words"]


def test_what_was_rotated_under_our_eyes_withholds_nothing(secrets: Secrets) -> None:
    secrets.one_pass("")
    secrets.changed("f:data", 0, made=7200)
    secrets.hold("nova", NEW)
    assert secrets.one_pass("words") == ["words"]


def test_words_of_our_own_that_change_at_each_look_cost_a_list_now_and_then(secrets: Secrets) -> None:
    secrets.one_pass("")
    secrets.kube.forget_requests()
    for number in range(60):
        secrets.clock.advance(1)
        secrets.redactor.learn_from_secrets(frozenset({"nova"}))
        secrets.redactor.redact(f"{number} of 60 pods are not updated yet")
    assert len(secrets.kube.requests) == 60 / STALE_AFTER


def test_texts_that_stay_cost_no_request(secrets: Secrets) -> None:
    secrets.one_pass("one", "two")
    secrets.kube.forget_requests()
    assert secrets.one_pass("one", "two", "") == ["one", "two", ""]
    assert secrets.kube.requests == []


def test_new_texts_cost_one_list_a_look_and_no_secret_is_read_again(secrets: Secrets) -> None:
    secrets.one_pass("one")
    secrets.clock.advance(1)
    secrets.kube.forget_requests()
    secrets.one_pass("two", "three")
    assert [request.verb for request in secrets.kube.requests] == ["list"]


def test_without_the_secrets_nothing_is_said(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise ApiUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(secrets.kube, "list_metadata", away)
        for _ in range(2):
            with pytest.raises(ApiUnavailable):
                secrets.one_pass(f"denied for {OLD}")
    assert secrets.one_pass(f"denied for {OLD}") == ["denied for [redacted]"]
