"""The passwords of Keystone's and the broker's administrators are changed under the same names."""

from __future__ import annotations

import random
from functools import partial

import pytest

from controller.domain.credentials.rotation.accounts import Server
from controller.errors import Forbidden
from controller.ports.kubernetes import SECRET
from tests.fakes.kube import Request
from tests.reconcile.credentials.administrators_bed import (
    DATABASE,
    IDENTITY,
    MESSAGING,
    NS,
    WHERE,
    AdministratorsBed,
)
from tests.reconcile.credentials.killed_passes import KilledPasses, killed_by_chance
from tests.reconcile.credentials.rotation_bed import ROTATE
from tests.reconcile.credentials.test_secrets import Killed
from tests.sweeps import swept

pytestmark = pytest.mark.slow


@pytest.fixture
def bed() -> AdministratorsBed:
    return AdministratorsBed()


def test_the_server_knows_the_next_password_before_any_release_has_it(bed: AdministratorsBed) -> None:
    before = bed.texts(IDENTITY)["admin-password"]
    bed.ask("identity")
    bed.reconcile()
    after = bed.texts(IDENTITY)
    assert after["admin-password"] == bed.servers.administrators[Server.KEYSTONE] != before
    assert after["account-suffix"] == "-2"
    assert not bed.own_containers_are_refused
    assert bed.servers.never_locked == {Server.KEYSTONE}


@pytest.mark.parametrize("service", WHERE)
def test_it_ends_with_one_password_that_everything_has(bed: AdministratorsBed, service: str) -> None:
    _, key = WHERE[service]
    before = bed.texts(f"{service}-credentials")[key]
    bed.ask(service)
    bed.settle()
    assert bed.texts(f"{service}-credentials")[key] != before
    assert bed.jobs == 0
    bed.assert_one_generation()


def test_who_works_as_the_administrator_is_refused_only_until_its_pods_are_replaced(
    bed: AdministratorsBed,
) -> None:
    bed.ask("identity")
    began, refused = bed.clock.now(), 0.0
    for _ in range(6):
        bed.reconcile()
        for service in ("identity", "compute", "image"):
            bed.upgrade(service)
            bed.clock.advance(10)
            refused += 10 * bed.octavia_is_refused
            bed.replace_pods(service)
    assert refused == 30.0
    assert bed.clock.now() - began > refused
    bed.settle()
    bed.assert_one_generation()


def test_the_database_lets_in_root_with_both_until_its_pods_are_replaced(bed: AdministratorsBed) -> None:
    before = bed.texts(DATABASE)["root-password"]
    bed.ask("database")
    bed.reconcile()
    after = bed.texts(DATABASE)["root-password"]
    for service in bed.services:
        bed.upgrade(service)
        bed.reconcile()
        assert [bed.servers.lets_in(Server.DATABASE, one) for one in (before, after)] == [True, True]
    for service in bed.services:
        bed.replace_pods(service)
    bed.reconcile()
    assert [bed.servers.lets_in(Server.DATABASE, one) for one in (before, after)] == [False, True]
    assert bed.jobs == 0
    bed.assert_one_generation()


def test_a_server_that_is_away_keeps_it_from_beginning(bed: AdministratorsBed) -> None:
    bed.servers.down = {Server.BROKER}
    bed.ask("messaging")
    bed.reconcile()
    assert bed.rotation("messaging")["phase"] == "Waiting"
    assert "does not answer" in bed.rotation("messaging")["message"]
    assert "admin-password-next" not in bed.texts(MESSAGING)


def test_what_else_the_secret_has_is_rotated_where_the_server_takes_no_other_password(
    bed: AdministratorsBed,
) -> None:
    before = bed.texts(IDENTITY)
    bed.servers.refusing = {Server.KEYSTONE}
    bed.set_spec({"features": {"credentialRotation": {"every": "90d"}}})
    bed.clock.advance(90 * 86400)
    bed.settle(60)
    after = bed.texts(IDENTITY)
    changed = {key for key in after if before.get(key) != after[key]}
    assert changed == {"account-suffix", "database-password"}
    told = [text for _, reason, text in bed.events.seen if reason == "RotationRefused"]
    assert told == [f"Secret {IDENTITY}: admin-password stays: it refuses a password change"]
    assert bed.texts("compute-credentials")["account-suffix"] == "-2"
    bed.assert_one_generation()


def test_a_server_that_takes_no_other_password_refuses_a_rotation_of_nothing_else(
    bed: AdministratorsBed,
) -> None:
    before = bed.texts(MESSAGING)
    bed.servers.refusing = {Server.BROKER}
    bed.ask("messaging")
    bed.reconcile()
    assert bed.texts(MESSAGING) == before
    assert ROTATE not in bed.notes("messaging")
    bed.assert_one_generation()


def test_killed_after_the_server_was_informed_it_goes_on_without_another_request(
    bed: AdministratorsBed,
) -> None:
    def kill() -> None:
        raise Killed

    bed.ask("identity")
    bed.servers.after_change = kill
    with pytest.raises(Killed):
        bed.reconcile()
    bed.restart()
    bed.servers.after_change = lambda: None
    bed.kube.merge_patch(SECRET, IDENTITY, NS, {"metadata": {"annotations": {ROTATE: None}}})
    assert bed.own_containers_are_refused
    bed.reconcile()
    assert not bed.own_containers_are_refused
    bed.settle()
    bed.assert_one_generation()


def test_a_write_that_is_refused_after_the_server_was_informed_is_reported_and_tried_again(
    bed: AdministratorsBed,
) -> None:
    writes = 0

    def refuse(request: Request) -> None:
        nonlocal writes
        writes += request.name == IDENTITY and request.verb == "replace"
        if writes > 1 and request.name == IDENTITY:
            raise Forbidden("secrets are forbidden")

    bed.ask("identity")
    bed.kube.before_write = refuse
    for _ in range(2):
        bed.reconcile()
        assert "the API server refuses" in bed.rotation("identity")["message"]
    assert bed.own_containers_are_refused
    bed.kube.before_write = lambda request: None
    bed.reconcile()
    assert not bed.own_containers_are_refused
    bed.settle()
    bed.assert_one_generation()


@pytest.mark.parametrize("gone", ["admin-password", "admin-password-next"])
def test_what_is_lost_meanwhile_is_there_again_and_not_from_an_earlier_record(
    bed: AdministratorsBed, gone: str
) -> None:
    bed.ask("messaging")
    bed.reconcile()
    after = bed.texts(MESSAGING)["admin-password"]
    bed.edit_secret(MESSAGING, {gone: None})
    bed.reconcile()
    assert bed.texts(MESSAGING)["admin-password"] == bed.texts(MESSAGING)["admin-password-next"] == after
    bed.settle()
    bed.assert_one_generation()


def test_of_a_secret_that_is_lost_meanwhile_no_earlier_record_is_believed(bed: AdministratorsBed) -> None:
    bed.ask("identity")
    bed.reconcile()
    bed.kube.delete(SECRET, IDENTITY, NS)
    bed.reconcile()
    assert "admin-password" not in bed.texts(IDENTITY)
    assert any("admin-password existed and is gone" in one[2] for one in bed.events.seen)


def test_brokers_that_let_in_only_certificates_are_left_alone(bed: AdministratorsBed) -> None:
    bed.edit("image", lambda values: values.update(tls={"oslo_messaging": True}))
    bed.upgrade("image")
    bed.replace_pods("image")
    bed.ask("messaging")
    bed.reconcile()
    assert "only clients with a certificate" in bed.events.seen[-1][2]


def test_no_schedule_has_brokers_and_databases_start_again(bed: AdministratorsBed) -> None:
    bed.set_spec({"features": {"credentialRotation": {"every": "1d"}}})
    bed.clock.advance(10 * 86400)
    bed.reconcile()
    assert "nextRotation" in bed.published("identity")
    for service in ("messaging", "database"):
        assert "nextRotation" not in bed.published(service)
        assert "rotation" not in bed.published(service)


# What lies before a step lies after the one before it.
KILLED = [
    (*one, after) for one in (("identity", 10), ("messaging", 7), ("database", 7)) for after in (False, True)
]
KILLED_DAILY = (("identity", 10, True), ("messaging", 7, False))


def rotated(service: str, nth: int = 0, *, after: bool = False) -> int:
    """Rotates, with a kill before or after the nth step of all: a write, or a change on a server."""
    bed = AdministratorsBed()
    bed.ask(service)
    passes = KilledPasses(bed, nth, after=after)
    passes.settle(16)
    assert ROTATE not in bed.notes(service)
    bed.assert_one_generation()
    return passes.steps


@pytest.mark.parametrize(("service", "least", "after"), swept(KILLED, KILLED_DAILY))
def test_killed_at_each_step_one_generation_is_left(service: str, least: int, after: bool) -> None:
    steps = rotated(service)
    assert steps >= least
    for nth in range(1, steps + 1):
        assert rotated(service, nth, after=after) >= nth


def paused_after_a_kill(service: str, nth: int, *, after: bool) -> int:
    """Rotates, killed before or after the nth step, and paused from then on for some passes."""
    bed = AdministratorsBed()
    server, key = WHERE[service]
    bed.ask(service)
    passes = KilledPasses(bed, nth, after=after)
    passes.run()
    while passes.steps < nth:
        passes.follow()
        passes.run()
    bed.set_mode("Paused")
    revisions = [bed.deployed(one) for one in bed.services]
    for _ in range(3):
        bed.reconcile()
        bed.clock.advance(300)
    assert bed.servers.lets_in(server, bed.texts(f"{service}-credentials")[key])
    assert not bed.own_containers_are_refused
    assert revisions == [bed.deployed(one) for one in bed.services]
    bed.set_mode("Apply")
    passes.settle(16)
    bed.assert_one_generation()
    return passes.steps


@pytest.mark.parametrize(
    ("service", "last", "after"),
    swept(
        [
            (*one, after)
            for one in (("identity", 8), ("messaging", 6), ("database", 6))
            for after in (False, True)
        ],
        daily=(("identity", 8, True), ("database", 6, False)),
    ),
)
def test_killed_at_any_step_and_paused_the_secret_has_what_the_server_knows(
    service: str, last: int, after: bool
) -> None:
    for nth in range(1, last + 1):
        assert paused_after_a_kill(service, nth, after=after) >= nth


def test_what_the_server_does_not_know_yet_it_does_not_learn_in_a_pause(bed: AdministratorsBed) -> None:
    def kill() -> None:
        raise Killed

    bed.ask("identity")
    bed.servers.before_change = kill
    with pytest.raises(Killed):
        bed.reconcile()
    bed.restart()
    bed.set_mode("Paused")
    before, known = bed.texts(IDENTITY), dict(bed.servers.administrators)
    assert "admin-password-next" in before
    bed.servers.logins.clear()
    for _ in range(3):
        bed.reconcile()
    assert (bed.texts(IDENTITY), bed.servers.administrators) == (before, known)
    assert bed.rotation("identity")["phase"] == "Waiting"
    # A login that fails counts against the account.
    assert before["admin-password-next"] not in bed.servers.logins


def sequence(seed: int, steps: int) -> None:
    """Kills, rotations, outages, losses, upgrades that began before and end after, and brokers that start
    again with what they had: in the end all have what the Secrets say."""
    bed = AdministratorsBed()
    chance = random.Random(seed)
    bed.members_set_it = chance.random() < 0.5
    begun: list[tuple[str, dict[str, object]]] = []

    def begin_upgrade() -> None:
        service = chance.choice(bed.services)
        if bed.resolvable(service):
            begun.append((service, bed.resolved(service)))

    def end_upgrade() -> None:
        if begun:
            bed.upgrade_to(*begun.pop(0))

    def lose() -> None:
        service = chance.choice(list(WHERE))
        name = f"{service}-credentials"
        begun_here = "osctl.dev/rotation" in bed.notes(service)
        password = WHERE[service][1]
        keys = [password, *([f"{password}-next"] if begun_here else [])]
        key = chance.choice([key for key in keys if key in bed.texts(name)] or ["of-others"])
        if begun_here and not {*keys} <= bed.texts(name).keys():
            return  # both places of one password at once: only a person can bring it back
        bed.edit_secret(name, {key: None})

    def outage() -> None:
        bed.servers.down = set(chance.sample(sorted(Server), chance.randint(0, 1)))

    steps_of = [
        *[partial(killed_by_chance, bed, chance, servers=True)] * 8,
        *[begin_upgrade, end_upgrade] * 3,
        *[lambda: bed.replace_pods(chance.choice(bed.services))] * 3,
        lambda: bed.ask(chance.choice([*WHERE, "image"])),
        lambda: bed.clock.advance(chance.choice((1, 60, 86400))),
        lose,
        outage,
    ]
    for _ in range(steps):
        chance.choice(steps_of)()
        assert bed.failures() == []
        assert not bed.database_is_ill
    bed.servers.down = set()
    while begun:
        end_upgrade()
    bed.settle(60)
    bed.assert_one_generation()
    assert not bed.is_told("CredentialsEdited")
    bed.assert_rests()


@pytest.mark.parametrize("seed", swept(range(10), daily=range(4)))
def test_after_any_sequence_servers_and_releases_agree(seed: int) -> None:
    sequence(seed, 80)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_after_any_of_many_sequences_servers_and_releases_agree(seed: int) -> None:
    sequence(seed, 250)
