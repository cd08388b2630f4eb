"""The two authorities between Octavia and its amphorae: whoever lives is reached; by real handshakes, too."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.api.reasons import Reason
from controller.domain.credentials.amphora_certificates import (
    AMPHORA_AUTHORITY_LIFE,
    BACKDATED_AUTHORITY,
    CLIENT_NAMES,
    MountedCertificates,
    client_change,
    mark_of,
    mounted_certificates,
    mounted_texts,
    plan_client,
    plan_server,
)
from controller.domain.credentials.authority import (
    AuthorityRecord,
    StoredLeaf,
    is_current,
    leaf_begin,
    leaf_end,
)
from controller.domain.credentials.certificate_lifetimes import DAY
from controller.domain.credentials.certificate_secrets import parse_record, record_texts
from controller.domain.credentials.sealing.encrypted_keys import decrypted, encrypted, is_passphrase
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import Authority, AuthorityUnusable, holds, is_anchored, validity
from tests.fakes.world import FakeRandomness

START = 1_790_000_000.0
WORDS = "pass-words"
# As Octavia has them by default (certificates.cert_validity_time, house_keeping.cert_expiry_buffer).
VALIDITY, BUFFER = 30 * DAY, 14 * DAY


@dataclass
class Amphora:
    """What one has: by whom its certificate is signed and until when, and whom it trusts."""

    issuer: str
    end: float
    trusts: str


@dataclass
class World:
    """The Secrets of a region, its amphorae, and an operator who does what is said."""

    now: float = START
    server: dict[str, str] = field(default_factory=dict)
    client: dict[str, str] = field(default_factory=dict)
    mounted: dict[str, str] = field(default_factory=dict)
    word: str = ""
    amphorae: list[Amphora] = field(default_factory=list)
    said: list[Reason] = field(default_factory=list)
    random: FakeRandomness = field(default_factory=FakeRandomness)

    def make(self) -> Authority:
        begin, end = self.now - BACKDATED_AUTHORITY, self.now + AMPHORA_AUTHORITY_LIFE
        return new_authority("test", begin, end, self.random)

    @property
    def there(self) -> MountedCertificates:
        return mounted_certificates(self.mounted)

    @property
    def records(self) -> tuple[AuthorityRecord, AuthorityRecord]:
        server, client = parse_record(self.server), parse_record(self.client)
        assert server
        assert client
        return server, client

    def turn(self, writes: int = 3) -> None:
        """A pass that is killed after so many writes."""
        server = plan_server(parse_record(self.server), self.there, now=self.now, make=self.make)
        client = plan_client(
            parse_record(self.client), self.there, trusted_by_all=self.word, now=self.now, make=self.make
        )
        if writes > 0:
            self.server = record_texts(server.record, None)
        if writes > 1:
            self.client = record_texts(client.record, None)
        if writes > 2:
            self.said += [step.reason for step in (server, client) if step.reason]
            leaf = self.leaf(client.record)
            self.mounted = mounted_texts(server.record, leaf, WORDS, self.there)

    def leaf(self, record: AuthorityRecord) -> StoredLeaf:
        there = self.there.client
        if is_current(there, CLIENT_NAMES, record, self.now):
            return replace(there, trusted=record.bundle)
        assert record.signer
        pair = new_leaf(CLIENT_NAMES, leaf_begin(record), leaf_end(record), record.signer, self.random)
        return StoredLeaf(pair.chain, pair.key, record.bundle)

    def boot(self) -> None:
        self.amphorae.append(Amphora(self.there.issuing, self.now + VALIDITY, self.there.client.trusted))

    def reaches(self, amphora: Amphora) -> bool:
        """Whether Octavia and the amphora know each other."""
        begin, end = validity(self.there.client.chain)
        return (
            self.now < amphora.end
            and holds(self.there.server_trusted, amphora.issuer)
            and begin <= self.now < end
            and is_anchored(self.there.client.chain, amphora.trusts)
        )

    def live(self, days: float) -> None:
        """Octavia's housekeeping renews what it reaches; the operator fails over and says so when asked."""
        self.now += days * DAY
        self.turn()
        for one in self.amphorae:
            assert self.reaches(one)
            if one.end < self.now + BUFFER:
                one.issuer, one.end = self.there.issuing, self.now + VALIDITY
        change = client_change(self.records[1], self.there.client)
        if change is not None and change.is_urgent(self.now):
            assert self.now < change.until
            for _ in range(len(self.amphorae)):
                self.amphorae.pop(0)
                self.boot()
            self.word = change.mark
            self.turn()
            assert all(map(self.reaches, self.amphorae))

    def check(self) -> None:
        """What is mounted belongs together."""
        there = self.there
        assert there.server
        assert there.server.chain == there.issuing
        assert holds(there.server_trusted, there.issuing)
        assert is_anchored(there.client.chain, there.client.trusted)


@pytest.fixture
def world() -> World:
    made = World()
    made.turn()
    return made


ACTIONS = st.one_of(
    st.sampled_from(["boot", "year", "lose server", "lose client", "lose mounted"]),
    st.integers(1, 10),
    st.sampled_from(["kill 0", "kill 1", "kill 2"]),
)


@pytest.mark.slow
@given(st.lists(ACTIONS, max_size=25))
@settings(max_examples=60, deadline=None)
def test_all_that_are_alive_are_reached_whatever_happens(actions: list[str | int]) -> None:
    world = World()
    world.turn()
    for action in actions:
        if isinstance(action, int):
            world.live(action)
        elif action == "boot":
            world.boot()
        elif action == "year":
            for _ in range(37):
                world.live(10)
        elif action.startswith("kill"):
            world.turn(int(action[-1]))
        elif action == "lose server":
            world.server = {}
        elif action == "lose client":
            world.client = {}
        elif world.server and world.client:
            world.mounted = {}
        world.turn()
        world.check()


@pytest.mark.slow
def test_a_life_of_thirty_years_loses_no_amphora(world: World) -> None:
    world.boot()
    first = world.records
    for _ in range(3 * 365):
        world.live(10)
    world.check()
    server, client = world.records
    assert first[0].active
    assert first[1].active
    assert not holds(server.bundle, first[0].active.chain)  # it has ended
    assert not holds(client.bundle, first[1].active.chain)
    assert Reason.AUTHORITY_LOST not in world.said
    assert world.mounted["server_ca-chain.cert.pem"].count("BEGIN") <= 3


@pytest.mark.slow
def test_what_is_renewed_comes_once_a_generation(world: World) -> None:
    for _ in range(61):
        world.live(1)
    assert world.said.count(Reason.CERTIFICATES_RENEWED) == 2
    before = world.mounted
    world.turn()
    assert world.mounted == before


def test_a_key_stays_as_it_is_while_it_is_the_same_one(world: World) -> None:
    before = world.mounted["server_ca.key.pem"]
    server, _ = world.records
    leaf = world.there.client
    assert mounted_texts(server, leaf, WORDS, world.there)["server_ca.key.pem"] == before
    assert server.active
    other = mounted_texts(server, leaf, "other", world.there)
    assert decrypted(other["server_ca.key.pem"], "other") == server.active.key
    assert other["passphrase"] in other["passphrase.conf"]


def test_nothing_can_sign_without_a_key() -> None:
    made = World().make()
    without = AuthorityRecord(START, replace(made, key=""))
    with pytest.raises(AuthorityUnusable, match="cannot be signed"):
        mounted_texts(without, StoredLeaf(), WORDS, MountedCertificates())


@pytest.mark.parametrize("key", ["server_ca.key.pem", "passphrase"])
def test_a_server_authority_without_its_key_is_replaced_and_stays_trusted(world: World, key: str) -> None:
    world.boot()
    world.server = {}
    world.mounted = {**world.mounted, key: "none"}
    before = world.there.issuing
    world.turn()
    assert world.said[-1] is Reason.AUTHORITY_LOST
    assert world.there.issuing != before
    assert all(map(world.reaches, world.amphorae))


def test_marks_of_authorities_differ(world: World) -> None:
    assert mark_of(world.make()) != mark_of(world.make())


@pytest.mark.parametrize(
    ("text", "fits"),
    [("a", True), ("$%#;!", True), ("", False), ("a b", False), ("a'b", False), ("é", False), ("a\n", False)],
)
def test_a_passphrase_stands_in_a_file_of_options_as_it_is(text: str, fits: bool) -> None:
    assert is_passphrase(text) is fits


def test_a_key_under_a_passphrase_opens_with_that_alone() -> None:
    key = World().make().key
    text = encrypted(key, WORDS)
    assert "ENCRYPTED" in text
    assert decrypted(text, WORDS) == key
    assert decrypted(text, "other") == decrypted("none", WORDS) == ""


def signed_by_octavia(mounted: Mapping[str, str], name: str) -> str:
    """Certificate and key of an amphora, as Octavia's local generator makes them (octavia:
    certificates/generator/local.py, sign_cert): with the files and the passphrase of the Secret."""
    authority = x509.load_pem_x509_certificate(mounted["server_ca.cert.pem"].encode())
    signing = serialization.load_pem_private_key(
        mounted["server_ca.key.pem"].encode(), mounted["passphrase"].encode()
    )
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    usage = dict.fromkeys(
        ("digital_signature", "key_encipherment", "data_encipherment", "key_agreement"), True
    ) | dict.fromkeys(
        ("content_commitment", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"), False
    )
    now = datetime.now(UTC)
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    made = (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=30))
        .issuer_name(authority.subject)
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=True)
        .sign(signing, hashes.SHA256())  # type: ignore[arg-type]
    )
    form, none = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    return made.public_bytes(pem).decode() + key.private_bytes(pem, form, none).decode()


def known(server: str, client_ca: str, mounted: Mapping[str, str], name: str, shown: str, at: Path) -> bool:
    """Whether an amphora that shows `server` and trusts `client_ca`, and Octavia that shows `shown`, know
    each other: a handshake in memory, with both flights."""
    (at / "server.pem").write_text(server)
    (at / "client.pem").write_text(shown)
    amphora, octavia = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    amphora.load_cert_chain(at / "server.pem")
    amphora.load_verify_locations(cadata=client_ca)
    amphora.verify_mode = ssl.CERT_REQUIRED
    octavia.load_cert_chain(at / "client.pem")
    octavia.load_verify_locations(cadata=mounted["server_ca-chain.cert.pem"])
    pipes = [ssl.MemoryBIO() for _ in range(2)]
    server_end = amphora.wrap_bio(pipes[0], pipes[1], server_side=True)
    client_end = octavia.wrap_bio(pipes[1], pipes[0], server_hostname=name)
    try:
        for _ in range(4):
            for end in (client_end, server_end):
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        server_end.write(b"ping")
        return client_end.read(4) == b"ping"
    except (ssl.SSLError, ssl.CertificateError):
        return False


NAME = "7c1b2a3e-0d4f-4a5b-9c6d-7e8f9a0b1c2d"


@pytest.fixture
def today() -> World:
    made = World(now=time.time())
    made.turn()
    return made


@pytest.mark.slow
def test_octavia_and_an_amphora_shake_hands(today: World, tmp_path: Path) -> None:
    mounted = today.mounted
    server, trusted = signed_by_octavia(mounted, NAME), mounted["client_ca.cert.pem"]
    shown = mounted["client.cert-and-key.pem"]
    assert known(server, trusted, mounted, NAME, shown, tmp_path)
    assert not known(server, trusted, mounted, "another-name", shown, tmp_path)


@pytest.mark.slow
def test_an_amphora_commands_no_other(today: World, tmp_path: Path) -> None:
    mounted = today.mounted
    server, other = (signed_by_octavia(mounted, name) for name in (NAME, "other"))
    assert not known(server, mounted["client_ca.cert.pem"], mounted, NAME, other, tmp_path)


def test_octavia_of_another_region_is_refused_and_does_not_believe(today: World, tmp_path: Path) -> None:
    other = World(now=today.now, random=FakeRandomness(77))
    other.turn()
    server, trusted = signed_by_octavia(today.mounted, NAME), today.mounted["client_ca.cert.pem"]
    mine, theirs = (one.mounted["client.cert-and-key.pem"] for one in (today, other))
    assert not known(server, trusted, today.mounted, NAME, theirs, tmp_path)
    assert not known(server, trusted, other.mounted, NAME, mine, tmp_path)
