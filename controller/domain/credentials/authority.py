"""The region's authority: which certificates sign, which are trusted, and the next step.

Pure. Every change has the same steps, so that each side always trusts the certificates of the other. First
the next authority is trusted everywhere. Then it signs leaves. With a later renewal, unused authorities leave
the bundle. All leaves belong to one generation: they begin together and are renewed together, so that their
consumers restart once. The record is one Secret, written at once; each step may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from controller.domain.api.reasons import Reason
from controller.domain.credentials.certificate_lifetimes import (
    BACKDATED,
    CLOCK_DIFFERENCE,
    LAST_DAYS,
    LEAF_LIFE,
    RENEWED_AT,
)
from controller.domain.credentials.x509.read import (
    Authority,
    AuthorityUnusable,
    LeafNames,
    authority_validity,
    bundle,
    holds,
    is_anchored,
    is_signed_by,
    public_digest,
    read_leaf,
    validity,
)


@dataclass(frozen=True)
class AuthorityRecord:
    """The record of the authority.

    `generation` is when the present leaves were first created, in seconds since the epoch. `active` signs,
    and is None if its key is not available: leaves are then kept until `next` signs. `trusted` are other
    certificates that are still in the bundle (PEM).
    """

    generation: float
    active: Authority | None = None
    next: Authority | None = None
    trusted: str = ""

    @property
    def bundle(self) -> str:
        """The bundle that every consumer trusts, in PEM.

        Expired certificates leave it only with the next generation.
        """
        signers = (one.anchors for one in (self.active, self.next) if one is not None)
        return bundle((*signers, self.trusted))

    @property
    def signer(self) -> Authority | None:
        """The authority that signs a new leaf now."""
        return next((one for one in (self.active, self.next) if one and one.usable), None)

    @property
    def due(self) -> float:
        """When the next generation is due, in seconds since the epoch."""
        return self.generation + LEAF_LIFE * RENEWED_AT

    def is_due(self, now: float) -> bool:
        """Whether the next generation is, or a clock that was ahead made this one."""
        return now >= self.due or self.generation > now + CLOCK_DIFFERENCE


@dataclass(frozen=True)
class AuthorityStep:
    """The new record and the message; no `reason` if it stays unchanged."""

    record: AuthorityRecord
    reason: Reason | None = None
    message: str = ""


@dataclass(frozen=True)
class StoredLeaf:
    """A leaf in its Secret, in PEM."""

    chain: str = ""
    key: str = field(default="", repr=False)
    trusted: str = ""


def plan_authority(
    record: AuthorityRecord | None,
    *,
    given: Authority | None,
    in_use: Sequence[StoredLeaf],
    now: float,
    make: Callable[[], Authority],
    settled: Callable[[AuthorityRecord], bool],
    replaces_ahead: bool = False,
) -> AuthorityStep:
    """The next step, or none.

    `given` is the operator's authority, None for our own from `make`. `in_use` are the present leaves of
    consumers. `settled` says whether every consumer runs with the record's content. With `replaces_ahead`, an
    authority that begins in the future came from a wrong clock: it no longer signs, and stays trusted until
    the next renewal. Raises AuthorityUnusable if the clock cannot be right.
    """
    if record is None:
        return _first_step(given or make(), in_use, now)
    record = _able_to_sign(record, given, now)
    if replaces_ahead:
        record = _without_ahead(record, now)
    if _is_outdated(record, in_use, now):
        return _brought_up(record, in_use, now)
    desired = given or _own(record)
    if desired is None or not desired.is_same(record.next or record.active):
        return _introduced(record, desired or make(), now)
    _check_clock(record, now)
    due = record.is_due(now)
    if record.next is not None:
        if settled(record) or (due and record.active is None):
            return _taken_over(record, now)
        return _renewed(record, now) if due else AuthorityStep(record)
    if not due:
        return AuthorityStep(record)
    if given is None and record.active and _is_old(record.active, now):
        return _introduced(replace(record, generation=now), make(), now)
    return _renewed(record, now, retire=bool(record.trusted) and settled(record))


def is_current(stored: StoredLeaf, names: LeafNames, record: AuthorityRecord, now: float) -> bool:
    """Whether no new leaf is needed; its trust bundle is separate.

    A leaf keeps former names within its generation: they do no harm, and cause no restart.
    """
    found = read_leaf(stored.chain, stored.key)
    if found is None or found.end <= now or not found.covers(names):
        return False
    if found.begin > now + CLOCK_DIFFERENCE and leaf_begin(record) <= now:
        return False
    if found.end <= now + LAST_DAYS and found.end < _latest_end(record):
        return False
    if record.active is None:
        return is_anchored(stored.chain, record.bundle)
    return int(found.begin) == int(leaf_begin(record)) and is_signed_by(stored.chain, record.active)


def leaf_begin(record: AuthorityRecord) -> float:
    """When leaves of the generation begin, in seconds since the epoch."""
    return record.generation - BACKDATED


def leaf_end(record: AuthorityRecord) -> float:
    """When leaves of the generation end at the latest, in seconds since the epoch."""
    return record.generation + LEAF_LIFE


def ends_first(record: AuthorityRecord) -> float | None:
    """When the authority ends, in seconds since the epoch, if its leaves end with it instead of after their
    own life.
    """
    last = record.next or record.active
    end = authority_validity(last)[1] if last else leaf_end(record)
    return end if end < int(leaf_end(record)) else None


def leaf_digest(stored: StoredLeaf) -> str:
    """A mark that changes with every change that consumers need."""
    return public_digest(stored.chain, stored.trusted)


def _latest_end(record: AuthorityRecord) -> float:
    """When a leaf created now would end; 0 if none is possible."""
    signer = record.signer
    return min(int(leaf_end(record)), authority_validity(signer)[1]) if signer else 0.0


def _first_step(authority: Authority, in_use: Sequence[StoredLeaf], now: float) -> AuthorityStep:
    trusted = _trusted_today(in_use, now)
    if not trusted or all(holds(leaf.trusted, authority.anchors) for leaf in in_use if leaf.trusted):
        text = "a new authority signs the region's certificates"
        return AuthorityStep(AuthorityRecord(now, authority), Reason.AUTHORITY_CHANGES, text)
    record = AuthorityRecord(now, None, authority, trusted)
    text = (
        "the authority of the region's certificates was lost; certificates in use stay trusted, and "
        "another authority replaces them once it is trusted everywhere"
    )
    return AuthorityStep(record, Reason.AUTHORITY_LOST, text)


def _is_outdated(record: AuthorityRecord, in_use: Iterable[StoredLeaf], now: float) -> bool:
    """Whether consumers have certificates that the record does not know, because it was restored from a
    backup. A leaf that its own Secret does not trust was not created here.
    """
    for leaf in in_use:
        if record.active and leaf.trusted and not holds(leaf.trusted, record.active.anchors):
            return True
        ours = leaf.chain and is_anchored(leaf.chain, leaf.trusted)
        if ours and not is_anchored(leaf.chain, record.bundle) and validity(leaf.chain)[1] > now:
            return True
    return False


def _brought_up(record: AuthorityRecord, in_use: Iterable[StoredLeaf], now: float) -> AuthorityStep:
    """Consumers' certificates stay trusted, and the record's authority signs again once it is trusted."""
    trusted = bundle((record.trusted, _trusted_today(in_use, now)), now)
    after = AuthorityRecord(now, None, record.next or record.active, trusted)
    text = (
        "the authority is older than certificates in use, probably after a restore; those "
        "certificates stay trusted, and are replaced once the authority is trusted everywhere"
    )
    return AuthorityStep(after, Reason.AUTHORITY_LOST, text)


def _trusted_today(leaves: Iterable[StoredLeaf], now: float) -> str:
    """The certificates that consumers trust, from their Secrets (PEM)."""
    return bundle((leaf.trusted for leaf in leaves), now)


def _introduced(record: AuthorityRecord, authority: Authority, now: float) -> AuthorityStep:
    """It is trusted from now on; an earlier successor stays trusted."""
    before = [record.trusted]
    if record.next is not None:
        before.append(record.next.anchors)
    # Leaves that cannot be signed again stay unchanged; new ones belong to the present.
    generation = record.generation if record.active else now
    after = replace(record, generation=generation, next=authority, trusted=bundle(before, now))
    text = "another authority becomes trusted; it signs certificates once it is trusted everywhere"
    return AuthorityStep(after, Reason.AUTHORITY_CHANGES, text)


def _taken_over(record: AuthorityRecord, now: float) -> AuthorityStep:
    before = [record.trusted, record.active.anchors if record.active else ""]
    after = AuthorityRecord(now, record.next, None, bundle(before, now))
    text = "the new authority signs certificates; the former one stays trusted until the next renewal"
    return AuthorityStep(after, Reason.AUTHORITY_CHANGES, text)


def _renewed(record: AuthorityRecord, now: float, *, retire: bool = False) -> AuthorityStep:
    after = replace(record, generation=now, trusted="" if retire else record.trusted)
    text = "the region's certificates are renewed"
    if retire and record.trusted:
        text += ", and trust their authority only"
    return AuthorityStep(after, Reason.CERTIFICATES_RENEWED, text)


def _able_to_sign(record: AuthorityRecord, given: Authority | None, now: float) -> AuthorityRecord:
    """The record with the available keys: it does not contain those of the operator's authority."""
    active, following = (_keyed(one, given) for one in (record.active, record.next))
    # If it is about to end, the next one signs leaves, if there is one.
    last = now + LAST_DAYS if following is not None and following.usable else now
    if active is not None and (not active.usable or _ended(active, last)):
        return replace(record, active=None, next=following, trusted=bundle((record.trusted, active.anchors)))
    return replace(record, active=active, next=following)


def _keyed(authority: Authority | None, given: Authority | None) -> Authority | None:
    return given if authority is not None and authority.is_same(given) else authority


def _own(record: AuthorityRecord) -> Authority | None:
    """Our authority that will sign finally, if there is one."""
    last = record.next or record.active
    return last if last is not None and last.usable else None


def begins_ahead(record: AuthorityRecord, now: float) -> bool:
    """Whether an authority of the record begins in the future, because clocks were, or are, wrong."""
    return any(one is not None and _is_ahead(one, now) for one in (record.active, record.next))


def _is_ahead(authority: Authority, now: float) -> bool:
    return authority_validity(authority)[0] > now + CLOCK_DIFFERENCE


def _without_ahead(record: AuthorityRecord, now: float) -> AuthorityRecord:
    for one in (record.active, record.next):
        if one is not None and _is_ahead(one, now):
            record = replace(
                record,
                active=None if one is record.active else record.active,
                next=None if one is record.next else record.next,
                trusted=bundle((record.trusted, one.anchors)),
            )
    return record


def _check_clock(record: AuthorityRecord, now: float) -> None:
    if begins_ahead(record, now):
        raise AuthorityUnusable(
            "the authority is not valid yet; check the clocks of the nodes. If this clock is right, another "
            "authority replaces it within some minutes"
        )


def _is_old(authority: Authority, now: float) -> bool:
    begin, end = authority_validity(authority)
    return now >= begin + (end - begin) * RENEWED_AT


def _ended(authority: Authority, now: float) -> bool:
    return authority_validity(authority)[1] <= now
