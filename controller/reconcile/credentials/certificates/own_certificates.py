"""Makes the certificates of a region that its own authority signs, renews them, and has them taken up.

The record of the authority is written first, in one piece; what follows from it is then written Secret by
Secret, and again at the next pass where this one was cut off. Keys stay in these Secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass
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
    AUTHORITY_LIFE,
    DAY,
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
from controller.domain.credentials.certificate_secrets import (
    bundle_texts,
    leaf_texts,
    parse_record,
    record_texts,
    stored_leaf,
    with_keys,
)
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.x509 import (
    Authority,
    AuthorityUnusable,
    LeafNames,
    authority_validity,
    authority_weakness,
    new_authority,
    new_leaf,
    parse_authority,
    read_leaf,
)
from controller.domain.region.required_certificates import PUBLIC_SECRET, node_addresses
from controller.domain.values.catalogue import HYPERVISOR_FILES, CertificateRequest
from controller.ports.kubernetes import NODE, SECRET, Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.certificates.certificate_store import CertificateStore, texts_of
from controller.reconcile.credentials.certificates.certificate_uptake import (
    are_deployed,
    is_taken_up,
    texts_in_use,
)
from controller.reconcile.credentials.certificates.clock_patience import ClockPatience
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.shared.action_log import log_action

# A region's clock may have been wrong when its authority was made.
_BACKDATED_AUTHORITY = DAY
# The label by which charts choose the nodes that run servers.
HYPERVISORS = "openstack-compute-node=enabled"
TAKEN = "a Secret of this name belongs to something else; rename that, or delete it"
PAUSED = "the region is paused, and certificates end on {end}: they are renewed once it is not"
UNAPPROVED = (
    "certificates end on {end}, and the authority that the spec asks for is not theirs, or cannot sign: "
    "approve the plan, or go back to the authority of before"
)
# Clients outside the cluster are given the bundle by people, and nobody sees whether they have it: so long it
# is in the bundle before another authority of ours signs what they are shown.
PUBLIC_NOTICE = 14 * DAY
# Seconds between two looks at what consumers run with, while another authority is on its way.
UPTAKE_SECONDS = 30.0
_SOON = (
    'its "tls.crt", or what has signed that, ends on {end}, and with it every certificate that it signs; '
    "put a later one in its place"
)
# Of what is wrong with addresses of Nodes.
_TOLD = 3


class OwnCertificates:
    """Of one region. `has_bundle`: there is one of ours to trust, as the last pass found it; `unfinished`:
    another authority is on its way, and consumers have to take it up first. Its private keys are stored
    as `sealing` has them, None for as they are."""

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
        self._sealing = sealing
        self.has_bundle = False
        self.unfinished = False

    def ensure(
        self,
        osdpl: KubeObject,
        requests: Sequence[CertificateRequest],
        *,
        authority_secret: str,
        bundles: KubeObjects,
        planned: bool = False,
        paused: bool = False,
    ) -> list[CredentialProblem]:
        """Brings every certificate to what is desired; what stands in the way.

        `authority_secret` names the operator's authority, empty for one of our own. With `planned` those that
        are there are renewed, by the authority that they have; with `paused` nothing is done. Raises
        Conflict, KubeError.
        """
        requests = [request for request in requests if not request.amphorae]
        store = CertificateStore(self._kube, osdpl)
        stored = store.observe(
            (AUTHORITY_SECRET, CA_BUNDLE_SECRET, *(r.name for r in requests)) if requests else ()
        )
        self.has_bundle, self.unfinished = CA_BUNDLE_SECRET in stored, False
        if paused or (planned and not self._signs_today(authority_secret, stored, osdpl)):
            return _overdue(stored, self._clock.now(), PAUSED if paused else UNAPPROVED)
        if planned:
            requests = _requests_of(stored)
        problems = dict.fromkeys(store.foreign, TAKEN)
        if requests and AUTHORITY_SECRET not in problems:
            source = authority_secret or AUTHORITY_SECRET
            try:
                pass_ = self._planned(osdpl, requests, stored, authority_secret, bundles)
                problems |= self._write(store, osdpl, pass_)
            except AuthorityUnusable as error:
                return _problems({**problems, source: str(error)})
            self.has_bundle = CA_BUNDLE_SECRET in store.names
            self.unfinished = pass_.record.next is not None and self._clock.now() >= pass_.announced_until
            end = ends_first(pass_.record) if authority_secret else None
            if end is not None:
                problems[source] = _SOON.format(end=timestamp(end)[:10])
        idle = [] if planned else _idle(store, {request.name for request in requests}, bundles)
        for name in idle:
            problems |= _refused(name, partial(store.remove, name))
        return _problems(problems)

    def remove(self, osdpl: KubeObject) -> None:
        """With the region, once nothing of it runs any more. Raises Conflict, KubeError."""
        store = CertificateStore(self._kube, osdpl)
        store.observe(())
        for name in _idle(store, frozenset(), []):
            store.remove(name)

    def _signs_today(self, name: str, stored: Mapping[str, KubeObject], osdpl: KubeObject) -> bool:
        """Whether the authority that the spec asks for is the one of the record: it may not change yet."""
        try:
            record = self._stored_record(stored)
            if record is None:
                return False
            known = record.next or record.active
            if not name:
                return known is not None and known.usable
            given = self._given(name, str(osdpl["metadata"]["namespace"]), self._clock.now())
        except AuthorityUnusable:
            return False
        return given.is_same(known)

    def _stored_record(self, stored: Mapping[str, KubeObject]) -> AuthorityRecord | None:
        """The record with the keys that can be opened. Raises AuthorityUnusable, KubeError."""
        texts = texts_of(stored.get(AUTHORITY_SECRET))
        return parse_record(with_keys(texts, self._sealing.open) if self._sealing and texts else texts)

    def _planned(
        self,
        osdpl: KubeObject,
        requests: Sequence[CertificateRequest],
        stored: Mapping[str, KubeObject],
        authority_secret: str,
        bundles: KubeObjects,
    ) -> _Pass:
        """What has to be there after this pass. Raises AuthorityUnusable."""
        namespace, now = str(osdpl["metadata"]["namespace"]), self._clock.now()
        given = self._given(authority_secret, namespace, now) if authority_secret else None
        record = self._stored_record(stored)
        if record is None and AUTHORITY_SECRET in stored:
            raise AuthorityUnusable("it cannot be read; restore it from a backup, or delete it")
        leaves = {r.name: stored_leaf(texts_of(stored.get(r.name))) for r in requests}
        trusted = stored_leaf(texts_of(stored.get(CA_BUNDLE_SECRET)))
        asked = any(r.hypervisors for r in requests)
        # By which the libvirts of the nodes that run servers know each other.
        addresses, unnamed = node_addresses(self._kube.list(NODE, labels=HYPERVISORS) if asked else ())
        names = {
            r.name: LeafNames(r.name, r.names, r.addresses + (addresses if r.hypervisors else ()))
            for r in requests
        }

        def settled(record: AuthorityRecord) -> bool:
            if record.next is not None and now < _announced_until(record, given, names):
                return False
            written = all(leaf.trusted == record.bundle for leaf in (trusted, *leaves.values()))
            written = written and all(is_current(leaves[one], names[one], record, now) for one in leaves)
            digests = {
                name: leaf_digest(leaf) for name, leaf in {**leaves, CA_BUNDLE_SECRET: trusted}.items()
            }
            return written and is_taken_up(self._kube, namespace, bundles, digests)

        step = plan_authority(
            record,
            given=given,
            # What the bundle says counts where nothing else does: the record knows it better.
            in_use=(*leaves.values(), *(() if record else (trusted,))),
            now=now,
            make=lambda: self._made(osdpl, now),
            settled=settled,
            replaces_ahead=self._patience.is_over(AUTHORITY_SECRET, record),
        )
        doubts = {r.name: "; ".join(unnamed[:_TOLD]) for r in requests if r.hypervisors and unnamed}
        return _Pass(step, given, requests, leaves, names, now, doubts)

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
        step, texts = planned.step, record_texts(planned.record, planned.given)
        texts = with_keys(texts, self._sealing.seal) if self._sealing else texts
        message, last = step.message, planned.announced_until
        if last > planned.now:
            message += (
                f"; from {timestamp(last)[:10]} on clients outside need {CA_BUNDLE_SECRET} as it is now"
            )
        if store.write(AUTHORITY_SECRET, "authority", texts, AUTHORITY_TYPE) and step.reason:
            meta = osdpl["metadata"]
            log_action("sign", f"{meta['namespace']}/{meta['name']}", message, reason=step.reason)
            self._events.emit(osdpl, type_=step.reason.event, reason=step.reason, message=message)

    def _given(self, name: str, namespace: str, now: float) -> Authority:
        """The operator's authority. Raises AuthorityUnusable."""
        if name == AUTHORITY_SECRET:
            # Its key would be taken for the operator's, which is not kept.
            raise AuthorityUnusable("it is the region's own; name a Secret of yours")
        secret = self._kube.get(SECRET, name, namespace)
        if secret is None:
            raise AuthorityUnusable(f"it does not exist; create it with the type {AUTHORITY_TYPE}")
        if secret.get("type") != AUTHORITY_TYPE:
            raise AuthorityUnusable(
                f"its type is not {AUTHORITY_TYPE}, which keeps its key out of values; make it again"
            )
        texts = texts_of(secret)
        found = parse_authority(*(texts.get(key, "") for key in ("tls.crt", "tls.key", "ca.crt")))
        if weakness := authority_weakness(found):
            raise AuthorityUnusable(weakness)
        begin, end = authority_validity(found)
        if end <= now or begin > now:
            when = f"has ended on {timestamp(end)}" if end <= now else f"begins only on {timestamp(begin)}"
            raise AuthorityUnusable(
                f'its "tls.crt", or what has signed that, is not valid at this time: it {when}'
            )
        return found

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
            raise AuthorityUnusable("nothing can sign it: the authority's key is not there")
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


def _overdue(stored: Mapping[str, KubeObject], now: float, why: str) -> list[CredentialProblem]:
    """Told once certificates should have been renewed, and were not."""
    try:
        # Its dates are asked for, which takes no key.
        record = parse_record(with_keys(texts_of(stored.get(AUTHORITY_SECRET)), lambda _key: ""))
    except AuthorityUnusable:
        return []
    if record is None or now < record.due:
        return []
    return [CredentialProblem(AUTHORITY_SECRET, why.format(end=timestamp(leaf_end(record))[:10]))]


def _problems(texts: Mapping[str, str]) -> list[CredentialProblem]:
    return [CredentialProblem(name, text) for name, text in sorted(texts.items())]
