"""Whether clients believe what an authority signs, by what the certificates of its path say of themselves
(RFC 5280, 4.2.1 and 6.1). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it takes time to load, and few processes need it
    from cryptography import x509

# What OpenSSL asks for at its level 2, which Debian, Ubuntu and Python have (SSL_CTX_set_security_level(3)).
_RSA_BITS = 2048
_CURVE_BITS = 224
_WEAK_HASHES = ("md5", "sha1")
_WHERE = 'of its "tls.crt" or "ca.crt"'


def path_obstacle(path: Sequence[x509.Certificate]) -> str:
    """Why nobody believes a leaf that the first certificate signs, which the next one has signed, and so on
    up to an anchor; empty where nothing is in the way."""
    return next(filter(None, (_obstacle(one, below, len(path)) for below, one in enumerate(path))), "")


def _obstacle(certificate: x509.Certificate, below: int, length: int) -> str:
    """What is wrong with one that has so many authorities below it in a path of this length."""
    from cryptography import x509

    try:
        said = {type(one.value): one.value for one in certificate.extensions}
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return f"an extension of a certificate {_WHERE} cannot be read"
    basic = said.get(x509.BasicConstraints)
    # Roots of the first version say nothing of themselves.
    is_silent_root = basic is None and 0 < below == length - 1
    if not is_silent_root and not (isinstance(basic, x509.BasicConstraints) and basic.ca):
        which = 'the first certificate of its "tls.crt"' if below == 0 else f"a certificate {_WHERE}"
        return f"{which} is no authority's (CA:TRUE)"
    most = basic.path_length if isinstance(basic, x509.BasicConstraints) else None
    if most is not None and most < below:
        return f"a certificate {_WHERE} has more authorities below it than its path length"
    usage = said.get(x509.KeyUsage)
    if isinstance(usage, x509.KeyUsage) and not usage.key_cert_sign:
        return f"a certificate {_WHERE} may not sign certificates (keyCertSign)"
    limits = said.get(x509.NameConstraints)
    if isinstance(limits, x509.NameConstraints) and any(
        isinstance(one, x509.DNSName) and one.value for one in limits.permitted_subtrees or ()
    ):
        return f"a certificate {_WHERE} is for some names only (name constraints), and the region has others"
    return ""


def weak_key(path: Sequence[x509.Certificate]) -> str:
    """Why clients refuse what the first certificate signs although each of the path may sign: a key that is
    too weak; empty where none is."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    for certificate in path:
        try:
            key = certificate.public_key()
        except (ValueError, UnsupportedAlgorithm):
            return f"the key of a certificate {_WHERE} is of a kind that nobody reads"
        least, kind = (_RSA_BITS, "RSA") if isinstance(key, rsa.RSAPublicKey) else (_CURVE_BITS, "curve")
        if isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey) and key.key_size < least:
            which = f"the {kind} key of a certificate {_WHERE}"
            return f"{which} has {key.key_size} bits, and clients ask for {least}"
    return ""


def weak_signature(below_root: Sequence[x509.Certificate]) -> str:
    """Why clients refuse certificates that another one has signed: by how; empty where they do not."""
    from cryptography.exceptions import UnsupportedAlgorithm

    for certificate in below_root:
        try:
            hash_ = certificate.signature_hash_algorithm
        except UnsupportedAlgorithm:
            return f"a certificate {_WHERE} is signed in a way that nobody reads"
        if hash_ is not None and hash_.name in _WEAK_HASHES:
            name = hash_.name.upper()
            return f"a certificate {_WHERE} is signed with {name}, which clients refuse; have it signed again"
    return ""
