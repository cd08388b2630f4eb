"""A region's authority changes step by step, and at each step everyone understands everyone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.api.reasons import Reason
from controller.domain.credentials.authority import (
    AuthorityRecord,
    AuthorityStep,
    StoredLeaf,
    is_current,
    leaf_begin,
    leaf_end,
    plan_authority,
)
from controller.domain.credentials.certificate_lifetimes import AUTHORITY_LIFE, DAY, LEAF_LIFE, RENEWED_AT
from controller.domain.credentials.certificate_secrets import parse_record, record_texts
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import (
    Authority,
    AuthorityUnusable,
    LeafNames,
    bundle,
    holds,
    is_signed_by,
    read_leaf,
    validity,
)
from tests.fakes.world import FakeRandomness

START = 1_790_000_000.0
NAMES = {name: LeafNames(name, (f"{name}.example",)) for name in ("keystone", "nova")}


@dataclass
class World:
    """A region's Secrets, and what its two services run with: each is server and client of the other."""

    now: float = START
    record: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, StoredLeaf] = field(default_factory=dict)
    running: dict[str, StoredLeaf] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    said: list[Reason] = field(default_factory=list)
    given: Authority | None = None
    random: FakeRandomness = field(default_factory=FakeRandomness)

    def plan(self) -> AuthorityStep:
        return plan_authority(
            parse_record(self.record),
            given=self.given,
            in_use=tuple(self.secrets.values()),
            now=self.now,
            make=lambda: new_authority("test", self.now - DAY, self.now + AUTHORITY_LIFE, self.random),
            settled=self.settled,
        )

    def settled(self, record: AuthorityRecord) -> bool:
        written = all(
            self.secrets.get(name, StoredLeaf()).trusted == record.bundle
            and is_current(self.secrets[name], NAMES[name], record, self.now)
            for name in NAMES
        )
        return written and self.running == self.secrets

    def reconcile(self, killed_after: int = 99) -> None:
        """One pass that ends before it writes more than so many Secrets."""
        step = self.plan()
        writes = [("record", step)] + [(name, step) for name in NAMES]
        for name, step in writes:
            if killed_after <= 0:
                return
            killed_after -= self.write(name, step)

    def write(self, name: str, step: AuthorityStep) -> int:
        record = step.record
        if name == "record":
            texts = record_texts(record, self.given)
            if texts == self.record:
                return 0
            self.record = texts
            self.said += [step.reason] if step.reason else []
            return 1
        there = self.secrets.get(name, StoredLeaf())
        if is_current(there, NAMES[name], record, self.now):
            leaf = StoredLeaf(there.chain, there.key, record.bundle)
        else:
            assert record.signer
            pair = new_leaf(NAMES[name], leaf_begin(record), leaf_end(record), record.signer, self.random)
            leaf = StoredLeaf(pair.chain, pair.key, record.bundle)
        if leaf == there:
            return 0
        self.secrets[name] = leaf
        return 1

    def restart(self, name: str) -> None:
        if self.running.get(name) != self.secrets.get(name) and name in self.secrets:
            self.running[name] = self.secrets[name]
            self.restarts[name] = self.restarts.get(name, 0) + 1

    def advance(self, days: float) -> None:
        """Days go by, with a pass and all restarts every few of them, and two at their end."""
        end = self.now + days * DAY
        while self.now < end:
            self.now = min(end, self.now + 3 * DAY)
            self.turn()
        self.turn()

    def turn(self) -> None:
        self.reconcile()
        self.check()
        for name in NAMES:
            self.restart(name)
            self.check()

    def check(self) -> None:
        """Whoever runs trusts whoever runs."""
        for server in self.running.values():
            facts = read_leaf(server.chain, server.key)
            assert facts is not None
            assert facts.begin <= self.now < facts.end
            for client in self.running.values():
                signers = [a for a in self.authorities if is_signed_by(server.chain, a)]
                assert any(holds(client.trusted, one.anchors) for one in signers)

    @property
    def authorities(self) -> list[Authority]:
        found = parse_record(self.record)
        assert found
        known = [one for one in (found.active, found.next, *EARLIER) if one]
        EARLIER.extend(one for one in known if one not in EARLIER)
        return known

    def signers(self) -> set[str]:
        return {
            one.chain
            for one in self.authorities
            if any(is_signed_by(s.chain, one) for s in self.secrets.values())
        }


EARLIER: list[Authority] = []


@pytest.fixture
def world() -> World:
    EARLIER.clear()
    made = World()
    made.turn()
    return made


def own(seed: int, begin: float = START - DAY, end: float = START + 900 * DAY) -> Authority:
    return new_authority(f"operator {seed}", begin, end, FakeRandomness(1000 + seed))


def test_the_first_certificates_come_from_one_authority(world: World) -> None:
    assert len(world.signers()) == 1
    assert world.said == [Reason.AUTHORITY_CHANGES]


def test_a_pass_without_a_change_changes_nothing(world: World) -> None:
    before = dict(world.record), dict(world.secrets)
    world.reconcile()
    assert (world.record, world.secrets) == before


@pytest.mark.slow
def test_leaves_begin_minutes_before_now_and_are_renewed_at_two_thirds_of_their_life(world: World) -> None:
    facts = {name: read_leaf(leaf.chain, leaf.key) for name, leaf in world.secrets.items()}
    assert all(one and one.begin == START - 300 and one.end == START + LEAF_LIFE for one in facts.values())
    world.advance(29.5)
    assert world.restarts == {"keystone": 1, "nova": 1}
    world.advance(1)
    assert world.restarts == {"keystone": 2, "nova": 2}
    assert world.said[-1] == Reason.CERTIFICATES_RENEWED


def test_what_comes_later_ends_with_all_others(world: World) -> None:
    world.advance(10)
    del world.secrets["nova"]
    world.reconcile()
    assert validity(world.secrets["nova"].chain) == validity(world.secrets["keystone"].chain)


@pytest.mark.slow
def test_an_authority_is_replaced_at_two_thirds_of_its_life_without_a_refusal(world: World) -> None:
    before = world.signers()
    world.advance(AUTHORITY_LIFE / DAY * 2 / 3 + 70)
    assert len(world.signers()) == 1
    assert not world.signers() & before
    record = parse_record(world.record)
    assert record
    assert record.next is None
    assert record.trusted == ""


@pytest.mark.slow
def test_a_change_of_authority_costs_one_restart_more_than_renewals_do(world: World) -> None:
    days = AUTHORITY_LIFE / DAY * 2 / 3 + 70
    world.advance(days)
    renewals = world.said.count(Reason.CERTIFICATES_RENEWED)
    # It becomes trusted with one renewal, and the one before leaves the bundle with another.
    assert world.said.count(Reason.AUTHORITY_CHANGES) == 3  # the first; trusted; signs
    assert world.restarts["nova"] == 1 + renewals + 2


def until_another_is_introduced(world: World) -> None:
    """Written, and not taken up by anyone yet."""
    world.advance(AUTHORITY_LIFE / DAY * 2 / 3 - 35)
    while parse_record(world.record).next is None:  # type: ignore[union-attr]
        for name in NAMES:
            world.restart(name)
        world.now += DAY
        world.reconcile()


@pytest.mark.slow
def test_the_next_authority_waits_until_the_last_consumer_trusts_it(world: World) -> None:
    until_another_is_introduced(world)
    world.restart("keystone")
    for _ in range(7):
        world.now += DAY
        world.reconcile()
        world.check()
    assert len(world.signers()) == 1
    assert world.said[-1] == Reason.AUTHORITY_CHANGES
    before = world.signers()
    world.advance(2)
    assert world.signers() != before


@pytest.mark.slow
def test_leaves_are_renewed_while_a_consumer_does_not_take_up_the_next_authority(world: World) -> None:
    until_another_is_introduced(world)
    before = world.signers()
    world.now += 31 * DAY
    world.reconcile()
    assert world.signers() == before
    assert validity(world.secrets["nova"].chain)[0] == world.now - 300


@pytest.mark.slow
def test_a_lost_authority_stays_trusted_until_nothing_of_it_is_in_use(world: World) -> None:
    lost = world.record["ca.crt"]
    before = {name: leaf.chain for name, leaf in world.secrets.items()}
    world.record = {}
    world.reconcile()
    assert world.said[-1] == Reason.AUTHORITY_LOST
    assert {name: leaf.chain for name, leaf in world.secrets.items()} == before
    assert all(holds(leaf.trusted, lost) for leaf in world.secrets.values())
    world.advance(2)
    assert all(leaf.chain != before[name] for name, leaf in world.secrets.items())
    assert all(holds(leaf.trusted, lost) for leaf in world.secrets.values())
    world.advance(31)
    assert not any(holds(leaf.trusted, lost) for leaf in world.secrets.values())


@pytest.mark.slow
def test_an_older_record_that_was_restored_is_taken_up_step_by_step(world: World) -> None:
    old = dict(world.record)
    world.record = {}
    world.advance(35)  # by now the lost one is not even trusted
    world.record = old
    world.advance(3)
    assert len(world.signers()) == 1
    assert world.record["tls.crt"] == old["tls.crt"]


@pytest.mark.slow
def test_an_operators_authority_is_changed_with_both_in_the_bundle(world: World) -> None:
    world.given = own(1)
    world.advance(2)
    assert world.signers() == {own(1).chain}
    world.given = own(2)
    world.advance(2)
    assert world.signers() == {own(2).chain}
    assert all(holds(leaf.trusted, own(1).anchors) for leaf in world.secrets.values())
    world.advance(31)
    assert not any(holds(leaf.trusted, own(1).anchors) for leaf in world.secrets.values())


def test_another_root_beside_an_operators_authority_is_trusted_before_anything_comes_with_it(
    world: World,
) -> None:
    world.given = own(1)
    world.advance(2)
    world.said.clear()
    world.given = replace(own(1), anchors=bundle((own(1).anchors, own(2).anchors)))
    world.advance(2)
    assert set(world.said) == {Reason.AUTHORITY_CHANGES}
    assert all(holds(leaf.trusted, world.given.anchors) for leaf in world.secrets.values())
    assert world.signers() == {own(1).chain}
    before = dict(world.secrets)
    world.given = replace(own(1), anchors=own(2).anchors + own(1).anchors)
    world.reconcile()
    assert world.secrets == before


def test_the_key_of_an_operators_authority_is_not_copied(world: World) -> None:
    world.given = own(1)
    world.reconcile()
    assert own(1).key not in world.record.values()
    world.advance(3)
    assert own(1).key not in world.record.values()
    assert "tls.key" not in world.record


def test_back_to_an_authority_of_its_own(world: World) -> None:
    world.given = own(1)
    world.advance(2)
    world.given = None
    world.advance(2)
    assert own(1).chain not in world.signers()
    assert len(world.signers()) == 1


def test_an_authority_that_ended_between_two_looks_is_replaced(world: World) -> None:
    world.now += AUTHORITY_LIFE + DAY
    world.running.clear()
    world.advance(3)
    assert len(world.signers()) == 1
    assert all(validity(leaf.chain)[1] > world.now for leaf in world.secrets.values())


def days_left(world: World) -> float:
    return min(validity(leaf.chain)[1] - world.now for leaf in world.secrets.values()) / DAY


def test_a_certificate_that_is_not_taken_up_is_replaced_days_before_its_end(world: World) -> None:
    world.now += 29 * DAY
    world.record = {}
    world.reconcile()
    world.now += 12 * DAY
    world.reconcile()
    assert days_left(world) == pytest.approx(4)
    world.now += 2 * DAY
    world.reconcile()
    assert days_left(world) > 25


def test_the_next_authority_signs_days_before_the_one_of_today_ends() -> None:
    EARLIER.clear()
    world = World(given=own(1, end=START + 20 * DAY))
    world.turn()
    world.given = own(2)
    world.reconcile()
    world.now += 18 * DAY
    world.reconcile()
    assert world.signers() == {own(2).chain}
    assert days_left(world) > 25


def test_certificates_that_a_new_one_would_not_outlast_stay() -> None:
    EARLIER.clear()
    world = World(given=own(1, end=START + 20 * DAY))
    world.turn()
    world.now += 18 * DAY
    before = dict(world.record), dict(world.secrets)
    world.reconcile()
    assert (world.record, world.secrets) == before


def test_before_an_authority_begins_nothing_is_decided(world: World) -> None:
    world.now -= 2 * DAY
    with pytest.raises(AuthorityUnusable, match="clocks"):
        world.plan()


def test_leaves_of_a_clock_that_was_ahead_are_made_again(world: World) -> None:
    world.now += 400 * DAY
    world.reconcile()
    world.now -= 390 * DAY
    world.reconcile()
    assert all(validity(leaf.chain)[0] <= world.now for leaf in world.secrets.values())


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["pass", "kill", "restart", "days", "back", "lose", "leaf", "give", "own"]),
            st.integers(0, 3),
        ),
        max_size=25,
    )
)
def test_whatever_happens_it_ends_with_one_generation(events: list[tuple[str, int]]) -> None:
    EARLIER.clear()
    world = World()
    world.turn()
    for event, number in events:
        happens(world, event, number)
    world.now = max(world.now, START)
    for _ in range(12):
        world.reconcile()
        for name in NAMES:
            world.restart(name)
    assert len(world.signers()) == 1
    assert len({validity(leaf.chain) for leaf in world.secrets.values()}) == 1
    assert len({leaf.trusted for leaf in world.secrets.values()}) == 1
    assert parse_record(world.record).next is None  # type: ignore[union-attr]
    before = dict(world.record), dict(world.secrets)
    world.reconcile()
    assert (world.record, world.secrets) == before
    world.check()


def happens(world: World, event: str, number: int) -> None:
    match event:
        case "pass":
            world.reconcile()
        case "kill":
            world.reconcile(killed_after=number)
        case "restart":
            world.restart(list(NAMES)[number % 2])
        case "days":
            world.now += (number + 1) * 9 * DAY
        case "back":
            world.now = max(START, world.now - (number + 1) * 7 * DAY)
        case "lose":
            world.record = {}
        case "leaf":
            world.secrets.pop(list(NAMES)[number % 2], None)
        case "give":
            world.given = own(number % 2)
        case "own":
            world.given = None


def test_a_certificate_is_renewed_before_any_warning_of_its_end() -> None:
    """The alert OpenStackCertificateExpires warns 14 days before."""
    assert LEAF_LIFE * (1 - RENEWED_AT) > 14 * DAY
