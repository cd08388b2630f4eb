"""The certificates and keys of one control plane: a CA of its own, all on elliptic curves (fast to make)."""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = datetime.timedelta(days=3650)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "10.0.0.1")
REAL_NODES = ("real1", "real2", "real3")
"""The names of the real nodes that a sandbox may have."""

CLIENTS: dict[str, tuple[str, str]] = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kwok": ("system:kwok", "system:masters"),
    "apiserver": ("system:kube-apiserver", "system:masters"),
    "node": ("system:sandbox-node", "system:masters"),
    **{f"kubelet-{name}": (f"system:node:{name}", "system:nodes") for name in REAL_NODES},
    "kube-proxy": ("system:kube-proxy", ""),
    "coredns": ("system:coredns", "system:masters"),
}
"""Client certificates by file name: user and group. Each component is a user of its own in the audit log."""


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(common_name: str, organisation: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organisation:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(attributes)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + VALID)
    )


# What Python 3.13 and later ask of an authority, beside identifiers of keys (RFC 5280, section 4.2.1).
_SIGNS = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class _Authority:
    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name("sandbox-ca")
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        self.certificate = (
            _builder(self.name, self.name, self.key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS, critical=True)
            .add_extension(self._identifier, critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def issue(
        self,
        directory: Path,
        file_name: str,
        subject: x509.Name,
        usages: Sequence[x509.ObjectIdentifier],
        alternatives: Sequence[x509.GeneralName] = (),
    ) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier)
        builder = (
            _builder(subject, self.name, key.public_key())
            .add_extension(x509.ExtendedKeyUsage(list(usages)), critical=False)
            .add_extension(issuer, critical=False)
        )
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(alternatives)), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        _write_private(directory / f"{file_name}.key", _key_pem(key))
        (directory / f"{file_name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def ensure_certificates(directory: Path, more_names: Sequence[str] = ()) -> None:
    """Makes every certificate of a control plane in `directory`, unless a complete set is there already.

    `server` serves (and is etcd's client), also by `more_names`; `sa` signs ServiceAccount tokens, the others
    are `CLIENTS`.
    """
    complete = directory / "complete"
    if complete.exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    authority = _Authority()
    (directory / "ca.crt").write_bytes(authority.certificate.public_bytes(serialization.Encoding.PEM))
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in (*SERVER_NAMES, *more_names)]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    authority.issue(directory, "server", _name("kube-apiserver"), both, names)
    for file_name, (user, group) in CLIENTS.items():
        authority.issue(directory, file_name, _name(user, group), [ExtendedKeyUsageOID.CLIENT_AUTH])
    signer = ec.generate_private_key(ec.SECP256R1())
    _write_private(directory / "sa.key", _key_pem(signer))
    (directory / "sa.pub").write_bytes(
        signer.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    complete.touch()
