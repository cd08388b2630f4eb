"""The two authorities between Octavia and its amphorae, and what is to be done next with each. Pure.

An amphora shows a certificate of the server authority, which Octavia signs itself, for thirty days, and
replaces two weeks before its end; Octavia shows the amphora one of the client authority, which the amphora
trusts since it was booted, and for as long as it lives (Octavia: admin/guides/certificates and
operator-maintenance, "Rotating Cryptographic Certificates"). So the two change in different ways:

- the server authority as soon as all of Octavia trusts the next one; the one before stays trusted to its end;
- the client authority when an operator says that every amphora was made since the next one is trusted, and
  at the latest when the one before ends.

Neither is the region's own: its key would be in Octavia's pods, and any certificate of it would open every
amphora. Both live for ten years, as Octavia's guide has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controller.domain.api.reasons import Reason
from controller.domain.credentials.authority import (
    DAY,
    LAST_DAYS,
    AuthorityRecord,
    AuthorityStep,
    StoredLeaf,
    plan_authority,
)
from controller.domain.credentials.sealing.encrypted_keys import decrypted, encrypted
from controller.domain.credentials.x509 import (
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
# Clocks may have been wrong when an authority was made.
BACKDATED_AUTHORITY = DAY
# A mounted Secret is brought up to date in minutes, and Octavia reads its files anew each time.
EVERYWHERE_AFTER = DAY
# Before controllers show what old amphorae do not know.
URGENT = 90 * DAY
CLIENT_NAMES = LeafNames("octavia")
_SERVER_CA, _SERVER_CHAIN, _SERVER_KEY, _CLIENT_CA, _CLIENT = AMPHORA_FILES
_PASSPHRASE, _PASSPHRASE_FILE = "passphrase", "passphrase.conf"
_KEY_BEGINS = "-----BEGIN PRIVATE KEY-----"


@dataclass(frozen=True)
class MountedCertificates:
    """What Octavia's pods have today, by its Secret; empty texts where there is none.

    `issuing` signs certificates of amphorae, with `key`, which is under `passphrase`; `server_trusted` is
    what controllers trust; `client` is what they show, and what new amphorae trust.
    """

    issuing: str = ""
    server_trusted: str = ""
    key: str = field(default="", repr=False)
    passphrase: str = field(default="", repr=False)
    client: StoredLeaf = field(default=StoredLeaf())

    @property
    def server(self) -> Authority | None:
        """The server authority, if it is whole."""
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
    """What the Secret has to hold. The key stays as it is while it is the same one under the same passphrase.

    Raises AuthorityUnusable where nothing can sign certificates of amphorae.
    """
    signer = server.signer
    if signer is None:
        raise AuthorityUnusable("nothing can sign certificates of amphorae: the authority's key is not there")
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
    """The next step of the authority that signs certificates of amphorae. Where its own Secret is gone, it
    comes back from what pods mount. `replaces_ahead` as of `plan_authority`. Raises AuthorityUnusable where
    the clock cannot be right."""
    if record is None and there.server is not None:
        back = AuthorityRecord(now, there.server, None, bundle((there.server_trusted,), now))
        text = "the authority of amphorae was gone, and is brought back from what Octavia's pods mount"
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
        # Octavia renews what it has signed.
        return AuthorityStep(replace(step.record, generation=record.generation))
    if step.reason is Reason.AUTHORITY_LOST:
        text = "the authority of amphorae is not the one of before, whose certificates stay trusted"
    elif step.record.next is not None:
        text = "the next authority of amphorae becomes trusted, and signs a day later"
    elif record is None:
        text = "certificates of amphorae are signed by a new authority"
    else:
        text = (
            "certificates of amphorae come from the next authority; the one before stays trusted to its end"
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
    """The next step of the authority by which amphorae know controllers. `replaces_ahead` as of
    `plan_authority`.

    `trusted_by_all`: the mark (`mark_of`) of the authority that, by an operator's word, every amphora trusts.
    Raises AuthorityUnusable where the clock cannot be right.
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
        text = "the certificate that Octavia shows its amphorae is renewed"
    elif step.reason is Reason.AUTHORITY_LOST:
        text = (
            "the authority by which amphorae know Octavia is not the one of before, which those that run know"
        )
    elif step.record.next is not None:
        text = "the next authority by which amphorae know Octavia is given to those that are made from now on"
    elif record is None:
        text = "amphorae know Octavia by a new authority"
    else:
        text = "Octavia shows its amphorae certificates of the next authority"
    return replace(step, message=text) if step.reason else step


def mark_of(authority: Authority) -> str:
    """A short name of an authority, which no other has."""
    return public_digest(authority.chain)[:12]


@dataclass(frozen=True)
class ClientChange:
    """Another client authority that waits for amphorae. `since`: those made from then on trust it; `until`:
    when controllers show a certificate of it all the same; both in seconds since the epoch. `mark` is what an
    operator confirms; `lost`: the one before cannot sign any more."""

    since: float
    until: float
    mark: str
    lost: bool

    def is_urgent(self, now: float) -> bool:
        """Whether it has to be told as what is wrong."""
        return self.lost or now >= self.until - URGENT


def client_change(record: AuthorityRecord, client: StoredLeaf) -> ClientChange | None:
    """What waits for an operator, None for nothing."""
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
    """A leaf that the record knows is trusted by what the record says, whatever was put beside it by hand."""
    if record is not None and (not leaf.chain or is_anchored(leaf.chain, record.bundle)):
        return replace(leaf, trusted=record.bundle)
    return leaf


def _is_everywhere(record: AuthorityRecord, now: float) -> bool:
    """Whether all of Octavia trusts the next one. What was trusted before stays so: amphorae show it."""
    following = record.next
    if following is None:
        return False
    since = authority_validity(following)[0] + BACKDATED_AUTHORITY
    # One that signs already, for want of another, need not be waited for.
    return record.active is None or now >= since + EVERYWHERE_AFTER
