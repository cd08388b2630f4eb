"""The content of the Secrets of the region's own certificates, by key. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import AUTHORITY_TYPE
from controller.domain.credentials.authority import AuthorityRecord, StoredLeaf, leaf_digest
from controller.domain.credentials.x509.read import (
    Authority,
    AuthorityUnusable,
    authority_validity,
    authority_weakness,
    parse_authority,
)
from controller.domain.shared.times import seconds_of
from controller.domain.values.catalogue import CERTIFICATE_KEYS, HYPERVISOR_FILES

CHAIN, KEY, TRUSTED, DIGEST = CERTIFICATE_KEYS
_TRUSTED, _GENERATION = "trusted.crt", "generation"
_ACTIVE, _NEXT = ("tls.crt", "tls.key", "ca.crt"), ("next.crt", "next.key", "next-ca.crt")


def record_texts(record: AuthorityRecord, given: Authority | None) -> dict[str, str]:
    """The record as it is stored; the key of the operator's authority stays in the operator's Secret."""
    texts = {_GENERATION: timestamp(record.generation), _TRUSTED: record.trusted}
    for keys, one in ((_ACTIVE, record.active), (_NEXT, record.next)):
        if one is not None:
            key = "" if given is not None and one.chain == given.chain else one.key
            texts |= dict(zip(keys, (one.chain, key, one.anchors), strict=True))
    return {key: text for key, text in texts.items() if text}


def parse_record(texts: Mapping[str, str]) -> AuthorityRecord | None:
    """The stored record, or None. Raises AuthorityUnusable."""
    generation = seconds_of(texts.get(_GENERATION))
    active, following = (_authority(texts, keys) for keys in (_ACTIVE, _NEXT))
    if not generation or (active is None and following is None):
        return None
    return AuthorityRecord(generation, active, following, texts.get(_TRUSTED, ""))


def read_authority(type_: str, texts: Mapping[str, str], now: float) -> Authority:
    """The operator's authority from its Secret. Raises AuthorityUnusable."""
    if type_ != AUTHORITY_TYPE:
        raise AuthorityUnusable(
            f"the type of the Secret is not {AUTHORITY_TYPE}, which keeps the key out of values; delete it, "
            "and create it again"
        )
    found = parse_authority(*(texts.get(key, "") for key in _ACTIVE))
    if weakness := authority_weakness(found):
        raise AuthorityUnusable(weakness)
    begin, end = authority_validity(found)
    if end <= now or begin > now:
        when = f"expired on {timestamp(end)}" if end <= now else f"is only valid from {timestamp(begin)}"
        raise AuthorityUnusable(f'its "tls.crt", or an authority above it, is not valid now: it {when}')
    return found


def with_keys(texts: Mapping[str, str], change: Callable[[str], str]) -> dict[str, str]:
    """A stored record with changed private keys; empty ones are omitted."""
    changed = {name: change(text) if name in (_ACTIVE[1], _NEXT[1]) else text for name, text in texts.items()}
    return {name: text for name, text in changed.items() if text}


def leaf_texts(leaf: StoredLeaf, *, hypervisors: bool) -> dict[str, str]:
    """A leaf, with what it trusts, as its Secret has it."""
    texts = {CHAIN: leaf.chain, KEY: leaf.key, TRUSTED: leaf.trusted, DIGEST: leaf_digest(leaf)}
    if hypervisors:
        texts |= {name: texts[key] for name, key in HYPERVISOR_FILES.items()}
    return texts


def bundle_texts(trusted: str) -> dict[str, str]:
    """The bundle for clients without a certificate."""
    return {TRUSTED: trusted, DIGEST: leaf_digest(StoredLeaf(trusted=trusted))}


def stored_leaf(texts: Mapping[str, str]) -> StoredLeaf:
    """The leaf of a Secret."""
    return StoredLeaf(texts.get(CHAIN, ""), texts.get(KEY, ""), texts.get(TRUSTED, ""))


def _authority(texts: Mapping[str, str], keys: tuple[str, str, str]) -> Authority | None:
    chain, key, anchors = (texts.get(name, "") for name in keys)
    if not chain:
        return None
    if not key:
        return Authority(chain, anchors)
    try:
        return parse_authority(chain, key, anchors)
    except AuthorityUnusable as error:
        raise AuthorityUnusable(f"{error}; restore it from a backup, or delete it") from None
