"""The expiry of certificates, and the Secrets that hold those of a region. Pure.

`authority.py` decides when the region's own ones are renewed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.domain.api.region_spec import Features

TLS_TYPE = "kubernetes.io/tls"
# cert-manager's mark on each Secret that it writes (cert-manager: pkg/apis/certmanager/v1/types.go).
ISSUED = "cert-manager.io/certificate-name"
CERTIFICATE, AUTHORITY = "tls.crt", "ca.crt"
# Octavia's client certificate for amphorae, with its key.
AMPHORA_CERTIFICATE = "client.cert-and-key.pem"
_BEGIN = b"-----BEGIN "


@dataclass(frozen=True)
class CertificateFacts:
    """The certificates of a Secret: when they expire, in seconds since the epoch, and their problem.

    `end` is None if nothing is readable.
    """

    end: float | None
    problem: str = ""


@dataclass(frozen=True)
class _Certificate:
    subject: bytes
    begin: float
    end: float


def named_secrets(features: Features) -> dict[str, str]:
    """Secrets with certificates that the spec of an osdpl names, and the key of each.

    An operator provides them; the spec does not name Secrets of an issuer.
    """
    public, internal = features.public_tls, features.internal_tls
    found = {
        features.amphora_secret: AMPHORA_CERTIFICATE,
        internal.ca_secret if internal.enabled else "": AUTHORITY,
        public.ca_secret if public.enabled else "": AUTHORITY,
        public.secret if public.enabled else "": CERTIFICATE,
    }
    return {name: key for name, key in found.items() if name}


def is_issued(metadata: Mapping[str, Any]) -> bool:
    """Whether cert-manager or the controller created the Secret with this metadata."""
    ours = (metadata.get("labels") or {}).get(MANAGED_BY) == MANAGED_BY_US
    return ISSUED in (metadata.get("annotations") or {}) or ours


def certificate_facts(data: Mapping[str, str], key: str = "") -> CertificateFacts:
    """The state of the certificates in a Secret (base64 by key); `key` must hold them, unless it is empty.

    For a certificate with its chain, the first end counts, because any expired part breaks it. Of several
    with one name, the last end counts. A part that had expired before the certificate began does not count,
    because it was not in its path (as with cross-signed authorities). For trusted authorities the last end
    counts, because an old one may stay with its successor.
    """
    if not key:
        key = CERTIFICATE if data.get(CERTIFICATE) else AUTHORITY
        if not data.get(key):
            return CertificateFacts(None)
    if not data.get(key):
        return CertificateFacts(None, f'it has no "{key}"')
    found, whole = _read(data[key])
    if not found:
        return CertificateFacts(None, f'its "{key}" cannot be read')
    if key == AUTHORITY:
        # Clients ignore trusted certificates that they cannot read.
        return CertificateFacts(max(one.end for one in found))
    authorities, _ = _read(data.get(AUTHORITY) or "")
    leaf, *chain = found
    last: dict[bytes, float] = {}
    for one in (*chain, *authorities):
        last[one.subject] = max(one.end, last.get(one.subject, one.end))
    ends = [last[one.subject] for one in chain if last[one.subject] >= leaf.begin]
    problem = "" if whole else f'its "{key}" cannot be read to the end'
    return CertificateFacts(min([leaf.end, *ends]), problem)


def _read(encoded: object) -> tuple[list[_Certificate], bool]:
    """The certificates in a PEM text, in base64, and whether all of them could be read."""
    if not isinstance(encoded, str):
        return [], False
    try:
        blocks = list(_blocks(base64.b64decode(encoded, validate=True)))
    except (binascii.Error, ValueError):
        return [], False
    read = [_parsed(block) for block in blocks]
    return [one for one in read if one is not None], None not in read


def _blocks(text: bytes) -> Iterator[bytes]:
    # Other blocks, such as a key in the wrong place, are ignored.
    for part in text.split(_BEGIN)[1:]:
        if part.startswith((b"CERTIFICATE-----", b"X509 CERTIFICATE-----")):
            yield _BEGIN + part


def _parsed(block: bytes) -> _Certificate | None:
    # Imported here, because it takes time to load, and few processes need it.
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(block)
        begin, end = found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()
        return _Certificate(found.subject.public_bytes(), begin, end)
    except (ValueError, x509.InvalidVersion):
        # Without the cause, which may contain the content.
        return None
