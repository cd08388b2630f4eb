"""A certificate authority of one test, and a certificate of it for loopback."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    """`ca` is what clients trust; `certificate` and `key` are the server's. All are PEM texts."""

    ca: str
    certificate: str
    key: str

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Certificate and key as files."""
        directory.mkdir(parents=True, exist_ok=True)
        files = directory / "tls.crt", directory / "tls.key"
        for path, text in zip(files, (self.certificate, self.key), strict=True):
            path.write_text(text)
        return files


def authority(name: str = "test") -> Authority:
    """An authority of that name; each name has keys of its own."""
    return _authority(name)


@cache
def _authority(name: str) -> Authority:
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} CA")])
    ca = (
        _builder(issuer, issuer, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        _builder(subject, issuer, key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return Authority(ca.public_bytes(encoding).decode(), certificate.public_bytes(encoding).decode(), private)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
    )
