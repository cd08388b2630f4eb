"""A sealed file opens with its passphrase only, and tells when it was changed."""

from __future__ import annotations

import json

import pytest

from controller.domain.credentials.sealing import sealed_file
from controller.domain.credentials.sealing.sealed_file import seal, unseal
from controller.errors import BackupUnusable
from tests.fakes.world import FakeRandomness

CONTENT = b'{"a": "secret text"}' * 20
WORDS = "correct horse battery"
# The real one takes half a second.
COST = 16


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_file, "_LEAST_COST", COST)


@pytest.fixture
def sealed() -> bytes:
    return seal(CONTENT, WORDS, FakeRandomness(1), cost=COST)


def test_its_passphrase_opens_it(sealed: bytes) -> None:
    assert unseal(sealed, WORDS) == CONTENT


def test_it_shows_nothing_of_what_is_in_it(sealed: bytes) -> None:
    assert b"secret" not in sealed and WORDS.encode() not in sealed
    assert sealed.isascii() and max(map(len, sealed.splitlines()[1:])) <= 76


def test_a_backup_that_cannot_be_restored_is_not_written(
    sealed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_file, "LARGEST_FILE", len(sealed))
    assert seal(CONTENT, WORDS, FakeRandomness(1), cost=COST) == sealed
    with pytest.raises(BackupUnusable, match="more than the limit of"):
        seal(CONTENT * 2, WORDS, FakeRandomness(1), cost=COST)


@pytest.mark.slow
@pytest.mark.timeout(20)
def test_many_megabytes_are_sealed_in_little_time() -> None:
    many = CONTENT * 20_000
    assert unseal(seal(many, WORDS, FakeRandomness(1), cost=COST), WORDS) == many


def test_two_of_the_same_content_differ() -> None:
    one, other = (seal(CONTENT, WORDS, FakeRandomness(seed), cost=COST) for seed in (1, 2))
    assert one.splitlines()[1] != other.splitlines()[1]


def test_another_passphrase_does_not(sealed: bytes) -> None:
    with pytest.raises(BackupUnusable, match="passphrase"):
        unseal(sealed, WORDS + "!")


@pytest.mark.parametrize("where", [-2, -40, 400])
def test_a_changed_octet_is_noticed(sealed: bytes, where: int) -> None:
    octets = bytearray(sealed)
    octets[where] = ord("A") if octets[where] != ord("A") else ord("B")
    with pytest.raises(BackupUnusable):
        unseal(bytes(octets), WORDS)


def test_a_file_that_is_cut_off_is_noticed(sealed: bytes) -> None:
    with pytest.raises(BackupUnusable):
        unseal(sealed[:-60], WORDS)


def test_its_first_line_is_sealed_too(sealed: bytes) -> None:
    line, _, rest = sealed.partition(b"\n")
    with pytest.raises(BackupUnusable, match="changed"):
        unseal(line + b" \n" + rest, WORDS)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"},
        {"version": 2},
        {"kdf": {"name": "scrypt", "n": 2**40, "r": 8, "p": 1, "salt": "AAAA"}},
        {"kdf": {"name": "scrypt", "n": 2, "r": 8, "p": 1, "salt": "AAAA"}},
        {"kdf": {"name": "scrypt", "n": 17, "r": 8, "p": 1, "salt": "AAAA"}},
        {"kdf": {"name": "scrypt", "n": 16, "r": 2**20, "p": 1, "salt": "AAAA"}},
        {"kdf": "none"},
        {"cipher": {"name": "none", "nonce": "AAAA"}},
    ],
)
def test_what_was_made_in_another_way_is_refused_before_it_costs_anything(
    sealed: bytes, change: dict[str, object]
) -> None:
    line, _, rest = sealed.partition(b"\n")
    with pytest.raises(BackupUnusable):
        unseal(json.dumps({**json.loads(line), **change}).encode() + b"\n" + rest, WORDS)


@pytest.mark.parametrize("data", [b"", b"\n", b"[]\n", b"apiVersion: v1\n", b"[" * 100_000, b"\xff\n"])
def test_any_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(BackupUnusable):
        unseal(data, WORDS)
