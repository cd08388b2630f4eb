"""The two authorities between Octavia and its amphorae, and the next step for each.

Pure. An amphora presents a certificate of the server authority. Octavia signs it for thirty days, and
replaces it two weeks before its end. Octavia presents a certificate of the client authority to the amphora,
which trusts that authority from its boot until its end (Octavia: admin/guides/certificates and
operator-maintenance, "Rotating Cryptographic Certificates"). So the two change in different ways:

- the server authority as soon as all of Octavia trusts the next one; the former one stays trusted until it
  expires;
- the client authority when an operator confirms that every amphora was created after the next one became
  trusted, and at the latest when the former one expires. Neither is the region's own, because its key would
  be in Octavia's pods, and any certificate of it would open every amphora. Both live for ten years, as in
  Octavia's guide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controller.domain.api.reasons import Reason
from controller.domain.credentials.authority import AuthorityRecord, AuthorityStep, StoredLeaf, plan_authority
from controller.domain.credentials.certificate_lifetimes import DAY, LAST_DAYS
from controller.domain.credentials.sealing.encrypted_keys import decrypted, encrypted
from controller.domain.credentials.x509.read import (
    Authority,
    AuthorityUnusable,
    LeafNames,
    authority_validity,
    bundle,
    is_anchored,
    parse_authority,
    public_digest,
    read_leaf,
)
from controller.domain.values.catalogue import AMPHORA_FILES
from controller.domain.values.option_files import as_option_value

AMPHORA_AUTHORITY_LIFE = 10 * 365 * DAY
# Clocks may have been wrong at the creation of an authority.
BACKDATED_AUTHORITY = DAY
# A mounted Secret is updated within minutes, and Octavia reads its files again each time.
EVERYWHERE_AFTER = DAY
# Before controllers present a certificate that old amphorae do not trust.
URGENT = 90 * DAY
CLIENT_NAMES = LeafNames("octavia")
_SERVER_CA, _SERVER_CHAIN, _SERVER_KEY, _CLIENT_CA, _CLIENT = AMPHORA_FILES
_PASSPHRASE, _PASSPHRASE_FILE = "passphrase", "passphrase.conf"
_KEY_BEGINS = "-----BEGIN PRIVATE KEY-----"


@dataclass(frozen=True)
class MountedCertificates:
    """The present certificates of Octavia's pods, from its Secret; missing texts are empty.

    `issuing` signs certificates of amphorae, with `key`, which `passphrase` encrypts. Controllers trust
    `server_trusted`. They present `client`, which new amphorae trust.
    """

    issuing: str = ""
    server_trusted: str = ""
    key: str = field(default="", repr=False)
    passphrase: str = field(default="", repr=False)
    client: StoredLeaf = field(default=StoredLeaf())

    @property
    def server(self) -> Authority | None:
        """The server authority, if it is complete."""
        key = decrypted(self.key, self.passphrase) if self.passphrase else ""
        try:
            return parse_authority(self.issuing, key) if key else None
        except AuthorityUnusable:
            return None


def mounted_certificates(texts: Mapping[str, str]) -> MountedCertificates:
    """What the Secret holds."""
    chain, begins, key = texts.get(_CLIENT, "").partition(_KEY_BEGINS)
    return MountedCertificates(
        texts.get(_SERVER_CA, ""),
        texts.get(_SERVER_CHAIN, ""),
        texts.get(_SERVER_KEY, ""),
        texts.get(_PASSPHRASE, ""),
        StoredLeaf(chain, begins + key, texts.get(_CLIENT_CA, "")),
    )


def mounted_texts(
    server: AuthorityRecord, client: StoredLeaf, passphrase: str, before: MountedCertificates
) -> dict[str, str]:
    """The desired content of the Secret.

    The encrypted key stays unchanged while key and passphrase are the same. Raises AuthorityUnusable if
    certificates of amphorae cannot be signed.
    """
    signer = server.signer
    if signer is None:
        raise AuthorityUnusable(
            "certificates of amphorae cannot be signed, because the authority's key is missing"
        )
    kept = decrypted(before.key, passphrase) == signer.key
    return {
        _SERVER_CA: signer.chain,
        _SERVER_CHAIN: server.bundle,
        _SERVER_KEY: before.key if kept else encrypted(signer.key, passphrase),
        _CLIENT_CA: client.trusted,
        _CLIENT: client.chain + client.key,
        _PASSPHRASE: passphrase,
        _PASSPHRASE_FILE: f"[certificates]\nca_private_key_passphrase = {as_option_value(passphrase)}\n",
    }


def plan_server(
    record: AuthorityRecord | None,
    there: MountedCertificates,
    *,
    now: float,
    make: Callable[[], Authority],
    replaces_ahead: bool = False,
) -> AuthorityStep:
    """The next step of the authority that signs certificates of amphorae.

    If its own Secret is gone, it is restored from the Secret that pods mount. `replaces_ahead` as in
    `plan_authority`. Raises AuthorityUnusable if the clock cannot be right.
    """
    if record is None and there.server is not None:
        back = AuthorityRecord(now, there.server, None, bundle((there.server_trusted,), now))
        text = (
            "the authority of amphorae was deleted, and is restored from the Secret that Octavia's pods mount"
        )
        return AuthorityStep(back, Reason.CREDENTIALS_RESTORED, text)
    step = plan_authority(
        record,
        given=None,
        in_use=(_known(record, StoredLeaf(there.issuing, "", there.server_trusted)),),
        now=now,
        make=make,
        settled=lambda one: _is_everywhere(one, now),
        replaces_ahead=replaces_ahead,
    )
    if record is not None and step.reason is Reason.CERTIFICATES_RENEWED:
        # Octavia renews the certificates that it has signed.
        return AuthorityStep(replace(step.record, generation=record.generation))
    if step.reason is Reason.AUTHORITY_LOST:
        text = (
            "the authority of amphorae was replaced by another one; certificates of the former one stay "
            "trusted"
        )
    elif step.record.next is not None:
        text = "the next authority of amphorae becomes trusted now, and signs certificates in a day"
    elif record is None:
        text = "a new authority signs the certificates of amphorae"
    else:
        text = (
            "the next authority signs the certificates of amphorae; the former one stays trusted "
            "until it expires"
        )
    return replace(step, message=text) if step.reason else step


def plan_client(
    record: AuthorityRecord | None,
    there: MountedCertificates,
    *,
    trusted_by_all: str,
    now: float,
    make: Callable[[], Authority],
    replaces_ahead: bool = False,
) -> AuthorityStep:
    """The next step of the authority of controllers, which amphorae trust.

    `replaces_ahead` as in `plan_authority`. `trusted_by_all`: the mark (`mark_of`) of the authority that
    every amphora trusts, as an operator has confirmed. Raises AuthorityUnusable if the clock cannot be right.
    """
    step = plan_authority(
        record,
        given=None,
        in_use=(_known(record, there.client),),
        now=now,
        make=make,
        settled=lambda one: one.next is None or trusted_by_all == mark_of(one.next),
        replaces_ahead=replaces_ahead,
    )
    if step.reason is Reason.CERTIFICATES_RENEWED:
        text = "the certificate that Octavia presents to amphorae is renewed"
    elif step.reason is Reason.AUTHORITY_LOST:
        text = (
            "the authority of Octavia's client certificate was replaced by another one, which "
            "running amphorae do not trust"
        )
    elif step.record.next is not None:
        text = "new amphorae also trust the next authority of Octavia's client certificate"
    elif record is None:
        text = "Octavia's client certificate has a new authority"
    else:
        text = "Octavia presents a certificate of the next authority to amphorae"
    return replace(step, message=text) if step.reason else step


def mark_of(authority: Authority) -> str:
    """A short unique name of an authority."""
    return public_digest(authority.chain)[:12]


@dataclass(frozen=True)
class ClientChange:
    """Another client authority that waits for amphorae.

    `since`: amphorae created from then on trust it. `until`: when controllers present its certificate anyway.
    Both are in seconds since the epoch. An operator confirms `mark`. `lost`: the former one can no longer
    sign.
    """

    since: float
    until: float
    mark: str
    lost: bool

    def is_urgent(self, now: float) -> bool:
        """Whether it is reported as a problem."""
        return self.lost or now >= self.until - URGENT


def client_change(record: AuthorityRecord, client: StoredLeaf) -> ClientChange | None:
    """The authority that waits for an operator, or None."""
    following, active = record.next, record.active
    if following is None:
        return None
    since = authority_validity(following)[0] + BACKDATED_AUTHORITY
    if active is not None and active.usable:
        return ClientChange(since, authority_validity(active)[1] - LAST_DAYS, mark_of(following), lost=False)
    found = read_leaf(client.chain, client.key)
    until = min(record.due, found.end - LAST_DAYS) if found else record.due
    return ClientChange(since, until, mark_of(following), lost=True)


def _known(record: AuthorityRecord | None, leaf: StoredLeaf) -> StoredLeaf:
    """A leaf of the record counts with the trust in the record, whatever was added by hand."""
    if record is not None and (not leaf.chain or is_anchored(leaf.chain, record.bundle)):
        return replace(leaf, trusted=record.bundle)
    return leaf


def _is_everywhere(record: AuthorityRecord, now: float) -> bool:
    """Whether all of Octavia trusts the next one.

    Formerly trusted ones stay trusted, because amphorae present them.
    """
    following = record.next
    if following is None:
        return False
    since = authority_validity(following)[0] + BACKDATED_AUTHORITY
    # If it already signs, because there is no other, nothing waits for it.
    return record.active is None or now >= since + EVERYWHERE_AFTER
