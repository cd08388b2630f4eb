"""Certificates that the region makes: authorities, and leaves for servers and clients.

They use only features that OpenSSL, GnuTLS and Python support: keys on P-256, and the key identifiers that
RFC 5280 (4.2.1.1) requires of an issuer. `ssl.VERIFY_X509_STRICT` refuses leaves without them.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from controller.domain.credentials.generate import RandomSource
from controller.domain.credentials.x509.read import (
    Authority,
    LeafNames,
    Pair,
    authority_validity,
    first_certificate,
    signing_key_of,
    signs_itself,
)

if TYPE_CHECKING:  # it takes time to load, and few processes need it
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    from controller.domain.credentials.x509.read import SigningKey

# The order of the group of P-256 (SEC 2, 2.4.2): a private key is below it, and not 0.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_NAME_LENGTH = 64  # of a common name (RFC 5280, A.1: ub-common-name)


def new_authority(name: str, begin: float, end: float, source: RandomSource) -> Authority:
    """A self-signed authority. Its name contains a part of its key, so it is unique.

    `begin` and `end` are in seconds since the epoch.
    """
    from cryptography import x509

    key = _new_key(source)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    mark = identifier.digest.hex()[:12]
    subject = _subject(f"{name[: _NAME_LENGTH - 13]} {mark}")
    builder = (
        _builder(subject, begin, end, key, source)
        .issuer_name(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
    )
    pem = _signed(builder, key)
    return Authority(pem, pem, _pem_of(key))


def new_leaf(names: LeafNames, begin: float, end: float, authority: Authority, source: RandomSource) -> Pair:
    """A leaf for servers and clients, not valid longer than its path. Raises AuthorityUnusable."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    signer, signing_key = first_certificate(authority.chain), signing_key_of(authority)
    key = _new_key(source)
    others: list[x509.GeneralName] = [x509.DNSName(one) for one in names.names]
    others += [x509.IPAddress(ipaddress.ip_address(one)) for one in names.addresses]
    end = min(end, authority_validity(authority)[1])
    builder = (
        _builder(_subject(names.common[:_NAME_LENGTH]), begin, end, key, source)
        .issuer_name(signer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        # Not critical, because libvirt and QEMU would then require key encipherment, which RFC 8813 forbids
        # for such keys (libvirt: src/rpc/virnettlscontext.c; QEMU: crypto/tlscredsx509.c).
        .add_extension(_usage(signs=False), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
            critical=False,
        )
        .add_extension(_identifier_of(signer), critical=False)
    )
    if others:
        builder = builder.add_extension(x509.SubjectAlternativeName(others), critical=False)
    above = "" if signs_itself(signer) else authority.chain
    return Pair(_signed(builder, signing_key) + above, _pem_of(key))


def _new_key(source: RandomSource) -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    # Eight octets more than needed, so that the bias of the remainder is negligible (FIPS 186-5, A.2.1).
    number = int.from_bytes(source.octets(40), "big")
    return ec.derive_private_key(number % (_ORDER - 1) + 1, ec.SECP256R1())


def _builder(
    subject: x509.Name, begin: float, end: float, key: ec.EllipticCurvePrivateKey, source: RandomSource
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number((int.from_bytes(source.octets(20), "big") >> 1) or 1)
        .not_valid_before(datetime.fromtimestamp(int(begin), UTC))
        .not_valid_after(datetime.fromtimestamp(int(end), UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _identifier_of(signer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    from cryptography import x509

    try:
        own = signer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        own = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _signed(builder: x509.CertificateBuilder, key: SigningKey) -> str:
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    on_curve = isinstance(key, ec.EllipticCurvePrivateKey)
    made = builder.sign(key, hashes.SHA256(), ecdsa_deterministic=True if on_curve else None)
    return made.public_bytes(serialization.Encoding.PEM).decode()


def _pem_of(key: ec.EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _subject(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
