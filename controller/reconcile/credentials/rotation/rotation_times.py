"""When each Secret of credentials was rotated last, and is rotated next by the schedule of the region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller.domain.api.names import ROTATED_ANNOTATION
from controller.domain.api.region_spec import CredentialRotationFeature
from controller.domain.credentials.certificate_lifetimes import CLOCK_DIFFERENCE
from controller.domain.credentials.rotation.accounts import Release, SecretUse, uses_of
from controller.domain.credentials.rotation.in_place import in_place
from controller.domain.credentials.rotation.not_rotated import why_refused
from controller.domain.credentials.rotation.schedule import RotationTimes, rotation_schedule
from controller.domain.shared.times import seconds_of
from controller.domain.values.catalogue import CredentialSecret
from controller.errors import SpecInvalid
from controller.reconcile.credentials.store import CredentialStore


def rotation_times(
    rotation: CredentialRotationFeature,
    store: CredentialStore,
    releases: tuple[Release, ...],
    desired: Iterable[CredentialSecret],
    now: float,
) -> dict[str, RotationTimes]:
    """Of each desired Secret, by its name, with the `rotation` in force. `store` has observed."""
    schedule = rotation_schedule(rotation)
    uses: Mapping[str, SecretUse] = {}
    if schedule is not None:
        try:
            uses = uses_of(releases)
        except SpecInvalid:
            schedule = None
    found = {}
    for secret in desired:
        last = seconds_of(store.notes(secret.name).get(ROTATED_ANNOTATION)) or None
        if last is not None and last > now + CLOCK_DIFFERENCE:
            last = None  # by a clock that was ahead
        use = uses.get(secret.name, SecretUse())
        shared = in_place(secret.service, secret.credentials, use)
        refused = shared.restarted or why_refused(use, shared, secret.credentials, releases)
        followed = secret.name in store.rotatable() and not refused
        if schedule is None or not followed:
            found[secret.name] = RotationTimes(last)
            continue
        following = schedule.next(last or store.created(secret.name), now)
        found[secret.name] = RotationTimes(last, following, following <= now)
    return found
