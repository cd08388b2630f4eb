"""Certificates of our own are such that OpenSSL, Python at its strictest and GnuTLS's rules take them."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from controller.domain.credentials.sealing.encrypted_keys import encrypted
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import (
    Authority,
    AuthorityUnusable,
    LeafNames,
    authority_validity,
    authority_weakness,
    bundle,
    holds,
    is_signed_by,
    parse_authority,
    read_leaf,
    validity,
)
from sandbox.patience import patient
from tests.fakes.world import FakeRandomness

NOW = 1_790_000_000.0
DAY = 86400.0
NAMES = LeafNames(
    "keystone-tls-api", ("keystone-api", "keystone-api.openstack.svc"), ("192.0.2.7", "2001:db8::7")
)


def authority(seed: int = 1, begin: float = NOW - DAY, end: float = NOW + 1000 * DAY) -> Authority:
    return new_authority("OpenStack openstack/region-one", begin, end, FakeRandomness(seed))


def intermediate(
    root: Authority,
    *more: tuple[x509.ExtensionType, bool],
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None = None,
    end: float | None = None,
    itself: bool = False,
) -> tuple[str, str]:
    """An authority below another one, as an operator has it: certificate and key. `more`: extensions, each
    critical or not; `itself`: it is a root."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    above = x509.load_pem_x509_certificate(root.chain.encode())
    signing = serialization.load_pem_private_key(root.key.encode(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "below")])
    above_name, signer = (own, key) if itself else (above.subject, signing)
    builder = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(above_name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(above.not_valid_before_utc)
        .not_valid_after(datetime.fromtimestamp(end, UTC) if end else above.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    for extension, critical in more:
        builder = builder.add_extension(extension, critical)
    made = builder.sign(signer, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def without_path_length(seed: int = 3, *, end: float = NOW + 1000 * DAY) -> Authority:
    """A root that lets others sign below it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"root {seed}")])
    other = x509.load_pem_x509_certificate(authority(end=end).chain.encode())
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(seed)
        .not_valid_before(other.not_valid_before_utc)
        .not_valid_after(other.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Authority(pem, pem, private.decode())


def test_openssl_verifies_a_leaf_at_its_strictest(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here")
    root = authority()
    leaf = new_leaf(NAMES, NOW - 300, NOW + 30 * DAY, root, FakeRandomness(2))
    (tmp_path / "ca.crt").write_text(root.anchors)
    (tmp_path / "tls.crt").write_text(leaf.chain)
    for purpose in ("sslserver", "sslclient"):
        command = [openssl, "verify", "-x509_strict", "-attime", str(int(NOW)), "-purpose", purpose]
        command += ["-verify_hostname", "keystone-api.openstack.svc"]
        command += ["-CAfile", str(tmp_path / "ca.crt"), str(tmp_path / "tls.crt")]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr


def test_the_same_randomness_makes_the_same_certificates() -> None:
    made = [new_leaf(NAMES, NOW, NOW + DAY, authority(), FakeRandomness(2)) for _ in range(2)]
    assert made[0] == made[1]


def test_two_authorities_of_a_region_have_two_names() -> None:
    subjects = {x509.load_pem_x509_certificate(authority(seed).chain.encode()).subject for seed in range(9)}
    assert len(subjects) == 9


def test_a_leaf_is_not_valid_for_longer_than_what_signs_it() -> None:
    root = authority(end=NOW + 5 * DAY)
    leaf = new_leaf(NAMES, NOW, NOW + 30 * DAY, root, FakeRandomness(2))
    assert validity(leaf.chain)[1] == NOW + 5 * DAY


def test_a_leaf_shows_what_it_stands_for_and_who_signed_it() -> None:
    root = authority()
    leaf = new_leaf(NAMES, NOW, NOW + DAY, root, FakeRandomness(2))
    facts = read_leaf(leaf.chain, leaf.key)
    assert facts is not None
    assert facts.covers(NAMES)
    assert not facts.covers(LeafNames("x", ("other",)))
    assert is_signed_by(leaf.chain, root)
    assert not is_signed_by(leaf.chain, authority(5))
    assert read_leaf(leaf.chain, authority(5).key) is None
    assert read_leaf("nothing", "nothing") is None


def test_a_bundle_has_the_same_text_in_whatever_order_it_is_put_together() -> None:
    first, second, ended = authority(1), authority(2), authority(3, end=NOW - 1)
    both = bundle((first.anchors, second.anchors, first.anchors))
    assert both == bundle((second.anchors, first.anchors))
    assert bundle((both, ended.anchors), NOW) == both
    assert holds(both, first.anchors)
    assert not holds(first.anchors, both)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["curve", "rsa"])
def test_an_authority_below_another_signs_with_its_chain(kind: str) -> None:
    root = without_path_length()
    key = (
        ec.generate_private_key(ec.SECP384R1()) if kind == "curve" else rsa.generate_private_key(65537, 2048)
    )
    certificate, private = intermediate(root, key=key)
    below = parse_authority(certificate, private, root.anchors)
    leaf = new_leaf(NAMES, NOW, NOW + DAY, below, FakeRandomness(2))
    assert leaf.chain.count("BEGIN CERTIFICATE") == 2
    assert below.anchors == root.anchors
    with pytest.raises(AuthorityUnusable, match=r"add that under .ca\.crt"):
        parse_authority(certificate, private)
    assert parse_authority(certificate + root.chain, private).anchors == root.anchors


def test_a_leaf_is_not_valid_for_longer_than_the_root_above_what_signs_it() -> None:
    root = without_path_length(end=NOW + 5 * DAY)
    certificate, private = intermediate(root, end=NOW + 500 * DAY)
    for below in (
        parse_authority(certificate, private, root.anchors),
        parse_authority(certificate + root.chain, private),
    ):
        assert authority_validity(below)[1] == NOW + 5 * DAY
        leaf = new_leaf(NAMES, NOW, NOW + 30 * DAY, below, FakeRandomness(2))
        assert validity(leaf.chain)[1] == NOW + 5 * DAY


def test_of_several_roots_the_one_that_lasts_longest_counts() -> None:
    root, unrelated = without_path_length(), authority(9, end=NOW + DAY)
    certificate, private = intermediate(root, end=NOW + 500 * DAY)
    below = parse_authority(certificate, private, root.anchors + unrelated.anchors)
    assert authority_validity(below)[1] == NOW + 500 * DAY


def _usage(*, signs: bool) -> x509.KeyUsage:
    names = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement crl_sign "
        "encipher_only decipher_only"
    )
    return x509.KeyUsage(key_cert_sign=signs, **dict.fromkeys(names.split(), False))


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        (_usage(signs=False), "may not sign certificates"),
        (x509.NameConstraints([x509.DNSName("example.org")], None), "name constraints"),
        (x509.SubjectAlternativeName([x509.OtherName(x509.ObjectIdentifier("1.2.3"), b"\x05\x00")]), ""),
        (x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.17"), b"\x30\x02\xa3\x00"), "be read"),
        (x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.15"), b"no usage"), "be read"),
    ],
)
def test_whom_no_client_would_believe_is_no_authority(extension: x509.ExtensionType, words: str) -> None:
    root = without_path_length()
    certificate, private = intermediate(root, (extension, True))
    if not words:
        assert parse_authority(certificate, private, root.anchors).usable
        return
    with pytest.raises(AuthorityUnusable, match=words):
        parse_authority(certificate, private, root.anchors)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (rsa.generate_private_key(65537, 1024), "RSA key .* has 1024 bits"),
        (ec.generate_private_key(ec.SECP192R1()), "curve key .* has 192 bits"),
        (rsa.generate_private_key(65537, 2048), ""),
    ],
)
def test_an_authority_whose_leaves_clients_refuse_as_weak_is_reported(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, words: str
) -> None:
    root = without_path_length()
    certificate, private = intermediate(root, key=key)
    found = authority_weakness(parse_authority(certificate, private, root.anchors))
    assert re.search(words, found) if words else found == ""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
@pytest.mark.parametrize("hash_", ["sha1", "md5"])
def test_an_authority_whose_signature_clients_refuse_is_reported(tmp_path: Path, hash_: str) -> None:
    """The root's own, of long ago, counts for no one: it is trusted because someone says so."""
    root, below = tmp_path / "root", tmp_path / "below"
    own = ["-addext", "basicConstraints=critical,CA:TRUE", "-nodes", "-newkey", "rsa:2048", "-days", "99"]

    def signed(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=patient(60))

    def read(path: Path) -> tuple[str, str]:
        return path.with_suffix(".crt").read_text(), path.with_suffix(".key").read_text()

    files = [
        ["-out", f"{one}.crt", "-keyout", f"{one}.key", "-subj", f"/CN={one.name}"] for one in (root, below)
    ]
    signed("req", "-x509", f"-{hash_}", *own, *files[0])
    signed("req", "-x509", f"-{hash_}", *own, *files[1], "-CA", f"{root}.crt", "-CAkey", f"{root}.key")
    assert parse_authority(*read(root)).usable
    with pytest.raises(AuthorityUnusable, match=f"signed with {hash_.upper()}, which clients refuse"):
        parse_authority(*read(below), read(root)[0])


def test_a_key_under_a_passphrase_is_reported() -> None:
    root = authority()
    key = encrypted(root.key, "a passphrase")
    with pytest.raises(AuthorityUnusable, match="is encrypted"):
        parse_authority(root.chain, key)


def test_an_authority_below_one_that_lets_none_sign_below_it_is_refused() -> None:
    root = authority()  # with a path length of 0
    certificate, private = intermediate(root)
    with pytest.raises(AuthorityUnusable, match="path length"):
        parse_authority(certificate, private, root.anchors)


def test_what_is_no_authority_is_refused_without_a_word_of_its_content() -> None:
    root, other = authority(), authority(2)
    leaf = new_leaf(NAMES, NOW, NOW + DAY, root, FakeRandomness(2))
    for chain, key, words in (
        ("", root.key, "no readable certificate"),
        (leaf.chain, leaf.key, "not one of an authority"),
        (root.chain, other.key, "does not belong"),
        (root.chain, "secret of mine", "not a private key"),
    ):
        with pytest.raises(AuthorityUnusable, match=words) as caught:
            parse_authority(chain, key)
        assert "secret of mine" not in str(caught.value)
    assert root.key not in repr(root)
    assert leaf.key not in repr(leaf)


def test_python_trusts_a_leaf_under_its_strictest_flags(tmp_path: Path) -> None:
    root = authority(begin=0, end=4_000_000_000)
    leaf = new_leaf(NAMES, 0, 4_000_000_000, root, FakeRandomness(2))
    pem = tmp_path / "leaf.pem"
    pem.write_text(leaf.chain + leaf.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    client = ssl.create_default_context(cadata=root.anchors)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="keystone-api"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ends[0].getpeercert()


def test_an_authority_that_its_anchors_did_not_sign_is_refused() -> None:
    root, other = without_path_length(), without_path_length(4)
    chain, key = intermediate(root, key=ec.generate_private_key(ec.SECP256R1()))
    assert parse_authority(chain, key, root.chain)
    assert parse_authority(chain, key, other.chain + root.chain)
    assert parse_authority(chain + root.chain, key, root.chain)
    with pytest.raises(AuthorityUnusable, match=r'no certificate in its "ca.crt" signed'):
        parse_authority(chain, key, other.chain)
    with pytest.raises(AuthorityUnusable, match=r'no certificate in its "ca.crt" signed'):
        parse_authority(root.chain, root.key, other.chain)


def test_a_chain_with_a_link_that_does_not_fit_is_refused() -> None:
    root, other = without_path_length(), without_path_length(4)
    chain, key = intermediate(root, key=ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(AuthorityUnusable, match="must be signed by the next"):
        parse_authority(chain + other.chain, key, other.chain)
