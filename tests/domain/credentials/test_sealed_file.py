"""A sealed file opens with its passphrase only, and tells when it was changed."""

from __future__ import annotations

import base64
import json

import pytest

from controller.domain.credentials.sealing import sealed_file
from controller.domain.credentials.sealing.sealed_file import seal, unseal
from controller.errors import BackupUnusable
from tests.domain.credentials.former_file import former_file
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


@pytest.fixture
def former() -> bytes:
    return former_file(CONTENT, WORDS, COST)


def test_its_passphrase_opens_it(sealed: bytes) -> None:
    assert unseal(sealed, WORDS) == CONTENT


def test_it_shows_nothing_of_what_is_in_it(sealed: bytes) -> None:
    assert b"secret" not in sealed and WORDS.encode() not in sealed
    assert sealed.isascii() and max(map(len, sealed.splitlines())) <= 64


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
    assert not set(one.splitlines()[2:-1]) & set(other.splitlines()[2:-1])


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


def test_a_file_of_a_former_version_is_read(former: bytes) -> None:
    assert unseal(former, WORDS) == CONTENT


def test_a_piece_that_is_lost_or_moved_is_noticed() -> None:
    plain = dearmored(seal(CONTENT * 8000, WORDS, FakeRandomness(1), cost=COST))
    end = plain.index(b"\n---") + 4 + 1 + 43 + 1 + 16
    step = 64 * 1024 + 16
    head, pieces = plain[:end], [plain[start : start + step] for start in range(end, len(plain), step)]
    assert len(pieces) > 2
    assert unseal(head + b"".join(pieces), WORDS) == CONTENT * 8000
    for changed in (pieces[:-1], pieces[1:], [pieces[1], pieces[0], *pieces[2:]], [], [*pieces, pieces[-1]]):
        with pytest.raises(BackupUnusable, match="changed"):
            unseal(head + b"".join(changed), WORDS)


def test_work_that_a_file_may_not_ask_for_is_refused_before_it_is_done(sealed: bytes) -> None:
    plain = dearmored(sealed)
    for work in (b"3", b"21", b"63"):
        with pytest.raises(BackupUnusable, match="work factor"):
            unseal(plain.replace(b" 4\n", b" " + work + b"\n", 1), WORDS)


def test_a_header_that_was_changed_is_noticed(sealed: bytes) -> None:
    plain = dearmored(sealed)
    with pytest.raises(BackupUnusable):
        unseal(plain.replace(b" 4\n", b" 5\n", 1), WORDS)
    mac = plain.index(b"\n--- ") + 5
    other = b"A" if plain[mac : mac + 1] != b"A" else b"B"
    with pytest.raises(BackupUnusable, match="changed"):
        unseal(plain[:mac] + other + plain[mac + 1 :], WORDS)


@pytest.mark.parametrize("size", [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 128 * 1024])
def test_content_of_any_size_comes_back(size: int) -> None:
    content = b"x" * size
    assert unseal(seal(content, WORDS, FakeRandomness(1), cost=COST), WORDS) == content


def dearmored(sealed: bytes) -> bytes:
    return base64.b64decode(b"".join(sealed.splitlines()[1:-1]))


def test_the_first_line_of_a_former_version_is_sealed_too(former: bytes) -> None:
    line, _, rest = former.partition(b"\n")
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
    former: bytes, change: dict[str, object]
) -> None:
    line, _, rest = former.partition(b"\n")
    with pytest.raises(BackupUnusable):
        unseal(json.dumps({**json.loads(line), **change}).encode() + b"\n" + rest, WORDS)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"[]\n",
        b"apiVersion: v1\n",
        b"[" * 100_000,
        b"\xff\n",
        b"age-encryption.org/v1\n-> X25519 AAAA\n",
    ],
)
def test_any_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(BackupUnusable):
        unseal(data, WORDS)
