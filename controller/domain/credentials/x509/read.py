"""Certificates, chains and keys as they are read: whether they fit, who signed them, and when they end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from controller.domain.credentials.x509.signing_path import path_obstacle, weak_key, weak_signature
from controller.errors import ControllerError

if TYPE_CHECKING:  # it takes time to load, and few processes need it
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

    SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_ENCRYPTED = re.compile(r"^(-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED)", re.MULTILINE)


class AuthorityUnusable(ControllerError):
    """An authority's certificate or key is invalid. The text never quotes them."""


@dataclass(frozen=True)
class Authority:
    """A signer, in PEM: `chain` is its certificate, and those between it and an anchor; clients trust
    `anchors`; `key` may be empty."""

    chain: str
    anchors: str
    key: str = field(default="", repr=False)

    @property
    def usable(self) -> bool:
        """Whether it can sign."""
        return bool(self.key)

    def is_same(self, other: Authority | None) -> bool:
        """Whether both are the same authority with the same anchors; keys do not count."""
        if other is None or self.chain != other.chain:
            return False
        return set(_read(self.anchors)) == set(_read(other.anchors))


@dataclass(frozen=True)
class Pair:
    """A certificate, with the chain up to an anchor, and its key, both in PEM."""

    chain: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class LeafNames:
    """The names of a leaf: the common name, DNS names, and addresses."""

    common: str
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeafFacts:
    """The fields of a leaf. `begin` and `end` are in seconds since the epoch."""

    begin: float
    end: float
    names: frozenset[str]
    addresses: frozenset[str]

    def covers(self, names: LeafNames) -> bool:
        """Whether it has all of these names."""
        return self.names >= set(names.names) and self.addresses >= set(names.addresses)


def parse_authority(chain: str, key: str, anchors: str = "") -> Authority:
    """An authority from outside. Raises AuthorityUnusable with the problem."""
    certificates = _read(chain)
    if not certificates:
        raise AuthorityUnusable('its "tls.crt" has no readable certificate')
    if not anchors and not signs_itself(certificates[-1]):
        obstacle = path_obstacle(certificates)
        raise AuthorityUnusable(obstacle or 'its "tls.crt" does not end with a root; add that under "ca.crt"')
    trusted = _read(anchors) or certificates[-1:]
    # The library does not check unsupported signatures.
    if weak := weak_signature(_below_root(certificates)):
        raise AuthorityUnusable(weak)
    if not all(_signed_by(one, above) for one, above in pairwise(certificates)):
        raise AuthorityUnusable('each certificate in its "tls.crt" must be signed by the next')
    roots = [anchor for anchor in trusted if _signed_by(certificates[-1], anchor)]
    if not roots:
        raise AuthorityUnusable('no certificate in its "ca.crt" signed the last one in its "tls.crt"')
    obstacles = [path_obstacle((*_below_root(certificates), root)) for root in roots]
    if all(obstacles):
        raise AuthorityUnusable(obstacles[0])
    found = Authority(_joined(certificates), _joined(trusted), key)
    if _octets(signing_key_of(found).public_key()) != _octets(certificates[0].public_key()):
        raise AuthorityUnusable('its "tls.key" does not belong to its "tls.crt"')
    return found


def authority_weakness(authority: Authority) -> str:
    """Why clients refuse leaves of a valid authority: a key that is too weak; or empty."""
    chain = _read(authority.chain)
    paths = [(*_below_root(chain), one) for one in _read(authority.anchors) if _signed_by(chain[-1], one)]
    return min(map(weak_key, paths), default="")  # the empty one, if it exists


def validity(chain: str) -> tuple[float, float]:
    """When the first certificate begins and ends, in seconds since the epoch. Raises AuthorityUnusable."""
    first = first_certificate(chain)
    return first.not_valid_before_utc.timestamp(), first.not_valid_after_utc.timestamp()


def authority_validity(authority: Authority) -> tuple[float, float]:
    """When it begins and ends, limited by all certificates up to an anchor, and by the longest-lived
    anchor: in seconds since the epoch. Raises AuthorityUnusable."""
    return _path_validity(authority.chain, authority.anchors)


def read_leaf(chain: str, key: str) -> LeafFacts | None:
    """The fields of the first certificate; None if it is unreadable, or the key does not fit."""
    from cryptography import x509

    found = _read(chain)
    own = _read_key(key)
    if not found or own is None:
        return None
    leaf = found[0]
    if _octets(own.public_key()) != _octets(leaf.public_key()):
        return None
    try:
        others = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        others = x509.SubjectAlternativeName([])
    return LeafFacts(
        leaf.not_valid_before_utc.timestamp(),
        leaf.not_valid_after_utc.timestamp(),
        frozenset(others.get_values_for_type(x509.DNSName)),
        frozenset(map(str, others.get_values_for_type(x509.IPAddress))),
    )


def is_signed_by(chain: str, authority: Authority) -> bool:
    """Whether the first certificate of the chain is signed by the authority."""
    found, signer = _read(chain), _read(authority.chain)
    return bool(found) and bool(signer) and _signed_by(found[0], signer[0])


@lru_cache(maxsize=256)
def is_anchored(chain: str, trusted: str) -> bool:
    """Whether a trusted certificate signed the last one of the chain."""
    found = _read(chain)
    return bool(found) and any(_signed_by(found[-1], anchor) for anchor in _read(trusted))


def bundle(parts: Iterable[str], now: float | None = None) -> str:
    """The certificates of all parts in PEM, each once; with `now` without expired ones.

    The text does not depend on their order, because clients restart when it changes.
    """
    found = {one for part in parts for one in _read(part)}
    kept = (one for one in found if now is None or one.not_valid_after_utc.timestamp() > now)
    return _joined(sorted(kept, key=lambda one: one.tbs_certificate_bytes))


def holds(whole: str, part: str) -> bool:
    """Whether every certificate of `part` is one of `whole`."""
    return set(_read(part)) <= set(_read(whole))


def public_digest(*texts: str) -> str:
    """A short digest of public data."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def signing_key_of(authority: Authority) -> SigningKey:
    key = _read_key(authority.key)
    if key is None:
        if _ENCRYPTED.search(authority.key):
            raise AuthorityUnusable('its "tls.key" is encrypted; `openssl pkey` decrypts it')
        raise AuthorityUnusable('its "tls.key" is not a private key of RSA or of an elliptic curve')
    return key


def _read_key(text: str) -> SigningKey | None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) else None


@lru_cache(maxsize=64)
def _path_validity(chain: str, anchors: str) -> tuple[float, float]:
    last = (first_certificate(chain), *_read(chain))[-1]
    roots = [one for one in _read(anchors) if _signed_by(last, one)] or [last]
    path = (*_below_root(_read(chain)), max(roots, key=lambda one: one.not_valid_after_utc))
    return (
        max(one.not_valid_before_utc.timestamp() for one in path),
        min(one.not_valid_after_utc.timestamp() for one in path),
    )


def _below_root(chain: Sequence[x509.Certificate]) -> tuple[x509.Certificate, ...]:
    """Without a root at its end, which the anchors replace."""
    return tuple(one for one in chain if not signs_itself(one))


@lru_cache(maxsize=256)
def _read(pem: str) -> tuple[x509.Certificate, ...]:
    from cryptography import x509

    try:
        return tuple(x509.load_pem_x509_certificates(pem.encode()))
    except (ValueError, x509.InvalidVersion):
        return ()


def first_certificate(pem: str) -> x509.Certificate:
    found = _read(pem)
    if not found:
        raise AuthorityUnusable("the text has no readable certificate")
    return found[0]


def _joined(certificates: Iterable[x509.Certificate]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


def _signed_by(certificate: x509.Certificate, signer: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    if certificate == signer and signs_itself(certificate):
        return True  # an anchor: its signature is not checked, and may be outdated
    try:
        certificate.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def signs_itself(certificate: x509.Certificate) -> bool:
    return certificate.subject == certificate.issuer


def _octets(key: CertificatePublicKeyTypes) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
