"""Sees to it that every credential of the region is there, and says so in the status of the osdpl."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.conditions import Condition, entries, find
from controller.domain.api.keys import RegionKey
from controller.domain.api.names import (
    CA_BUNDLE_SECRET,
    DEPLOYMENT_LABEL,
    SERVICE_LABEL,
    field_manager,
)
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.credentials.certificate_ends import ending_soon
from controller.domain.credentials.certificates import AUTHORITY, named_secrets
from controller.domain.credentials.credential_plan import (
    CredentialPlan,
    CredentialProblem,
    plan_credentials,
    plan_disowning,
    plan_retention,
)
from controller.domain.credentials.rotation.record import RotationView
from controller.domain.credentials.secret_status import (
    CONDITION,
    SecretView,
    joined_views,
    rotation_notes,
    secret_entries,
    secrets_condition,
    waiting_condition,
    with_certificates,
    with_times,
)
from controller.domain.credentials.signs_of_life import KnownCredentials
from controller.domain.region.plan import awaits_approval
from controller.domain.values.catalogue import CertificateRequest, CredentialSecret
from controller.domain.values.ceph_needs import CephNeeds
from controller.domain.values.option_files import OptionFiles
from controller.errors import Conflict, ObjectMissing, SpecInvalid
from controller.ports.accounts import ReaderAccounts
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.ceph.ceph_exchange import CHECK_SECONDS, CephExchange, CephState
from controller.reconcile.credentials.ceph.ceph_request import Asked, CephRequest
from controller.reconcile.credentials.ceph.exchanged_objects import ExchangedObjects
from controller.reconcile.credentials.certificates.amphora_certificates import (
    AmphoraCertificates,
    AmphoraState,
    passphrase_place,
)
from controller.reconcile.credentials.certificates.certificate_ends import Certificates
from controller.reconcile.credentials.certificates.own_certificates import UPTAKE_SECONDS, OwnCertificates
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.exchange.clouds_export import CloudsExport
from controller.reconcile.credentials.exchange.namespace_exchange import GoneOffers, NamespaceExchange
from controller.reconcile.credentials.generation.credential_views import CredentialViews
from controller.reconcile.credentials.generation.own_texts import text_doubts
from controller.reconcile.credentials.readers.reader_account import ReaderState, ReadOnlyAccount
from controller.reconcile.credentials.recovery.known_credentials import CredentialMemory
from controller.reconcile.credentials.recovery.lost_credentials import LostCredentials, held_back
from controller.reconcile.credentials.region_facts import features_of, generation_of, services_of
from controller.reconcile.credentials.rotation.rotation import (
    ROTATION_SECONDS,
    CredentialRotation,
    Rotations,
    held_by,
)
from controller.reconcile.credentials.rotation.rotation_records import (
    UNREADABLE,
    recall_rotations,
    unknown,
)
from controller.reconcile.credentials.store import CredentialStore, made_changes, unusable
from controller.reconcile.shared.managed_region import observe_regions
from controller.reconcile.shared.region_status import apply_region_status
from controller.reconcile.shared.remaining_claims import (
    credentials_policy,
)

log = logging.getLogger(__name__)

MANAGER = field_manager("secrets")
# Someone else's write between our read and our write: read again at once, a few times.
ATTEMPTS = 5
# An operator's own Secret may come at any time, and nothing tells us: Secrets are not watched, since
# Helm's releases are Secrets too and come at every revision with all their bulk.
RESYNC_SECONDS = 5.0
# What is marked is removed by a pass that reads everything again.
AT_ONCE = 0.0


class SecretsReconciler:
    """Level-triggered and killable anywhere: a Secret is made in one write, with all its keys.

    `credentials_of` says which credentials an osdpl needs, `certificates_of` which certificates of its own
    authority, `ceph_of` what of a Ceph cluster that it exchanges with; each raises SpecInvalid. `records` are
    Helm's, `rotation` replaces what is asked to be rotated, `readers` makes accounts that may only read, None
    for nothing. `digest_key` gives the installation's key for published digests, `option_files` are those of
    charts, `sealing` seals the keys of the region's authority, None for not; `resync` is in seconds.
    """

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        randomness: Randomness,
        events: Events,
        records: ReleaseRecords,
        credentials_of: Callable[[Mapping[str, Any]], tuple[CredentialSecret, ...]],
        certificates_of: Callable[[Mapping[str, Any]], tuple[CertificateRequest, ...]] = lambda _: (),
        ceph_of: Callable[[Mapping[str, Any]], CephNeeds | None] = lambda _: None,
        rotation: CredentialRotation | None = None,
        readers: ReaderAccounts | None = None,
        digest_key: Callable[[], bytes],
        option_files: OptionFiles,
        sealing: SealingKey | None = None,
        resync: float,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._randomness = randomness
        self._events = events
        self._credentials_of = credentials_of
        self._certificates_wanted = certificates_of
        self._ceph_of = ceph_of
        self._rotation = rotation
        self._digest_key = digest_key
        self._resync = resync
        self._records = records
        self._lost = LostCredentials(records, events, option_files)
        self._gone = GoneOffers(clock)
        self._clouds = CloudsExport(kube)
        self._reader = ReadOnlyAccount(kube, clock, randomness, events, readers)
        self._certificates = Certificates(kube, clock)
        self._own_certificates = OwnCertificates(kube, clock, randomness, events, sealing)
        self._amphorae = AmphoraCertificates(kube, clock, randomness, events)

    def reconcile(self, key: RegionKey) -> float | None:
        """One pass; seconds until the next that no event will announce, None when the osdpl is gone.

        Raises KubeError when the API server cannot be asked, or others write all the time.
        """
        for attempt in range(ATTEMPTS):
            try:
                again = self._reconcile_once(key)
                if again != AT_ONCE:
                    return again
            except (Conflict, ObjectMissing):  # a Secret may go; a new pass finds whether it was the osdpl
                if attempt == ATTEMPTS - 1:
                    raise
                extra = {"object": "/".join(key), "reason": "Conflict"}
                log.debug("somebody else wrote meanwhile; reading again", extra=extra)
        return RESYNC_SECONDS

    def _reconcile_once(self, key: RegionKey) -> float | None:
        namespace, name = key
        osdpl = self._kube.get(OSDPL, name, namespace)
        if osdpl is None:
            return None
        regions = observe_regions(self._kube, namespace)
        if regions.managed != name:
            return regions.pause(name, self._resync)
        store = CredentialStore(self._kube, self._randomness, osdpl, self._digest_key)
        if osdpl["metadata"].get("deletionTimestamp"):
            self._apply_retention(store, osdpl)
            return AT_ONCE if store.marked else self._resync
        try:
            desired, ceph = self._credentials_of(osdpl), self._ceph_of(osdpl)
        except SpecInvalid as error:
            # What was published stays: it says which keys there are. But certificates end meanwhile.
            known = (osdpl.get("status") or {}).get("secrets") or {}
            found = secret_entries(self._certificates_of(osdpl).values(), known, self._clock.now())
            published = with_certificates(known, found)
            problems = ExchangedObjects(self._kube, osdpl).disown()
            problems += made_changes(store, plan_disowning(store.observe(()).values()))
            text = "; ".join([str(error), *(f"Secret {one.secret}: {one.message}" for one in problems)])
            self._publish(osdpl, published, waiting_condition(text, generation_of(osdpl)))
            return RESYNC_SECONDS if problems else self._resync
        problems, looks_again = self._ensure(store, osdpl, desired, ceph, read_only=awaits_approval(osdpl))
        if problems or self._certificates.unfinished:
            return RESYNC_SECONDS
        if self._own_certificates.unfinished:
            return UPTAKE_SECONDS
        if self._reader.unfinished or (self._rotation is not None and self._rotation.unfinished):
            return ROTATION_SECONDS
        return min(CHECK_SECONDS, self._resync) if looks_again else self._resync

    def _ensure(
        self,
        store: CredentialStore,
        osdpl: KubeObject,
        desired: tuple[CredentialSecret, ...],
        ceph: CephNeeds | None,
        *,
        read_only: bool,
    ) -> tuple[list[CredentialProblem], bool]:
        """Makes what is missing, and publishes what there is. Gives problems, and whether other namespaces
        need a look without an event. `read_only` (planned, or paused): only owners change.
        """
        disowned = ExchangedObjects(self._kube, osdpl).disown()
        # Before the rest: what it brings may be what is missed below.
        shared = NamespaceExchange(self._kube, osdpl, self._gone).ensure(read_only=read_only)
        bundles = self._bundles(osdpl)
        services = services_of(bundles)
        stored = store.observe((*(secret.name for secret in desired), *self._reader.names(osdpl)))
        recalled = recall_rotations(osdpl, store, held_by(read_only), self._clock.now())
        memory = CredentialMemory(self._kube, self._records, osdpl)
        known = memory.observe(bundles, desired, stored)
        plan, problems = self._completed(store, osdpl, bundles, desired, known, read_only=read_only)
        problems += [*disowned, *(CredentialProblem(name, UNREADABLE) for name in unknown(recalled))]
        rotations, reader = self._rotated(osdpl, store, bundles, desired, recalled, read_only=read_only)
        problems += reader.problems
        own = features_of(osdpl).credentials
        problems += unusable(store, own)
        now = self._clock.now()
        doubts = text_doubts(store, own, desired, osdpl, bundles=bundles, now=now, read_only=read_only)
        published = CredentialViews(store, self._digest_key, problems, doubts)
        ours = published.of_ours(desired, recorded=known.recorded, services=services)
        views = {**published.of_own(own), **ours}
        problems += self._ensured_certificates(osdpl, bundles, planned=read_only)
        amphorae = self._ensured_amphorae(osdpl, store, known.keys, planned=read_only)
        problems += amphorae.problems
        if not read_only:
            made = {name: view.keys for name, view in amphorae.views.items()}
            problems += memory.note(store.stored(), made)
        views |= amphorae.views
        views |= reader.views
        views |= self._clouds.publish(osdpl, bundles, store, self._digest_key, problems, read_only=read_only)
        credentials = sum(len(secret.credentials) for secret in desired) + len(own)
        needed = {secret.name for secret in desired} | {secret.name for secret in own}
        later = sum(bool(change.add) for change in plan.changes) if read_only else 0
        views = _without_coming(views, store) if later else views
        exchanged = self._exchanged(osdpl, bundles, ceph, read_only=read_only)
        problems += [*exchanged.problems, *shared.problems]
        views |= exchanged.views
        certificates = self._certificates_of(osdpl)
        problems += _certificate_problems(named_secrets(features_of(osdpl)), certificates)
        views = with_times(joined_views(views, certificates, rotations.views), rotations.times)
        notes = (*exchanged.notes, *shared.notes, *amphorae.notes, *reader.notes)
        notes += rotation_notes(rotations.views)
        condition = secrets_condition(
            problems, len(needed), credentials, generation_of(osdpl), later=later, doubts=doubts, notes=notes
        )
        before = (osdpl.get("status") or {}).get("secrets") or {}
        self._publish(osdpl, secret_entries(views.values(), before, self._clock.now()), condition)
        return problems, shared.busy or ceph is not None

    def _rotated(
        self,
        osdpl: KubeObject,
        store: CredentialStore,
        bundles: KubeObjects,
        desired: tuple[CredentialSecret, ...],
        recalled: Mapping[str, RotationView],
        *,
        read_only: bool,
    ) -> tuple[Rotations, ReaderState]:
        """How far rotations are, those of the account that may only read, too; and that account."""
        found = Rotations()
        if self._rotation is not None:
            found = self._rotation.ensure(
                osdpl, store, bundles, desired, recalled=recalled, read_only=read_only
            )
        reader = self._reader.ensure(
            osdpl, store, bundles, digest_key=self._digest_key, recalled=recalled, read_only=read_only
        )
        return Rotations({**found.views, **reader.rotations}, {**found.times, **reader.times}), reader

    def _completed(
        self,
        store: CredentialStore,
        osdpl: KubeObject,
        bundles: KubeObjects,
        desired: tuple[CredentialSecret, ...],
        known: KnownCredentials,
        *,
        read_only: bool,
    ) -> tuple[CredentialPlan, list[CredentialProblem]]:
        """Makes what is new and brings back what was lost, where that is possible; what was planned, and what
        is wrong."""

        def planned() -> CredentialPlan:
            return plan_credentials(desired, store.stored(), recorded=known.keys)

        plan = planned()
        if read_only:
            lost = held_back(plan.lost, str(osdpl["metadata"]["namespace"]), known.unsure)
        else:
            lost = self._lost.bring_back(osdpl, store, bundles, plan.lost, known.unsure)
            plan = planned() if plan.lost else plan
        changes = plan_disowning(store.stored().values()) if read_only else plan.changes
        return plan, [*lost, *plan.problems, *made_changes(store, changes)]

    def _ensured_certificates(
        self, osdpl: KubeObject, bundles: KubeObjects, *, planned: bool
    ) -> list[CredentialProblem]:
        return self._own_certificates.ensure(
            osdpl,
            self._certificates_wanted(osdpl),
            authority_secret=features_of(osdpl).internal_tls.authority_secret,
            bundles=bundles,
            planned=planned,
            paused=parse_region_spec(osdpl.get("spec")).paused,
        )

    def _ensured_amphorae(
        self,
        osdpl: KubeObject,
        store: CredentialStore,
        recorded: Mapping[str, Collection[str]],
        *,
        planned: bool,
    ) -> AmphoraState:
        return self._amphorae.ensure(
            osdpl,
            self._certificates_wanted(osdpl),
            passphrase=lambda: store.any_text(*passphrase_place(features_of(osdpl).credentials)),
            recorded=recorded,
            digest=lambda name: store.digest(name, self._digest_key()),
            planned=planned,
            paused=parse_region_spec(osdpl.get("spec")).paused,
        )

    def _certificates_of(self, osdpl: KubeObject) -> dict[str, SecretView]:
        named = named_secrets(features_of(osdpl))
        if self._own_certificates.has_bundle:
            named[CA_BUNDLE_SECRET] = AUTHORITY
        named |= self._amphorae.published
        return self._certificates.observe(osdpl["metadata"]["namespace"], named)

    def _apply_retention(self, store: CredentialStore, osdpl: KubeObject) -> None:
        """The region goes, and with volumes the credentials; core lets it go once they are gone."""
        policy = credentials_policy(self._kube, osdpl)
        bundles = self._bundles(osdpl)
        store.observe(())
        self._reader.remove(osdpl, store, bundles)
        if not bundles:
            self._clouds.remove(osdpl)
            self._own_certificates.remove(osdpl)
            ExchangedObjects(self._kube, osdpl).remove()
            NamespaceExchange(self._kube, osdpl, self._gone).remove()
        plan = plan_retention(store.observe(()).values(), policy, services_of(bundles))
        for change in plan.changes:
            store.apply(change)
        for secret in plan.remove:
            store.remove(secret)
        if policy == "Delete" and not (bundles or plan.changes):
            CredentialMemory(self._kube, self._records, osdpl).forget()
        if policy == "Delete" and not bundles:
            self._amphorae.remove(osdpl)

    def _exchanged(
        self, osdpl: KubeObject, bundles: KubeObjects, needs: CephNeeds | None, *, read_only: bool
    ) -> CephState:
        if needs is None:
            return CephState()
        # Asked before it is looked at what there is: that may be the answer.
        asked = Asked() if read_only else CephRequest(self._kube, osdpl).ensure(needs, bundles)
        exchange = CephExchange(self._kube, osdpl, self._digest_key())
        state = exchange.ensure(needs, bundles, read_only=read_only, administrators=asked.administrators)
        problems = tuple(dict.fromkeys((*asked.problems, *state.problems)))
        return replace(state, problems=problems, notes=(*state.notes, *asked.unneeded))

    def _bundles(self, osdpl: KubeObject) -> KubeObjects:
        labels = f"{DEPLOYMENT_LABEL}={osdpl['metadata']['name']},{SERVICE_LABEL}"
        return self._kube.list(HELMBUNDLE, osdpl["metadata"]["namespace"], labels=labels)

    def _publish(self, osdpl: KubeObject, secrets: Mapping[str, Any], condition: Condition) -> None:
        known = (osdpl.get("status") or {}).get("conditions") or []
        conditions = entries([condition], known, self._clock.now())
        # Before it is noted as told: what a kill cuts off is told by the next pass.
        for text in ending_soon((osdpl.get("status") or {}).get("secrets") or {}, secrets):
            reason = Reason.CERTIFICATE_EXPIRES
            self._events.emit(osdpl, type_=reason.event, reason=reason, message=text)
        status = {"secrets": dict(secrets), "conditions": conditions}
        apply_region_status(self._kube, osdpl, status, manager=MANAGER, own_conditions=(CONDITION,))
        before = find(known, CONDITION)
        if (before.get("status"), before.get("reason")) != (condition.status, condition.reason):
            reason, text = condition.reason, condition.message
            self._events.emit(osdpl, type_=reason.event, reason=reason, message=text)


def _without_coming(views: Mapping[str, SecretView], store: CredentialStore) -> dict[str, SecretView]:
    """The views of Secrets that are there, and of those with a problem."""
    there = store.stored()
    return {name: view for name, view in views.items() if name in there or view.problems}


def _certificate_problems(
    names: Iterable[str], certificates: Mapping[str, SecretView]
) -> list[CredentialProblem]:
    return [CredentialProblem(name, text) for name in names for text in certificates[name].problems]
