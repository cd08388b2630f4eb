"""The account that may only read is replaced by one with another name and password, and the one before ends
once all copies have the next one, and whoever has read them before has had time to read them again.

What has to be remembered is in the annotation of its Secret, as of every rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import (
    READER_SECRET,
    ROTATE_ANNOTATION,
    ROTATED_ANNOTATION,
    ROTATION_ANNOTATION,
)
from controller.domain.api.reasons import Reason
from controller.domain.credentials.certificate_lifetimes import CLOCK_DIFFERENCE
from controller.domain.credentials.generate import generate
from controller.domain.credentials.readers import READER_CREDENTIALS, READER_PASSWORD
from controller.domain.credentials.rotation.accounts import Account, next_suffix
from controller.domain.credentials.rotation.record import Phase, RotationRecord, RotationView, record_text
from controller.domain.credentials.rotation.schedule import RotationTimes, rotation_schedule
from controller.domain.shared.times import seconds_of
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.ports.kubernetes import Events, Kube
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.exchange.namespace_exchange import GoneOffers, NamespaceExchange
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.rotation.rotation_records import rotation_of, with_records
from controller.reconcile.credentials.store import CredentialStore

# Seconds for which both the old and the next account can log in. A kubelet updates a mounted Secret within
# two minutes (its sync period, and the lifetime of its cache).
OVERLAP_SECONDS = 600.0


class ReaderRotation:
    """Of one region."""

    def __init__(self, kube: Kube, clock: Clock, randomness: Randomness, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._randomness = randomness
        self._events = events

    def proceed(
        self, work: RegionPass, account: Account, drop_others: Callable[[], None]
    ) -> RotationView | None:
        """Does what is next; None where nothing is to be rotated, or has just been. `account` is there, and
        exported; `drop_others` ends all the others. Raises ServerUnavailable, Conflict, KubeError."""
        store = work.store
        record = rotation_of(store, READER_CREDENTIALS)
        view = self._begin(work, account) if record is None else None
        if record is not None:
            view = self._go_on(work, record, drop_others)
        return with_records(store, {READER_CREDENTIALS: view})[READER_CREDENTIALS] if view else None

    def waiting(self, store: CredentialStore, why: str) -> dict[str, RotationView]:
        """The view of a rotation that cannot continue, or begin."""
        record = rotation_of(store, READER_CREDENTIALS)
        if record is not None:
            phase = Phase.REMOVING if record.rewritten else Phase.ROLLING
            view = RotationView(phase, why, record.since)
        elif ROTATE_ANNOTATION in store.notes(READER_CREDENTIALS):
            view = RotationView(Phase.WAITING, why)
        else:
            return {}
        return with_records(store, {READER_CREDENTIALS: view})

    def _begin(self, work: RegionPass, account: Account) -> RotationView | None:
        """One write says which account is next; the passes after it make it."""
        store = work.store
        asked = ROTATE_ANNOTATION in store.notes(READER_CREDENTIALS)
        if not asked and not rotation_times_of(work, self._clock.now()).is_due:
            return None
        suffix = store.text(READER_CREDENTIALS, ACCOUNT_SUFFIX)
        record = RotationRecord(float(int(self._clock.now())), suffix, (account,))
        new = {
            READER_PASSWORD: generate("password", self._randomness),
            ACCOUNT_SUFFIX: next_suffix(suffix),
        }
        notes = {ROTATION_ANNOTATION: record_text(record), ROTATE_ANNOTATION: None}
        store.rewrite(READER_CREDENTIALS, notes, new, done=f"new {READER_PASSWORD}, for another account")
        self._tell(
            work, Reason.CREDENTIALS_ROTATING, f"Secret {READER_CREDENTIALS}: {account.name} is replaced"
        )
        return RotationView(Phase.ROLLING, "begun just now", record.since)

    def _go_on(
        self, work: RegionPass, record: RotationRecord, drop_others: Callable[[], None]
    ) -> RotationView | None:
        store = work.store
        behind = NamespaceExchange(self._kube, work.osdpl, GoneOffers(self._clock)).behind(READER_SECRET)
        if behind:
            text = f"these copies do not have the next account yet: {', '.join(map(str, behind))}"
            return RotationView(Phase.ROLLING, text, record.since)
        now = self._clock.now()
        # A clock that was ahead holds up nothing for longer than this one takes.
        if not record.rewritten or record.rewritten > now + CLOCK_DIFFERENCE:
            record = replace(record, rewritten=float(int(now)))
            done = "all copies have the next account"
            store.rewrite(READER_CREDENTIALS, {ROTATION_ANNOTATION: record_text(record)}, done=done)
        end = record.rewritten + OVERLAP_SECONDS
        if now < end:
            text = (
                f"the former account stays valid until {timestamp(end)}, for clients that have read it before"
            )
            return RotationView(Phase.REMOVING, text, record.since)
        drop_others()
        notes = {ROTATION_ANNOTATION: None, ROTATED_ANNOTATION: timestamp(now)}
        store.rewrite(READER_CREDENTIALS, notes, done="rotated, the former account is deleted")
        text = f"Secret {READER_CREDENTIALS}: the former account is deleted"
        self._tell(work, Reason.CREDENTIALS_ROTATED, text)
        return None

    def _tell(self, work: RegionPass, reason: Reason, text: str) -> None:
        self._events.emit(work.osdpl, type_=reason.event, reason=reason, message=text)


def rotation_times_of(work: RegionPass, now: float) -> RotationTimes:
    """When it was, and will be rotated by the schedule of the region. `store` has observed the Secret."""
    store, feature = work.store, work.features
    last = seconds_of(store.notes(READER_CREDENTIALS).get(ROTATED_ANNOTATION)) or None
    if last is not None and last > now + CLOCK_DIFFERENCE:
        last = None  # by a clock that was ahead
    schedule = rotation_schedule(feature.credential_rotation)
    if schedule is None or not feature.read_only_account.enabled:
        return RotationTimes(last)
    following = schedule.next(last or store.created(READER_CREDENTIALS), now)
    return RotationTimes(last, following, following <= now)
