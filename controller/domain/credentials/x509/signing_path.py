"""Whether clients accept certificates of an authority, according to the certificates of its path (RFC
5280, 4.2.1 and 6.1). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it takes time to load, and few processes need it
    from cryptography import x509

# The requirements of OpenSSL at its level 2, which Debian, Ubuntu and Python have
# (SSL_CTX_set_security_level(3)).
_RSA_BITS = 2048
_CURVE_BITS = 224
_WEAK_HASHES = ("md5", "sha1")
_WHERE = 'of its "tls.crt" or "ca.crt"'


def path_obstacle(path: Sequence[x509.Certificate]) -> str:
    """Why clients refuse a leaf signed by the first certificate, which the next one signed, and so on up
    to an anchor; or empty.
    """
    return next(filter(None, (_obstacle(one, below, len(path)) for below, one in enumerate(path))), "")


def _obstacle(certificate: x509.Certificate, below: int, length: int) -> str:
    """The problem with a certificate with this number of authorities below it in the path."""
    from cryptography import x509

    try:
        said = {type(one.value): one.value for one in certificate.extensions}
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return f"an extension of a certificate {_WHERE} cannot be read"
    basic = said.get(x509.BasicConstraints)
    # Root certificates of version 1 have no extensions.
    is_silent_root = basic is None and 0 < below == length - 1
    if not is_silent_root and not (isinstance(basic, x509.BasicConstraints) and basic.ca):
        which = 'the first certificate of its "tls.crt"' if below == 0 else f"a certificate {_WHERE}"
        return f"{which} is not one of an authority (CA:TRUE)"
    most = basic.path_length if isinstance(basic, x509.BasicConstraints) else None
    if most is not None and most < below:
        return f"a certificate {_WHERE} has more authorities below it than its path length allows"
    usage = said.get(x509.KeyUsage)
    if isinstance(usage, x509.KeyUsage) and not usage.key_cert_sign:
        return f"a certificate {_WHERE} may not sign certificates (keyCertSign)"
    limits = said.get(x509.NameConstraints)
    if isinstance(limits, x509.NameConstraints) and any(
        isinstance(one, x509.DNSName) and one.value for one in limits.permitted_subtrees or ()
    ):
        return f"a certificate {_WHERE} has name constraints that exclude names of the region"
    return ""


def weak_key(path: Sequence[x509.Certificate]) -> str:
    """Why clients refuse a leaf of a valid path: a key that is too weak; or empty."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    for certificate in path:
        try:
            key = certificate.public_key()
        except (ValueError, UnsupportedAlgorithm):
            return f"the key of a certificate {_WHERE} is of a kind that clients do not support"
        least, kind = (_RSA_BITS, "RSA") if isinstance(key, rsa.RSAPublicKey) else (_CURVE_BITS, "curve")
        if isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey) and key.key_size < least:
            which = f"the {kind} key of a certificate {_WHERE}"
            return f"{which} has {key.key_size} bits, and clients require {least}"
    return ""


def weak_signature(below_root: Sequence[x509.Certificate]) -> str:
    """Why clients refuse the signature algorithms of certificates, or empty."""
    from cryptography.exceptions import UnsupportedAlgorithm

    for certificate in below_root:
        try:
            hash_ = certificate.signature_hash_algorithm
        except UnsupportedAlgorithm:
            return f"a certificate {_WHERE} has a signature that clients do not support"
        if hash_ is not None and hash_.name in _WEAK_HASHES:
            name = hash_.name.upper()
            return f"a certificate {_WHERE} is signed with {name}, which clients refuse; sign it again"
    return ""
