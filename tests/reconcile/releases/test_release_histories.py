"""Records are read for each pass, except a crowd of passes once, and never from before our own actions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from controller.ports.helm import Revision
from controller.reconcile.releases.histories import CROWD, SHARED_FOR, Histories, ReleaseHistories
from tests.fakes.world import FakeClock


class Records:
    """Tells how it was asked; every release is at the version that is set."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.version = 1

    def observe(
        self, namespace: str, *, bundle: str = "", releases: Collection[str] = ()
    ) -> Mapping[str, tuple[Revision, ...]]:
        self.asked.append(bundle or "all")
        return {name: (Revision(self.version, "deployed", bundle="b"),) for name in ("one", "two", "extra")}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
def histories(records: Records, clock: FakeClock) -> ReleaseHistories:
    return ReleaseHistories(records, clock)  # type: ignore[arg-type]


def crowd(histories: ReleaseHistories, bundle: str = "a", release: str = "one") -> Histories:
    for _ in range(CROWD):
        found = histories.read("openstack", bundle, [release])
    return found


def version(found: Histories, release: str) -> int:
    return found[release][0].version


def test_single_looks_read_for_themselves(
    histories: ReleaseHistories, records: Records, clock: FakeClock
) -> None:
    for _ in range(3 * CROWD):
        histories.read("openstack", "a", ["one"])
        clock.advance(SHARED_FOR)
    assert "all" not in records.asked


def test_a_crowd_shares_one_read_for_a_moment(
    histories: ReleaseHistories, records: Records, clock: FakeClock
) -> None:
    crowd(histories)
    records.asked.clear()
    crowd(histories)
    assert records.asked == []
    clock.advance(SHARED_FOR + 0.1)
    crowd(histories)
    assert records.asked.count("all") == 1


@pytest.mark.parametrize(
    ("bundle", "release"), [("a", "one"), ("b", "two")], ids=["named", "made by the bundle"]
)
def test_what_was_acted_on_since_is_read_again(
    histories: ReleaseHistories, records: Records, clock: FakeClock, bundle: str, release: str
) -> None:
    crowd(histories)
    clock.advance(0.1)
    histories.acted_on(("openstack", "one"), "x")
    records.version = 2
    assert version(histories.read("openstack", bundle, [release]), "one") == 2
    assert version(histories.read("openstack", "c", ["two"]), "two") == 1


def test_what_a_bundle_has_just_installed_is_its_own_also_when_it_names_it_no_more(
    histories: ReleaseHistories, records: Records, clock: FakeClock
) -> None:
    """Else an edit that takes it back within that moment would leave it installed."""
    crowd(histories)
    clock.advance(0.1)
    histories.acted_on(("openstack", "new"), "a")
    records.asked.clear()
    histories.read("openstack", "a", [])
    assert records.asked == ["a"]
    histories.read("openstack", "c", ["two"])
    assert records.asked == ["a"]


def test_an_action_within_the_same_tick_of_the_clock_counts(
    histories: ReleaseHistories, records: Records
) -> None:
    crowd(histories)
    histories.acted_on(("openstack", "one"), "a")
    records.version = 2
    assert version(histories.read("openstack", "a", ["one"]), "one") == 2
