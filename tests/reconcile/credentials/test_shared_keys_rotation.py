"""Secrets that pods share are replaced under their own name; the pair of the computes refuses no move."""

from __future__ import annotations

import random
from functools import partial

import pytest

from controller.domain.credentials.generate import public_key_of
from tests.reconcile.credentials.killed_passes import KilledPasses, killed_by_chance
from tests.reconcile.credentials.rotation_bed import ROTATE
from tests.reconcile.credentials.shared_keys_bed import HOSTS, SharedKeysBed
from tests.sweeps import swept

COMPUTE = "compute-credentials"


@pytest.fixture
def bed() -> SharedKeysBed:
    return SharedKeysBed()


def assert_one_pair(bed: SharedKeysBed) -> None:
    """Everyone uses one pair, the one of the Secret, and lets in no other."""
    texts = bed.texts(COMPUTE)
    assert texts["ssh-public-key"] == public_key_of(texts["ssh-private-key"])
    assert {(host.private, host.authorized) for host in bed.hosts} == {
        (texts["ssh-private-key"], frozenset({texts["ssh-public-key"]}))
    }
    assert "ssh-private-key-next" not in texts


def test_what_is_let_in_comes_first_then_what_is_used_then_the_former_goes(bed: SharedKeysBed) -> None:
    before = bed.texts(COMPUTE)
    bed.ask("compute")
    bed.reconcile()
    first = bed.texts(COMPUTE)
    coming = public_key_of(first["ssh-private-key-next"])
    assert first["ssh-private-key"] == before["ssh-private-key"]
    assert first["ssh-public-key"].splitlines() == [before["ssh-public-key"], coming]
    bed.upgrade("compute")
    bed.replace_pods("compute")
    bed.clock.advance(10)
    bed.reconcile()
    second = bed.texts(COMPUTE)
    assert second["ssh-private-key"] == first["ssh-private-key-next"]
    assert second["ssh-public-key"].splitlines() == [coming, before["ssh-public-key"]]
    assert "ssh-private-key-next" not in second
    bed.upgrade("compute")
    bed.replace_pods("compute")
    bed.clock.advance(10)
    bed.reconcile()
    assert bed.texts(COMPUTE)["ssh-public-key"] == coming


@pytest.mark.slow
def test_no_move_between_computes_is_refused(bed: SharedKeysBed) -> None:
    bed.ask("compute")
    bed.settle()
    assert bed.rotation("compute") == {}
    assert bed.moves > 3 * HOSTS**3
    assert bed.refused == 0
    assert_one_pair(bed)


def test_the_next_stage_waits_for_the_last_pod(bed: SharedKeysBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.upgrade("compute")
    bed.reconcile()
    assert "ssh-private-key-next" in bed.texts(COMPUTE)
    assert "has old pods" in bed.rotation("compute")["message"]


@pytest.mark.slow
def test_a_next_key_that_others_took_out_is_made_again(bed: SharedKeysBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.edit_secret(COMPUTE, {"ssh-private-key-next": None})
    bed.settle()
    assert bed.refused == 0
    assert_one_pair(bed)


@pytest.mark.slow
def test_what_lets_in_the_next_key_is_put_back_before_it_is_used(bed: SharedKeysBed) -> None:
    bed.ask("compute")
    bed.reconcile()
    bed.edit_secret(COMPUTE, {"ssh-public-key": bed.texts(COMPUTE)["ssh-public-key"].splitlines()[0]})
    bed.settle()
    assert bed.refused == 0
    assert_one_pair(bed)


def test_a_key_that_is_none_keeps_a_rotation_from_beginning(bed: SharedKeysBed) -> None:
    before = {**bed.texts(COMPUTE), "ssh-private-key": "no key"}
    bed.edit_secret(COMPUTE, {"ssh-private-key": "no key"})
    bed.upgrade("compute")
    bed.replace_pods("compute")
    bed.ask("compute")
    bed.reconcile()
    assert bed.rotation("compute")["phase"] == "Waiting"
    assert "not an OpenSSH private key" in bed.rotation("compute")["message"]
    assert bed.texts(COMPUTE) == before


def test_metadata_are_refused_only_until_both_sides_are_replaced(bed: SharedKeysBed) -> None:
    before = bed.texts("networking-credentials")["metadata-secret"]
    bed.ask("networking")
    bed.reconcile()
    after = bed.texts("networking-credentials")["metadata-secret"]
    assert after != before
    bed.upgrade("networking")
    bed.replace_pods("networking")
    assert bed.differing == 1
    bed.upgrade("compute")
    bed.replace_pods("compute")
    assert bed.differing == 1
    assert set(bed.metadata.values()) == {after}


def test_a_shared_key_that_is_lost_while_it_is_replaced_is_made_again(bed: SharedKeysBed) -> None:
    """The releases do not agree on it, so it cannot be brought back."""
    bed.ask("networking")
    bed.reconcile()
    bed.upgrade("networking")
    bed.edit_secret("networking-credentials", {"metadata-secret": None})
    bed.settle()
    assert bed.rotation("networking") == {}
    assert set(bed.metadata.values()) == {bed.texts("networking-credentials")["metadata-secret"]}


def test_a_secret_without_accounts_is_rotated_too(bed: SharedKeysBed) -> None:
    before = bed.texts("cache-credentials")
    bed.ask("cache")
    bed.settle()
    after = bed.texts("cache-credentials")
    assert after.keys() == before.keys()
    assert after != before
    assert bed.rotation("cache") == {}
    assert bed.notes("cache")["osctl.dev/rotated-at"]
    for service in bed.services:
        assert bed.deployed(service)["endpoints"]["oslo_cache"]["auth"] == {
            "memcache_secret_key": after["memcache-secret-key"]
        }


# What lies before a step lies after the one before it.
KILLED = [
    (*one, after) for one in (("compute", 15), ("networking", 10), ("cache", 4)) for after in (False, True)
]
KILLED_DAILY = (("networking", 10, True), ("cache", 4, False))


def rotated(service: str, nth: int = 0, *, after: bool = False) -> int:
    """Rotates, with a kill before or after the nth step of all: a write, or a change on a server. How many
    steps there were."""
    bed = SharedKeysBed()
    bed.ask(service)
    passes = KilledPasses(bed, nth, after=after)
    passes.settle(14)
    assert bed.failures() == []
    assert bed.refused == 0
    assert bed.rotation(service) == {}
    assert {"osctl.dev/rotation", ROTATE}.isdisjoint(bed.notes(service))
    assert_one_pair(bed)
    for one in bed.services:
        assert bed.resolved(one) == bed.deployed(one)
        name = bed.charts[one] + bed.texts(f"{one}-credentials").get("account-suffix", "")
        assert {found for _, found in bed.names(bed.charts[one])} == {name}
    return passes.steps


@pytest.mark.slow
@pytest.mark.parametrize(("service", "least", "after"), swept(KILLED, KILLED_DAILY))
def test_killed_at_each_step_one_generation_is_left(service: str, least: int, after: bool) -> None:
    steps = rotated(service)
    assert steps >= least
    for nth in range(1, steps + 1):
        assert rotated(service, nth, after=after) >= nth


def sequence(seed: int, steps: int) -> None:
    """Kills, rotations, edits, losses and hosts replaced in any order: in the end everyone has what the
    Secrets say, and nothing from before is left."""
    bed = SharedKeysBed()
    chance = random.Random(seed)

    def upgrade() -> None:
        service = chance.choice(bed.services)
        if bed.resolvable(service):
            bed.upgrade(service)

    def lose() -> None:
        """What is deleted comes back from Helm's records."""
        service = chance.choice(bed.services)
        keys = [key for key in bed.texts(f"{service}-credentials") if key != "account-suffix"]
        if keys:
            bed.edit_secret(f"{service}-credentials", {chance.choice(keys): None})

    def touch() -> None:
        name = f"{chance.choice(bed.services)}-credentials"
        bed.edit_secret(name, {"of-others": f"{chance.randint(1, 9)}"})

    steps_of = [
        *[partial(killed_by_chance, bed, chance)] * 8,
        *[upgrade] * 3,
        *[lambda: bed.replace_pods(chance.choice(bed.services))] * 3,
        lambda: bed.replace_host(chance.randrange(HOSTS)),
        lambda: bed.ask(chance.choice([*bed.services, "cache"])),
        lambda: bed.clock.advance(chance.choice((1, 60, 86400))),
        lose,
        touch,
    ]
    for _ in range(steps):
        chance.choice(steps_of)()
        assert bed.failures() == []
        assert bed.refused == 0
    bed.settle(40)
    assert bed.failures() == []
    for service in bed.services:
        assert bed.rotation(service) == {}, bed.rotation(service)
        assert bed.resolved(service) == bed.deployed(service)
        chart, suffix = bed.charts[service], bed.texts(f"{service}-credentials").get("account-suffix", "")
        assert {name for _, name in bed.names(chart)} == {f"{chart}{suffix}"}
    assert ROTATE not in bed.notes("cache")
    assert_one_pair(bed)
    assert not bed.is_told("CredentialsEdited")
    bed.assert_rests()


@pytest.mark.slow
@pytest.mark.parametrize("seed", swept(range(10), daily=range(4)))
def test_after_any_sequence_one_generation_is_left_that_all_use(seed: int) -> None:
    sequence(seed, 80)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_after_any_of_many_sequences_one_generation_is_left(seed: int) -> None:
    sequence(seed, 250)
