"""When certificates end, and which Secrets hold those of a region. Pure."""

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
# What Octavia shows its amphorae, with its key.
AMPHORA_CERTIFICATE = "client.cert-and-key.pem"
_BEGIN = b"-----BEGIN "


@dataclass(frozen=True)
class CertificateFacts:
    """What a Secret holds: when that stops being valid, in seconds since the epoch, and what is wrong with
    it. `end` is None where there is nothing that can be read."""

    end: float | None
    problem: str = ""


@dataclass(frozen=True)
class _Certificate:
    subject: bytes
    begin: float
    end: float


def named_secrets(features: Features) -> dict[str, str]:
    """Secrets with certificates that the spec of an osdpl names, and which of their keys has to hold them.

    An operator makes them, or has somebody make them: of what an issuer makes the spec names no Secret.
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
    """Whether cert-manager, or we, made the Secret of this metadata."""
    ours = (metadata.get("labels") or {}).get(MANAGED_BY) == MANAGED_BY_US
    return ISSUED in (metadata.get("annotations") or {}) or ours


def certificate_facts(data: Mapping[str, str], key: str = "") -> CertificateFacts:
    """What is known of the certificates in a Secret (base64 by key); `key` is the one that has to hold them,
    empty where none has to.

    Of a certificate with its chain the first end counts, since a break anywhere is one; but of several of
    one name the last, and none that had ended before the certificate itself began: it was no part of its
    path then (as with authorities that an older one has signed too). Of authorities to trust the last end
    counts: an old one may well stay beside its successor.
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
        # Whoever trusts them passes over those that they cannot read.
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
    """The certificates in a text as of PEM, in base64, and whether all of them could be read."""
    if not isinstance(encoded, str):
        return [], False
    try:
        blocks = list(_blocks(base64.b64decode(encoded, validate=True)))
    except (binascii.Error, ValueError):
        return [], False
    read = [_parsed(block) for block in blocks]
    return [one for one in read if one is not None], None not in read


def _blocks(text: bytes) -> Iterator[bytes]:
    # Others, such as a key that was put there by mistake, are passed over.
    for part in text.split(_BEGIN)[1:]:
        if part.startswith((b"CERTIFICATE-----", b"X509 CERTIFICATE-----")):
            yield _BEGIN + part


def _parsed(block: bytes) -> _Certificate | None:
    # Here and not above: it takes time to load, and few processes need it.
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(block)
        begin, end = found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()
        return _Certificate(found.subject.public_bytes(), begin, end)
    except (ValueError, x509.InvalidVersion):
        # Without the cause, which may tell of the content.
        return None
