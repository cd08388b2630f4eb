"""The Secrets of what signs the certificates of a region: its own authority, and an operator's."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import AUTHORITY_SECRET, AUTHORITY_TYPE
from controller.domain.credentials.authority import AuthorityRecord, leaf_end
from controller.domain.credentials.certificate_secrets import (
    parse_record,
    read_authority,
    record_texts,
    with_keys,
)
from controller.domain.credentials.x509.read import Authority, AuthorityUnusable
from controller.ports.kubernetes import SECRET, Kube, KubeObject
from controller.reconcile.credentials.certificates.certificate_store import texts_of
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.region_pass import RegionPass


class AuthoritySecrets:
    """Private keys are stored as `sealing` has them, None for as they are."""

    def __init__(self, kube: Kube, sealing: SealingKey | None) -> None:
        self._kube = kube
        self._sealing = sealing

    def sign_today(self, work: RegionPass, stored: Mapping[str, KubeObject], now: float) -> bool:
        """Whether the authority that the spec asks for is the one of the record: it may not change yet."""
        try:
            record, name = self.record(stored), work.features.internal_tls.authority_secret
            if record is None:
                return False
            known = record.next or record.active
            if not name:
                return known is not None and known.usable
            given = self.given(name, work.namespace, now)
        except AuthorityUnusable:
            return False
        return given.is_same(known)

    def record(self, stored: Mapping[str, KubeObject]) -> AuthorityRecord | None:
        """The record with the keys that can be opened. Raises AuthorityUnusable, KubeError."""
        texts = texts_of(stored.get(AUTHORITY_SECRET))
        return parse_record(with_keys(texts, self._sealing.open) if self._sealing and texts else texts)

    def texts(self, record: AuthorityRecord, given: Authority | None) -> dict[str, str]:
        """The record as it is stored. Raises AuthorityUnusable, KubeError."""
        texts = record_texts(record, given)
        return with_keys(texts, self._sealing.seal) if self._sealing else texts

    def given(self, name: str, namespace: str, now: float) -> Authority:
        """The operator's authority. Raises AuthorityUnusable."""
        if name == AUTHORITY_SECRET:
            # Its key would be taken for the operator's, which is not kept.
            raise AuthorityUnusable("the Secret belongs to the region; name one of your own Secrets")
        secret = self._kube.get(SECRET, name, namespace)
        if secret is None:
            raise AuthorityUnusable(f"the Secret does not exist; create it with the type {AUTHORITY_TYPE}")
        return read_authority(str(secret.get("type") or ""), texts_of(secret), now)


def overdue(stored: Mapping[str, KubeObject], now: float, why: str) -> dict[str, str]:
    """A problem once the renewal of certificates is overdue."""
    try:
        # Its dates are asked for, which takes no key.
        record = parse_record(with_keys(texts_of(stored.get(AUTHORITY_SECRET)), lambda _key: ""))
    except AuthorityUnusable:
        return {}
    if record is None or now < record.due:
        return {}
    return {AUTHORITY_SECRET: why.format(end=timestamp(leaf_end(record))[:10])}
