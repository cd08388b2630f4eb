"""Makes the certificates of a region that its own authority signs, renews them, and has them taken up.

The record of the authority is written first, in one piece; what follows from it is then written Secret by
Secret, and again at the next pass where this one was cut off. Keys stay in these Secrets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import (
    AUTHORITY_SECRET,
    AUTHORITY_TYPE,
    CA_BUNDLE_SECRET,
    CERTIFICATE_LABEL,
    SERVICE_LABEL,
)
from controller.domain.credentials.authority import (
    AuthorityRecord,
    AuthorityStep,
    StoredLeaf,
    ends_first,
    is_current,
    leaf_begin,
    leaf_digest,
    leaf_end,
    plan_authority,
)
from controller.domain.credentials.certificate_lifetimes import AUTHORITY_LIFE, DAY
from controller.domain.credentials.certificate_secrets import (
    bundle_texts,
    leaf_texts,
    stored_leaf,
)
from controller.domain.credentials.certificates import AUTHORITY
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import (
    Authority,
    AuthorityUnusable,
    LeafNames,
    authority_validity,
    read_leaf,
)
from controller.domain.region.required_certificates import PUBLIC_SECRET, node_addresses
from controller.domain.values.catalogue import HYPERVISOR_FILES, CertificateRequest
from controller.ports.kubernetes import NODE, Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.certificates.authority_secrets import AuthoritySecrets, overdue
from controller.reconcile.credentials.certificates.certificate_ends import FollowedCertificates
from controller.reconcile.credentials.certificates.certificate_store import CertificateStore, texts_of
from controller.reconcile.credentials.certificates.certificate_uptake import (
    are_deployed,
    is_taken_up,
    texts_in_use,
)
from controller.reconcile.credentials.certificates.clock_patience import ClockPatience
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.shared.action_log import log_action

# A region's clock may have been wrong when its authority was made.
_BACKDATED_AUTHORITY = DAY
# The label by which charts choose the nodes that run servers.
HYPERVISORS = "openstack-compute-node=enabled"
TAKEN = "another program owns a Secret of this name; rename or delete it"
PAUSED = "certificates expire on {end}, and the region is paused; the controller renews them after the pause"
UNAPPROVED = (
    "certificates expire on {end}, and the authority in the spec is another one, or cannot sign; "
    "approve the plan, or name the former authority"
)
# People give the bundle to clients outside of the cluster, and the controller cannot see whether they have
# it. The next authority is therefore in the bundle for so long before it signs public certificates.
PUBLIC_NOTICE = 14 * DAY
# Seconds between two looks at what consumers run with, while another authority is on its way.
UPTAKE_SECONDS = 30.0
_SOON = (
    'its "tls.crt", or an authority above it, expires on {end}, and so does every certificate that '
    "it signs; replace it by one with a later end"
)
# Of what is wrong with addresses of Nodes.
_TOLD = 3


@dataclass(frozen=True)
class _Known:
    """What is known of the certificates before it is decided what becomes of them. `given`: the operator's
    authority; `leaves`: what there is, and `names` for whom it is to be; `trusted`: the bundle.

    `taken_up`: consumers run with what the Secrets say, which is looked at only where it matters. `doubts`:
    what is wrong with the names of leaves, by Secret. `ahead`: what begins later than now is replaced.
    """

    record: AuthorityRecord | None
    given: Authority | None
    leaves: Mapping[str, StoredLeaf]
    names: Mapping[str, LeafNames]
    trusted: StoredLeaf
    now: float
    doubts: Mapping[str, str]
    taken_up: bool = False
    ahead: bool = False

    def is_settled(self, record: AuthorityRecord) -> bool:
        """Whether every consumer runs with what the record says."""
        if record.next is not None and self.now < _announced_until(record, self.given, self.names):
            return False
        written = all(leaf.trusted == record.bundle for leaf in (self.trusted, *self.leaves.values()))
        current = all(
            is_current(leaf, self.names[one], record, self.now) for one, leaf in self.leaves.items()
        )
        return written and current and self.taken_up


@dataclass(frozen=True)
class _Certificates:
    """What the pass works on. `held`: why nothing is done; `unusable`: why the authority cannot be used."""

    store: CertificateStore
    requests: Sequence[CertificateRequest]
    source: str
    known: _Known | None = None
    held: str = ""
    unusable: str = ""


@dataclass(frozen=True)
class _Signing:
    """What is written, None for nothing; what no release asks for any more; and what is wrong."""

    store: CertificateStore
    source: str
    problems: Mapping[str, str]
    work: _Pass | None = None
    idle: tuple[str, ...] = ()


class OwnCertificates(CredentialStep[_Certificates, _Signing]):
    """`Step.CERTIFICATES`. Private keys are stored as `sealing` has them, None for as they are."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        randomness: Randomness,
        events: Events,
        sealing: SealingKey | None = None,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._randomness = randomness
        self._events = events
        self._patience = ClockPatience(clock)
        self._authorities = AuthoritySecrets(kube, sealing)

    def observe(self, work: RegionPass, before: Published) -> _Certificates:
        """The certificates that there are, and what signs them. In a plan those that are there are renewed by
        the authority that they have; in a pause nothing is."""
        requests: Sequence[CertificateRequest] = [one for one in work.needs.certificates if not one.amphorae]
        authority_secret = work.features.internal_tls.authority_secret
        source = authority_secret or AUTHORITY_SECRET
        store = CertificateStore(self._kube, work.osdpl)
        stored = store.observe(
            (AUTHORITY_SECRET, CA_BUNDLE_SECRET, *(r.name for r in requests)) if requests else ()
        )
        held = work.read_only and not self._authorities.sign_today(work, stored, self._clock.now())
        if work.paused or held:
            return _Certificates(store, requests, source, held=PAUSED if work.paused else UNAPPROVED)
        if work.read_only:
            requests = _requests_of(stored)
        if not requests or AUTHORITY_SECRET in store.foreign:
            return _Certificates(store, requests, source)
        try:
            return _Certificates(store, requests, source, self._known(work, requests, stored))
        except AuthorityUnusable as error:
            return _Certificates(store, requests, source, unusable=str(error))

    def decide(self, work: RegionPass, observed: _Certificates) -> _Signing:
        """The next step of the authority, and what follows of it."""
        store, known, now = observed.store, observed.known, self._clock.now()
        if observed.held:
            return _Signing(store, observed.source, overdue(store.stored, now, observed.held))
        problems = dict.fromkeys(store.foreign, TAKEN)
        try:
            signing = self._signing(work, observed.requests, known) if known is not None else None
        except AuthorityUnusable as error:
            return _Signing(store, observed.source, {**problems, observed.source: str(error)})
        if observed.unusable:
            return _Signing(store, observed.source, {**problems, observed.source: observed.unusable})
        names = {request.name for request in observed.requests}
        idle = () if work.read_only else tuple(_idle(store, names, work.bundles))
        end = ends_first(signing.record) if signing is not None and signing.given is not None else None
        if end is not None:
            problems[observed.source] = _SOON.format(end=timestamp(end)[:10])
        return _Signing(store, observed.source, problems, signing, idle)

    def apply(self, work: RegionPass, decided: _Signing) -> Published:
        """The record first, then what follows from it; then what is idle goes."""
        store, signing, problems = decided.store, decided.work, dict(decided.problems)
        idle, again = decided.idle, math.inf
        try:
            problems = self._write(store, work.osdpl, signing) | problems if signing else problems
            # Another authority is on its way, and consumers have to take it up first.
            if signing and signing.record.next and self._clock.now() >= signing.announced_until:
                again = UPTAKE_SECONDS
        except AuthorityUnusable as error:
            problems[decided.source], idle = str(error), ()
        trusts = CA_BUNDLE_SECRET in store.names
        for name in idle:
            problems |= _refused(name, partial(store.remove, name))
        followed = FollowedCertificates({CA_BUNDLE_SECRET: AUTHORITY} if trusts else {})
        return Published(_problems(problems), again=again, facts=(followed,))

    def remove(self, work: RegionPass) -> None:
        """With the region, once nothing of it runs any more."""
        if work.bundles:
            return
        store = CertificateStore(self._kube, work.osdpl)
        store.observe(())
        for name in _idle(store, frozenset(), []):
            store.remove(name)

    def _known(
        self, work: RegionPass, requests: Sequence[CertificateRequest], stored: Mapping[str, KubeObject]
    ) -> _Known:
        """Raises AuthorityUnusable."""
        now, authority_secret = self._clock.now(), work.features.internal_tls.authority_secret
        given = self._authorities.given(authority_secret, work.namespace, now) if authority_secret else None
        record = self._authorities.record(stored)
        if record is None and AUTHORITY_SECRET in stored:
            raise AuthorityUnusable("the Secret is unreadable; restore it from a backup, or delete it")
        leaves = {r.name: stored_leaf(texts_of(stored.get(r.name))) for r in requests}
        trusted = stored_leaf(texts_of(stored.get(CA_BUNDLE_SECRET)))
        asked = any(r.hypervisors for r in requests)
        # By which the libvirts of the nodes that run servers know each other.
        addresses, unnamed = node_addresses(self._kube.list(NODE, labels=HYPERVISORS) if asked else ())
        names = {
            r.name: LeafNames(r.name, r.names, r.addresses + (addresses if r.hypervisors else ()))
            for r in requests
        }
        doubts = {r.name: "; ".join(unnamed[:_TOLD]) for r in requests if r.hypervisors and unnamed}
        ahead = self._patience.is_over(AUTHORITY_SECRET, record)
        known = _Known(record, given, leaves, names, trusted, now, doubts, ahead=ahead)
        if record is None or not (record.next or ahead or (record.trusted and record.is_due(now))):
            return known
        digests = {name: leaf_digest(leaf) for name, leaf in {**leaves, CA_BUNDLE_SECRET: trusted}.items()}
        taken_up = is_taken_up(self._kube, work.namespace, work.bundles, digests)
        return replace(known, taken_up=taken_up)

    def _signing(self, work: RegionPass, requests: Sequence[CertificateRequest], known: _Known) -> _Pass:
        """What has to be there after this pass. Raises AuthorityUnusable."""
        step = plan_authority(
            known.record,
            given=known.given,
            # What the bundle says counts where nothing else does: the record knows it better.
            in_use=(*known.leaves.values(), *(() if known.record else (known.trusted,))),
            now=known.now,
            make=lambda: self._made(work.osdpl, known.now),
            settled=known.is_settled,
            replaces_ahead=known.ahead,
        )
        return _Pass(step, known.given, requests, known.leaves, known.names, known.now, known.doubts)

    def _write(self, store: CertificateStore, osdpl: KubeObject, planned: _Pass) -> dict[str, str]:
        """The record first, then what follows from it; what could not be written, and why."""
        problems, record = dict(planned.doubts), planned.record
        refused = _refused(AUTHORITY_SECRET, partial(self._record, store, osdpl, planned))
        if refused:
            return problems | refused
        if CA_BUNDLE_SECRET not in store.foreign:
            texts = bundle_texts(record.bundle)
            write = partial(store.write, CA_BUNDLE_SECRET, "bundle", texts)
            problems |= _refused(CA_BUNDLE_SECRET, write)
        for request in planned.requests:
            if request.name in store.foreign:
                continue
            try:
                leaf = planned.leaf(request.name, self._randomness)
            except AuthorityUnusable as error:
                problems[request.name] = str(error)
                continue
            texts = leaf_texts(leaf, hypervisors=request.hypervisors)
            write = partial(store.write, request.name, "leaf", texts, service=request.service)
            problems |= _refused(request.name, write)
        return problems

    def _record(self, store: CertificateStore, osdpl: KubeObject, planned: _Pass) -> None:
        step, texts = planned.step, self._authorities.texts(planned.record, planned.given)
        message, last = step.message, planned.announced_until
        if last > planned.now:
            message += (
                f"; from {timestamp(last)[:10]} on, clients outside the cluster need the "
                f"current {CA_BUNDLE_SECRET}"
            )
        if store.write(AUTHORITY_SECRET, "authority", texts, AUTHORITY_TYPE) and step.reason:
            meta = osdpl["metadata"]
            log_action("sign", f"{meta['namespace']}/{meta['name']}", message, reason=step.reason)
            self._events.emit(osdpl, type_=step.reason.event, reason=step.reason, message=message)

    def _made(self, osdpl: KubeObject, now: float) -> Authority:
        meta = osdpl["metadata"]
        begin = now - _BACKDATED_AUTHORITY
        name = f"OpenStack {meta['namespace']}/{meta['name']}"
        return new_authority(name, begin, now + AUTHORITY_LIFE, self._randomness)


@dataclass(frozen=True)
class _Pass:
    """What one pass has to leave behind. `doubts`: what is wrong with the names of leaves, by Secret."""

    step: AuthorityStep
    given: Authority | None
    requests: Sequence[CertificateRequest]
    leaves: Mapping[str, StoredLeaf]
    names: Mapping[str, LeafNames]
    now: float
    doubts: Mapping[str, str]

    @property
    def record(self) -> AuthorityRecord:
        return self.step.record

    @property
    def announced_until(self) -> float:
        """Until when clients outside may take up what signs next, in seconds since the epoch; 0 for not at
        all."""
        return _announced_until(self.record, self.given, self.names)

    def leaf(self, name: str, randomness: Randomness) -> StoredLeaf:
        """The leaf with its bundle; a new one where that is due. Raises AuthorityUnusable."""
        there, names, record = self.leaves[name], self.names[name], self.record
        if is_current(there, names, record, self.now):
            return StoredLeaf(there.chain, there.key, record.bundle)
        if record.signer is None:
            raise AuthorityUnusable(
                "the certificate cannot be signed, because the authority's key is missing"
            )
        pair = new_leaf(names, leaf_begin(record), leaf_end(record), record.signer, randomness)
        return StoredLeaf(pair.chain, pair.key, record.bundle)


def _announced_until(record: AuthorityRecord, given: Authority | None, names: Container[str]) -> float:
    # An operator's own authority is theirs to announce.
    if record.next is None or given is not None or PUBLIC_SECRET not in names:
        return 0.0
    return authority_validity(record.next)[0] + _BACKDATED_AUTHORITY + PUBLIC_NOTICE


def _refused(name: str, write: Callable[[], object]) -> dict[str, str]:
    """Does a write of the Secret; it, with the reason, where the API server refuses that."""
    text = refusal_of(write)
    return {name: text} if text else {}


def _idle(store: CertificateStore, wanted: Set[str], bundles: KubeObjects) -> list[str]:
    """What no release asks for any more, the authority last."""
    stored = store.names
    if not are_deployed(bundles):
        return []
    kept = wanted | texts_in_use(bundles)
    if wanted:
        kept |= {AUTHORITY_SECRET, CA_BUNDLE_SECRET}
    idle = stored - kept
    last = [AUTHORITY_SECRET] if idle == stored and AUTHORITY_SECRET in idle else []
    return [*sorted(idle - {AUTHORITY_SECRET}), *last]


def _requests_of(stored: Mapping[str, KubeObject]) -> list[CertificateRequest]:
    """What the certificates that are there stand for, whatever the spec asks for by now."""
    found = []
    for name, secret in sorted(stored.items()):
        labels, texts = secret["metadata"].get("labels") or {}, texts_of(secret)
        leaf = stored_leaf(texts)
        facts = read_leaf(leaf.chain, leaf.key)
        if labels.get(CERTIFICATE_LABEL) != "leaf" or facts is None:
            continue
        names, addresses = tuple(sorted(facts.names)), tuple(sorted(facts.addresses))
        hypervisors = not texts.keys().isdisjoint(HYPERVISOR_FILES)
        service = str(labels.get(SERVICE_LABEL) or "")
        found.append(CertificateRequest(name, service, names, addresses, hypervisors=hypervisors))
    return found


def _problems(texts: Mapping[str, str]) -> tuple[CredentialProblem, ...]:
    return tuple(CredentialProblem(name, text) for name, text in sorted(texts.items()))
