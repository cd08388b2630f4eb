"""The rotation of one Secret: its first write, and what is next of it, until everything uses what it says.

Each pass looks at how everything is, and does the one thing that is next; what has to be remembered is in the
Secret itself (`domain.credentials.rotation.record`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import (
    RECONCILE_ANNOTATION,
    ROTATE_ANNOTATION,
    ROTATED_ANNOTATION,
    ROTATION_ANNOTATION,
)
from controller.domain.api.reasons import Reason
from controller.domain.credentials.generate import (
    CredentialUnusable,
)
from controller.domain.credentials.rotation.accounts import (
    Account,
    Release,
    references_to,
    releases_of,
    use_of,
)
from controller.domain.credentials.rotation.in_place import (
    SSH_STAGES,
    in_place,
    is_temporary,
    lets_in_next,
)
from controller.domain.credentials.rotation.not_rotated import why_refused
from controller.domain.credentials.rotation.record import (
    Phase,
    RotationRecord,
    RotationView,
    record_text,
)
from controller.domain.shared.times import is_ahead
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.secret_refs import find_references
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import PasswordRefused, ServerUnavailable, SpecInvalid
from controller.ports.accounts import WrappedKeys
from controller.ports.kubernetes import HELMBUNDLE
from controller.reconcile.credentials.region_pass import RegionPass, SecretsPorts
from controller.reconcile.credentials.rotation.barbican_rewrapping import Rewrapping
from controller.reconcile.credentials.rotation.credential_uptake import CredentialUptake
from controller.reconcile.credentials.rotation.kept_accounts import KeptPasswords
from controller.reconcile.credentials.rotation.replaced_accounts import ReplacedAccounts, accounts_to_go
from controller.reconcile.credentials.rotation.rotation_texts import RotationTexts, Texts
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import patch_seen
from controller.reconcile.shared.secret_values import AccountLogins, SecretValues

# Seconds from one look at a rotation to the next.
ROTATION_SECONDS = 10.0


@dataclass(frozen=True)
class RotatedRegion:
    """What one pass works on. `recalled`: the rotations of which it is not known how far they are."""

    work: RegionPass
    releases: tuple[Release, ...]
    logins: AccountLogins
    accounts: ReplacedAccounts
    passwords: KeptPasswords
    recalled: Mapping[str, RotationView]


class SecretRotation:
    """Of any Secret of the region."""

    def __init__(self, ports: SecretsPorts, keys: WrappedKeys) -> None:
        self._kube = ports.kube
        self._clock = ports.clock
        self._texts = RotationTexts(ports.randomness)
        self._events = ports.events
        self._rewrapping = Rewrapping(keys)
        self._uptake = CredentialUptake(ports.kube, ports.records, ports.option_files)

    def now(self) -> float:
        """By the clock, in whole seconds since the epoch, as records have them."""
        return float(int(self._clock.now()))

    def begin(self, region: RotatedRegion, secret: CredentialSecret) -> RotationView | None:
        """The first write, if nothing is in its way; None where it is refused for good."""
        store, name = region.work.store, secret.name
        try:
            use = use_of(name, region.releases)
            shared = in_place(secret.service, secret.credentials, use)
            refused = why_refused(use, shared, secret.credentials, region.releases)
            if refused:
                self._refuse(region, name, f"Secret {name} is not rotated: {refused}")
                return None
            suffix = store.text(name, ACCOUNT_SUFFIX)
            moving = use.accounts if use.keys & secret.credentials.keys() else ()
            before = tuple(dict.fromkeys(one.named(suffix) for one in moving))
            waits = self._in_the_way(region, name, before, wraps=shared.wraps)
            record = RotationRecord(
                self.now(),
                suffix,
                before,
                shared.shared,
                shared.pairs,
                wraps=shared.wraps,
                kept_accounts=shared.kept_accounts,
            )
            new: Texts = {}
            if not waits:
                following = region.accounts.free_suffix(use, suffix) if before else ""
                record = self._told(region, secret, record)
                new = self._texts.first(store, secret, use, record, lambda: following)
        except (SpecInvalid, ServerUnavailable, CredentialUnusable) as error:
            waits = (str(error),)
        if waits:
            return RotationView(Phase.WAITING, "; ".join(waits))
        if not new:
            store.rewrite(name, {ROTATE_ANNOTATION: None}, done="not rotated")
            return None
        notes = {ROTATION_ANNOTATION: record_text(record), ROTATE_ANNOTATION: None}
        names = sorted(key for key in new if key in secret.credentials)
        done = f"new {', '.join(names)}" + (", for accounts with new names" if before else "")
        store.rewrite(name, notes, new, done=done)
        stays = set(shared.kept_accounts) - set(record.kept_accounts)
        replaced = sorted({one.name for one in before} | shared.keys - stays)
        self._tell(
            region, Reason.CREDENTIALS_ROTATING, f"Secret {name}: the rotation replaces {', '.join(replaced)}"
        )
        return RotationView(Phase.ROLLING, "begun just now", record.since)

    def _in_the_way(
        self, region: RotatedRegion, name: str, before: Iterable[Account], *, wraps: bool
    ) -> tuple[str, ...]:
        """Why a rotation does not begin yet. Raises what asking servers raises."""
        waits = self._uptake.waits(region.work.namespace, name, region.releases, 0.0)
        waits = waits or region.accounts.in_the_way(before)
        if wraps and not waits:
            waits = self._rewrapping.waits(name, region.work.store, region.releases, region.logins)
        return waits

    def _told(
        self, region: RotatedRegion, secret: CredentialSecret, record: RotationRecord
    ) -> RotationRecord:
        """The last before the first write: servers know the next passwords of accounts that keep their names.
        The record without those that they do not take."""
        name, keys, kinds = secret.name, record.kept_accounts, secret.credentials
        try:
            region.passwords.drop_other_passwords(name, keys)
            region.passwords.prepare(name, keys, lambda key: self._texts.password(kinds[key]))
            region.passwords.tell(name, keys)
        except PasswordRefused as error:
            region.passwords.forget(name, keys)
            self._tell(region, Reason.ROTATION_REFUSED, f"Secret {name}: {', '.join(keys)} stays: {error}")
            return replace(record, kept_accounts=())
        return record

    def _refuse(self, region: RotatedRegion, name: str, text: str) -> None:
        region.work.store.rewrite(name, {ROTATE_ANNOTATION: None}, done="not rotated")
        self._tell(region, Reason.ROTATION_REFUSED, text)

    def _again(
        self, region: RotatedRegion, name: str, record: RotationRecord, kinds: Mapping[str, str]
    ) -> RotationView | None:
        """Makes again what was lost of keys that are being replaced: releases that have taken up the next one
        and those that have not do not agree on it, and only pods know either. None where all are there."""
        new = self._texts.lost(region.work.store.texts(name), record, kinds)
        if not new:
            return None
        # Of what a second name says, pods take nothing up.
        following = record if all(map(is_temporary, new)) else replace(record, rewritten=self.now())
        notes = {ROTATION_ANNOTATION: record_text(following)}
        done = f"{', '.join(sorted(new))} was lost while it was replaced, and is restored"
        region.work.store.rewrite(name, notes, new, done=done)
        return RotationView(Phase.ROLLING, done, record.since)

    def proceed(
        self, region: RotatedRegion, name: str, record: RotationRecord, held: str, kinds: Mapping[str, str]
    ) -> RotationView | None:
        """The next step of a running rotation; None once it is complete. `kinds`: of the Secret's keys."""
        if held:
            return RotationView(Phase.ROLLING, held, record.since)
        if is_ahead(record.written, self.now()):
            # A clock that was ahead wrote this time: no later beginning would ever count.
            now = self.now()
            record = replace(record, since=min(record.since, now), rewritten=now)
            noted = {ROTATION_ANNOTATION: record_text(record)}
            region.work.store.rewrite(name, noted, done="noted again, with the right time")
        again = self._again(region, name, record, kinds)
        if again is not None:
            return again
        try:
            use = use_of(name, region.releases)
            suffix = region.work.store.text(name, ACCOUNT_SUFFIX)
            going = accounts_to_go(record, use, region.releases, self._suffixes(region), suffix)
            waits = self._uptake.waits(region.work.namespace, name, region.releases, record.written)
            if waits:
                self._wake(region, name, record)
                waits += region.accounts.pass_on_what_can_be(going.replaced)
                return RotationView(Phase.ROLLING, "; ".join(waits), record.since)
            if record.has_stages:
                return self._next_stage(region.work.store, name, record)
            waits = region.accounts.copy_grants(going.replaced)
            waits += region.accounts.in_the_way(going.replaced) + region.accounts.connected(going.replaced)
            if record.wraps:
                waits += self._rewrapping.waits(name, region.work.store, region.releases, region.logins)
            if not waits:
                region.accounts.drop(going.replaced)
                region.passwords.drop_other_passwords(name, record.kept_accounts)
                waits = region.accounts.still_there(going.left)
            if waits:
                return RotationView(Phase.REMOVING, "; ".join(waits), record.since)
        except (SpecInvalid, ServerUnavailable, CredentialUnusable) as error:
            return RotationView(Phase.REMOVING, str(error), record.since)
        notes = {ROTATION_ANNOTATION: None, ROTATED_ANNOTATION: timestamp(self._clock.now())}
        region.work.store.rewrite(
            name,
            notes,
            self._texts.ended(record),
            done="rotated, the former credentials are not used any more",
        )
        self._tell(region, Reason.CREDENTIALS_ROTATED, f"Secret {name}: everything uses its current content")
        return None

    def _next_stage(self, store: CredentialStore, name: str, record: RotationRecord) -> RotationView:
        """The write after which pods use the next stage of pairs of keys. If others removed the next key from
        the Secret, the first stage follows again."""
        texts = store.texts(name)
        try:
            ready = record.stage > 1 or all(lets_in_next(one, texts) for one in record.pairs)
            stage = record.stage + 1 if ready else 1
            following = replace(record, stage=stage, rewritten=self.now())
            new = self._texts.pairs(store.texts(name), following)
            notes = {ROTATION_ANNOTATION: record_text(following)}
            store.rewrite(
                name, notes, new, done=f"stage {stage} of {SSH_STAGES} of {', '.join(record.pairs)}"
            )
        except (CredentialUnusable, LookupError) as error:
            return RotationView(Phase.ROLLING, str(error), record.since)
        return RotationView(Phase.ROLLING, f"stage {stage} of {SSH_STAGES} of SSH keys", record.since)

    def _suffixes(self, region: RotatedRegion) -> dict[str, str]:
        values = SecretValues(self._kube, region.work.namespace)
        names = {
            one.name
            for release in region.releases
            for one in find_references(release.values)
            if one.prefix is not None
        }
        return {name: values.lookup(name, ACCOUNT_SUFFIX) or "" for name in names}

    def _wake(self, region: RotatedRegion, name: str, record: RotationRecord) -> None:
        """Has bundles looked at now: nothing tells them that a Secret has changed."""
        asked = timestamp(record.written)
        for bundle in region.work.bundles:
            if not any(references_to(name, one) for one in releases_of([bundle])):
                continue
            meta = bundle["metadata"]
            if str((meta.get("annotations") or {}).get(RECONCILE_ANNOTATION) or "") < asked:
                patch = {"metadata": {"annotations": {RECONCILE_ANNOTATION: asked}}}
                patch_seen(self._kube, HELMBUNDLE, bundle, patch)
                place = f"{region.work.namespace}/{meta['name']}"
                log_action("request-reconcile", place, f"HelmBundle {place}: Secret {name} has changed")

    def _tell(self, region: RotatedRegion, reason: Reason, text: str) -> None:
        self._events.emit(region.work.osdpl, type_=reason.event, reason=reason, message=text)
