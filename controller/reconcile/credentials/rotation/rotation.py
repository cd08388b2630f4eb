"""Rotates the credentials of services, on request or by the schedule of the region: creates the next
accounts, upgrades everything that uses them, and deletes the old accounts.

Each pass looks at how everything is, and does the one thing that is next; what has to be remembered is in the
Secret itself (`domain.credentials.rotation.record`). One Secret is rotated at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from controller.domain.api.names import (
    ROTATE_ANNOTATION,
)
from controller.domain.credentials.readers import READER_CREDENTIALS
from controller.domain.credentials.rotation.accounts import (
    Release,
    references_to,
    releases_of,
)
from controller.domain.credentials.rotation.record import (
    Phase,
    RotationRecord,
    RotationView,
    lost_rotations,
)
from controller.domain.credentials.rotation.schedule import RotationTimes
from controller.domain.region.upgrade.upgrade_state import upgrade_obstacle
from controller.domain.values.catalogue import CredentialSecret
from controller.errors import KubeError, SpecInvalid, is_refusal
from controller.ports.accounts import RegionAccounts, WrappedKeys
from controller.reconcile.credentials.refused_writes import REFUSED
from controller.reconcile.credentials.region_pass import RegionPass, SecretsPorts
from controller.reconcile.credentials.rotation.kept_accounts import InterruptedPasswords, KeptPasswords
from controller.reconcile.credentials.rotation.replaced_accounts import ReplacedAccounts
from controller.reconcile.credentials.rotation.rotation_recall import RecalledRotations
from controller.reconcile.credentials.rotation.rotation_records import rotation_of, with_records
from controller.reconcile.credentials.rotation.rotation_times import rotation_times
from controller.reconcile.credentials.rotation.secret_rotation import RotatedRegion, SecretRotation
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.secret_values import AccountLogins

# Seconds from one look at a rotation to the next.
ROTATION_SECONDS = 10.0


@dataclass(frozen=True)
class _Turns:
    """Whose turn it may be, once what was cut off is finished: `waiting` are those that cannot go on before a
    person or a Secret comes back, `candidates` those that may begin, each with whether it was asked for."""

    region: RotatedRegion
    waiting: Mapping[str, RotationView]
    candidates: tuple[tuple[CredentialSecret, bool], ...]


class CredentialRotation(CredentialStep[RotatedRegion, _Turns]):
    """`Step.ROTATION`."""

    def __init__(self, ports: SecretsPorts, servers: RegionAccounts, keys: WrappedKeys) -> None:
        self._kube = ports.kube
        self._clock = ports.clock
        self._servers = servers
        self._secrets = SecretRotation(ports, keys)

    def observe(self, work: RegionPass, before: Published) -> RotatedRegion | None:
        """The releases of the region, and the ways to their servers."""
        releases = releases_of(work.bundles)
        logins = AccountLogins(self._kube, work.namespace)
        accounts = ReplacedAccounts(self._servers, logins, releases)
        passwords = KeptPasswords(self._servers, work.store, logins, releases, work.namespace)
        recalled = before.fact(RecalledRotations)
        return RotatedRegion(
            work, releases, logins, accounts, passwords, recalled.views if recalled is not None else {}
        )

    def decide(self, work: RegionPass, observed: RotatedRegion) -> _Turns:
        """Which rotations cannot go on, and what may begin."""
        waiting = {**lost_rotations(work.osdpl, work.store.stored()), **observed.recalled}
        candidates = tuple(
            (secret, ROTATE_ANNOTATION in work.store.notes(secret.name))
            for secret in work.needs.credentials
            if secret.name in work.store.stored()
        )
        return _Turns(observed, waiting, candidates)

    def apply(self, work: RegionPass, decided: _Turns) -> Published:
        """Does what is next: finishes what was cut off, goes on with what is under way, and begins one."""
        region, views = decided.region, dict(decided.waiting)
        interrupted = InterruptedPasswords(
            self._kube, self._servers, work.store, region.releases, work.namespace
        )
        waiting = interrupted.finish(self._secrets.now(), work.held, region.recalled)
        busy = min(waiting, default="")
        views |= waiting
        busy = self._go_on(region, views) or busy
        # Looked at only now: what has just come to its end is not due any more.
        times = rotation_times(
            work.rotation, work.store, region.releases, work.needs.credentials, self._clock.now()
        )
        self._begin_next(decided, views, times, busy)
        again = ROTATION_SECONDS if views and not work.read_only else math.inf
        return Published(rotations=with_records(work.store, views), times=times, again=again)

    def _go_on(self, region: RotatedRegion, views: dict[str, RotationView]) -> str:
        """Has every rotation that is under way do what is next; the one that holds up others."""
        busy = ""
        kinds = {secret.name: secret.credentials for secret in region.work.needs.credentials}
        for name, record in _under_way(region.work.store):
            if obstacle := region.work.store.write_obstacle(name):
                views[name] = RotationView(Phase.ROLLING, obstacle, record.since)
                continue
            phase = Phase.ROLLING if record.has_stages else Phase.REMOVING
            proceed = partial(
                self._secrets.proceed, region, name, record, region.work.held, kinds.get(name, {})
            )
            view = _unless_refused(proceed, RotationView(phase, REFUSED, record.since))
            if view is not None:
                views[name] = view
                # One whose service is gone, and may never come back, holds up no other.
                busy = name if _is_used(name, region.releases) else busy
        return busy

    def _begin_next(
        self,
        turns: _Turns,
        views: dict[str, RotationView],
        times: Mapping[str, RotationTimes],
        busy: str,
    ) -> None:
        """Begins one rotation that was asked for or is due, while no other is `busy`."""
        held = turns.region.work.held or upgrade_obstacle(turns.region.work.osdpl)
        for secret, asked in turns.candidates:
            if secret.name in views:
                continue
            if obstacle := turns.region.work.store.write_obstacle(secret.name):
                if asked:
                    views[secret.name] = RotationView(Phase.WAITING, obstacle)
                continue
            if not asked and (held or not times[secret.name].is_due):
                continue
            waits = held or (f"Secret {busy} is rotated first" if busy else "")
            view: RotationView | None = RotationView(Phase.WAITING, waits or REFUSED)
            if not waits:
                view = _unless_refused(
                    partial(self._secrets.begin, turns.region, secret), RotationView(Phase.WAITING, REFUSED)
                )
            if view is not None:
                views[secret.name] = view
                busy = busy or (secret.name if view.since is not None else "")


def _unless_refused(step: Callable[[], RotationView | None], otherwise: RotationView) -> RotationView | None:
    """What a step gives; `otherwise` where the API server refuses a write of it."""
    try:
        return step()
    except KubeError as error:
        if not is_refusal(error):
            raise
        return otherwise


def _is_used(name: str, releases: Iterable[Release]) -> bool:
    """Whether a release refers to the Secret; one whose values cannot be read may."""
    try:
        return any(references_to(name, one) for one in releases)
    except SpecInvalid:
        return True


def _under_way(store: CredentialStore) -> Iterator[tuple[str, RotationRecord]]:
    for name in sorted(store.stored()):
        record = rotation_of(store, name)
        if record is not None and name != READER_CREDENTIALS:  # no release has that account
            yield name, record
