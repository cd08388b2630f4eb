"""When certificates end, and which Secrets hold those of a region. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

TLS_TYPE = "kubernetes.io/tls"
# cert-manager's mark on each Secret that it writes (cert-manager: pkg/apis/certmanager/v1/types.go).
ISSUED = "cert-manager.io/certificate-name"
CERTIFICATE, AUTHORITY = "tls.crt", "ca.crt"


def named_secrets(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Secrets with certificates that the spec of an osdpl names, whoever makes them."""
    tls = (spec.get("features") or {}).get("tls") or {}
    public, internal = tls.get("public") or {}, tls.get("internal") or {}
    found = (
        public.get("enabled") and public.get("secretName"),
        internal.get("enabled") and internal.get("caSecret"),
    )
    return tuple(str(name) for name in found if name)


def is_issued(metadata: Mapping[str, Any]) -> bool:
    """Whether cert-manager made the Secret of this metadata."""
    return ISSUED in (metadata.get("annotations") or {})


def certificate_end(data: Mapping[str, str]) -> float | None:
    """When what a Secret holds (base64 by key) stops being valid, in seconds since the epoch.

    Of a certificate with its chain that is the first end, since a break anywhere is one. Of authorities to
    trust it is the last: an old one may well stay beside its successor. None where there is none that can be
    read.
    """
    ends = _ends(data.get(CERTIFICATE))
    if ends:
        return min(ends)
    return max(_ends(data.get(AUTHORITY)), default=None)


def _ends(encoded: object) -> list[float]:
    if not isinstance(encoded, str) or not encoded:
        return []
    # Here and not above: it takes time to load, and few processes need it.
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(base64.b64decode(encoded, validate=True))
        return [one.not_valid_after_utc.timestamp() for one in found]
    except (binascii.Error, ValueError):
        # Without the cause: the content may be a key that was put there by mistake.
        return []
