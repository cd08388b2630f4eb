"""The key with which Barbican wraps the keys of projects is rotated: every pod unwraps all at any time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from controller.domain.credentials.rotation.accounts import Server
from controller.domain.values.chart_values import secret_ref
from tests.reconcile.credentials.killed_passes import KilledPasses, killed_by_chance
from tests.reconcile.credentials.rotation_bed import ACCOUNTS, CATALOGUE, ROTATE, RotationBed, values_of
from tests.reconcile.credentials.shared_keys_bed import renamed

SECRET = "key-manager-credentials"
KEYS = ("simple-crypto-key", "simple-crypto-next-key", "simple-crypto-former-key")
KEPT = {"simple-crypto-key-kept", "simple-crypto-former-key-kept"}


class WrappingBed(RotationBed):
    """Two pods of Barbican, replaced one after the other. `unread` counts what one could not unwrap."""

    charts: Mapping[str, str] = {"key-manager": "barbican"}
    services = tuple(charts)
    catalogue: Mapping[str, Mapping[str, str]] = {
        **{name: CATALOGUE[name] for name in ("database", "messaging", "identity")},
        "key-manager": {
            **{key.replace("nova", "barbican"): kind for key, kind in ACCOUNTS.items()},
            **dict.fromkeys(KEYS, "base64-32"),
        },
    }

    def prepare(self) -> None:
        self.barbican: list[list[str]] = [[], []]
        self.unread = 0

    def values(self, service: str) -> dict[str, Any]:
        values = renamed(values_of("compute"), {"nova": "barbican", "compute": "key-manager"})
        kek = {"type": "multistring", "values": [secret_ref(SECRET, key) for key in KEYS]}
        return {**values, "conf": {"barbican": {"simple_crypto_plugin": {"kek": kek}}}}

    def run_pods(self, chart: str, values: Mapping[str, Any]) -> None:
        super().run_pods(chart, values)
        for number in range(len(self.barbican)):
            self.replace_pod(number, values)

    def replace_pod(self, number: int, values: Mapping[str, Any] | None = None) -> None:
        plugin = (values or self.deployed("key-manager"))["conf"]["barbican"]["simple_crypto_plugin"]
        self.barbican[number] = list(plugin["kek"]["values"])
        self.work()

    def work(self) -> None:
        """Each pod has a new project, and reads all that there is."""
        pods = [keys for keys in self.barbican if keys]
        self.servers.wrapped += [keys[0] for keys in pods]
        self.unread += sum(one not in keys for keys in pods for one in self.servers.wrapped)


@pytest.fixture
def bed() -> WrappingBed:
    return WrappingBed()


def assert_whole(bed: WrappingBed) -> None:
    """Nothing is wrapped with another key than the one in use, and all pods have what the Secret says."""
    texts = bed.texts(SECRET)
    assert set(bed.servers.wrapped) == {texts["simple-crypto-key"]}
    assert bed.barbican == [[texts[key] for key in KEYS]] * 2
    assert KEPT.isdisjoint(texts)
    assert bed.unread == 0
    assert bed.failures() == []


def settle(bed: WrappingBed) -> None:
    bed.settle(20)
    assert bed.rotation("key-manager") == {}, bed.rotation("key-manager")


def test_each_key_moves_by_one_place(bed: WrappingBed) -> None:
    before = bed.texts(SECRET)
    bed.ask("key-manager")
    settle(bed)
    after = bed.texts(SECRET)
    assert after["simple-crypto-key"] == before["simple-crypto-next-key"]
    assert after["simple-crypto-former-key"] == before["simple-crypto-key"]
    assert after["simple-crypto-next-key"] not in before.values()
    assert_whole(bed)


def test_the_rotation_ends_only_once_nothing_is_wrapped_with_the_former_key(bed: WrappingBed) -> None:
    bed.ask("key-manager")
    bed.reconcile()
    bed.upgrade("key-manager")
    bed.replace_pods("key-manager")
    bed.clock.advance(10)
    bed.reconcile()
    assert "wrapped again just now" in bed.rotation("key-manager")["message"]
    bed.reconcile()
    assert bed.rotation("key-manager") == {}
    assert_whole(bed)


@pytest.mark.slow
def test_what_is_left_of_the_former_key_is_wrapped_again_before_that_one_goes(bed: WrappingBed) -> None:
    """As from a dump of the database that was restored since the last rotation."""
    bed.ask("key-manager")
    settle(bed)
    bed.servers.wrapped.append(bed.texts(SECRET)["simple-crypto-former-key"])
    for _ in range(2):
        bed.ask("key-manager")
        settle(bed)
        assert_whole(bed)


def test_a_database_that_is_away_keeps_the_former_key(bed: WrappingBed) -> None:
    former = bed.texts(SECRET)["simple-crypto-key"]
    bed.ask("key-manager")
    bed.reconcile()
    bed.servers.down = {Server.DATABASE}
    bed.upgrade("key-manager")
    bed.replace_pods("key-manager")
    bed.settle(5)
    assert bed.rotation("key-manager")["phase"] == "Removing"
    assert former in bed.servers.wrapped
    assert bed.texts(SECRET)["simple-crypto-former-key"] == former
    bed.servers.down = set()
    settle(bed)
    assert_whole(bed)


@pytest.mark.parametrize("upgraded", [False, True], ids=["not-upgraded", "upgraded"])
@pytest.mark.parametrize("lost", KEYS)
def test_a_key_that_is_lost_meanwhile_is_not_taken_from_an_earlier_record(
    bed: WrappingBed, lost: str, upgraded: bool
) -> None:
    bed.ask("key-manager")
    bed.reconcile()
    if upgraded:
        bed.upgrade("key-manager")
        bed.replace_pod(0)
    said = bed.texts(SECRET)
    bed.edit_secret(SECRET, {lost: None})
    bed.reconcile()
    again = bed.texts(SECRET)
    if lost != "simple-crypto-next-key":
        assert again == said
    assert "CredentialsLost" not in [reason for _, reason, _ in bed.events.seen]
    settle(bed)
    assert_whole(bed)


@pytest.mark.parametrize("key", ["simple-crypto-key", "simple-crypto-former-key"])
def test_a_second_name_that_is_lost_is_there_again_before_its_key_is_lost_too(
    bed: WrappingBed, key: str
) -> None:
    bed.ask("key-manager")
    bed.reconcile()
    said = bed.texts(SECRET)
    for lost in (f"{key}-kept", key):
        bed.edit_secret(SECRET, {lost: None})
        bed.reconcile()
        assert bed.texts(SECRET) == said
    settle(bed)
    assert_whole(bed)


@pytest.mark.parametrize("key", ["simple-crypto-key", "simple-crypto-former-key"])
def test_a_key_that_is_lost_under_both_names_is_reported_and_not_taken_from_an_earlier_record(
    bed: WrappingBed, key: str
) -> None:
    bed.ask("key-manager")
    bed.reconcile()
    bed.edit_secret(SECRET, {key: None, f"{key}-kept": None})
    bed.reconcile()
    assert key not in bed.texts(SECRET)
    assert "CredentialsLost" in [reason for _, reason, _ in bed.events.seen]


def rotated(nth: int = 0, *, after: bool = False) -> int:
    """Rotates with a kill before or after the nth step, a write or a change in the database; how many."""
    bed = WrappingBed()
    bed.ask("key-manager")
    passes = KilledPasses(bed, nth, after=after)
    for _ in range(9):
        passes.run()
        bed.work()
        if bed.resolved("key-manager") != bed.deployed("key-manager"):
            bed.upgrade("key-manager")
        for number in range(2):
            bed.replace_pod(number)
        bed.replace_pods("key-manager")
        bed.clock.advance(10)
    settle(bed)
    assert_whole(bed)
    return passes.steps


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_each_step_nothing_is_lost(after: bool) -> None:
    steps = rotated()
    assert steps >= 12
    for nth in range(1, steps + 1):
        assert rotated(nth, after=after) >= nth


def sequence(seed: int, steps: int) -> None:
    """Kills, rotations, losses of single keys and outages in any order: all is unwrapped at any time."""
    bed = WrappingBed()
    chance = random.Random(seed)

    def upgrade() -> None:
        if bed.resolvable("key-manager"):
            bed.upgrade("key-manager")

    def lose() -> None:
        keys = [key for key in bed.texts(SECRET) if key != "account-suffix"]
        # One at a time: what is lost is brought back before the next.
        if set(KEYS) <= set(keys):
            bed.edit_secret(SECRET, {chance.choice(keys): None})
            bed.reconcile()

    steps_of = [
        *[partial(killed_by_chance, bed, chance, servers=True)] * 8,
        *[upgrade] * 3,
        *[lambda: bed.replace_pods("key-manager")] * 3,
        *[lambda: bed.replace_pod(chance.randrange(2))] * 2,
        bed.work,
        lambda: bed.ask("key-manager"),
        lambda: bed.clock.advance(chance.choice((1, 60, 86400))),
        lambda: setattr(bed.servers, "down", set(chance.sample([Server.DATABASE], chance.randint(0, 1)))),
        lose,
    ]
    for _ in range(steps):
        chance.choice(steps_of)()
        assert bed.unread == 0
        assert bed.failures() == []
    bed.servers.down = set()
    settle(bed)
    assert not bed.is_told("CredentialsEdited")
    assert ROTATE not in bed.notes("key-manager")
    assert_whole(bed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_after_any_sequence_all_is_unwrapped(seed: int) -> None:
    sequence(seed, 80)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_after_any_of_many_sequences_all_is_unwrapped(seed: int) -> None:
    sequence(seed, 250)
