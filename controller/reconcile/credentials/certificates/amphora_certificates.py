"""Makes the certificates between Octavia and its amphorae, renews them, and says what an operator has to do.

The records of the two authorities are written first, each in one write. The Secrets that Octavia's pods mount
follow from the records. If this pass is interrupted, the next pass writes them again. Running amphorae trust
only these authorities: a lost authority is reported, and never replaced automatically.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import (
    AMPHORA_LABEL,
    AMPHORA_SECRET,
    AMPHORAE_TRUST_ANNOTATION,
    AUTHORITY_TYPE,
    CLIENT_AUTHORITY_SECRET,
    SERVER_AUTHORITY_SECRET,
)
from controller.domain.api.region_spec import OwnSecret
from controller.domain.credentials.amphora_certificates import (
    AMPHORA_AUTHORITY_LIFE,
    BACKDATED_AUTHORITY,
    CLIENT_NAMES,
    MountedCertificates,
    client_change,
    mounted_certificates,
    mounted_texts,
    plan_client,
    plan_server,
)
from controller.domain.credentials.authority import (
    AuthorityRecord,
    AuthorityStep,
    StoredLeaf,
    is_current,
    leaf_begin,
    leaf_end,
)
from controller.domain.credentials.certificate_secrets import parse_record, record_texts
from controller.domain.credentials.certificates import AMPHORA_CERTIFICATE, CERTIFICATE
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.recovery.credential_traces import KnownCredentials
from controller.domain.credentials.sealing.encrypted_keys import LONGEST_PASSPHRASE, is_passphrase
from controller.domain.credentials.secret_status import SecretView
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import Authority, AuthorityUnusable
from controller.domain.region.required_certificates import LOAD_BALANCER
from controller.ports.kubernetes import Events, Kube
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.certificates.certificate_ends import FollowedCertificates
from controller.reconcile.credentials.certificates.certificate_store import CertificateStore, texts_of
from controller.reconcile.credentials.certificates.clock_patience import ClockPatience
from controller.reconcile.credentials.certificates.own_certificates import PAUSED, TAKEN
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.remaining_claims import credentials_name

AUTHORITIES = (SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET)
_PASSPHRASE = "passphrase"  # noqa: S105 - a key of the Secret
_CREDENTIAL = (LOAD_BALANCER, "ca-passphrase")
LOST = (
    "the Secret was deleted, and running amphorae trust only its authority; restore the Secret from "
    "a backup: osctl credentials "
    "restore FILE -n {namespace} --secret {name}; or request another one, and fail over each load "
    "balancer afterwards: kubectl -n {namespace} create secret generic {name} --type={type}"
)
UNREADABLE = "the Secret is unreadable; restore it from a backup, or delete it"
UNFIT = (
    "the passphrase for the authority of amphorae cannot be written into an option file; use a passphrase "
    f"with up to {LONGEST_PASSPHRASE} letters, digits and other ASCII characters, without blanks and "
    "quotes"
)
KEPT = (
    'Secret "{name}": the key keeps its first passphrase, although the credential '
    "ca-passphrase of load-balancer has changed"
)
_WAITS = (
    "amphorae created before {since} do not trust the certificate that Octavia presents from {until} "
    "on; fail over their load balancers (openstack loadbalancer failover), then run kubectl -n "
    "{namespace} annotate --overwrite secret {name} {annotation}={mark}"
)


def passphrase_place(own: Iterable[OwnSecret]) -> tuple[str, str]:
    """Name and key of the Secret with the passphrase for the key of the amphorae's authority: the operator's
    where the spec names one."""
    named = ((one.name, one.key) for one in own if (one.service, one.credential) == _CREDENTIAL)
    return next(named, (credentials_name(LOAD_BALANCER), _CREDENTIAL[1]))


@dataclass(frozen=True)
class _Made:
    """What is to be there: the records of both authorities, and the passphrase of the key; nothing where the
    passphrase is not there yet, or something is in the way."""

    work: _Pass
    server: AuthorityStep | None = None
    client: AuthorityStep | None = None
    passphrase: str = ""


class AmphoraCertificates(CredentialStep["_Pass", _Made]):
    """`Step.AMPHORAE`. Of one region."""

    def __init__(self, kube: Kube, clock: Clock, randomness: Randomness, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._patience = ClockPatience(clock)
        self._randomness = randomness
        self._events = events

    def observe(self, work: RegionPass, before: Published) -> _Pass | None:
        """The three Secrets, and which of their keys are known to have been there."""
        wanted = any(request.amphorae for request in work.needs.certificates)
        known = before.fact(KnownCredentials)
        recorded = known.keys if known is not None else {}
        if not wanted and recorded.keys().isdisjoint(AUTHORITIES):
            return None
        store = CertificateStore(self._kube, work.osdpl, AMPHORA_LABEL)
        at_work = _Pass(work, store, self._clock.now(), recorded, self._patience, wanted=wanted)
        at_work.observe()
        if wanted:
            at_work.given = work.store.any_text(*passphrase_place(work.features.credentials))
        return at_work

    def decide(self, work: RegionPass, observed: _Pass) -> _Made:
        """In a plan nothing is made that was not there, and in a pause nothing is."""
        if observed.wanted:
            observed.accept_empty()
        # Also of a service that is off for now: amphorae may be there when it is back.
        observed.find_lost(told=observed.wanted)
        if not observed.wanted:
            return _Made(observed)
        complete = observed.held.keys() == {*AUTHORITIES, AMPHORA_SECRET}
        if work.paused or (work.read_only and not complete):
            observed.tell_overdue()
            return _Made(observed)
        observed.problems |= dict.fromkeys(observed.store.foreign, TAKEN)
        if not observed.problems.keys().isdisjoint(AUTHORITIES):
            return _Made(observed)
        try:
            passphrase = observed.passphrase(observed.given)
            server = observed.server_step(self._make(observed, "amphorae"))
            client = observed.client_step(self._make(observed, "Octavia"))
        except _Unusable as error:
            observed.problems[error.secret] = str(error)
            return _Made(observed)
        return _Made(observed, server, client, passphrase)

    def apply(self, work: RegionPass, decided: _Made) -> Published:
        """Both records first, and then what Octavia's pods mount."""
        at_work = decided.work
        # Without a passphrase its credential is a problem already.
        if decided.server is not None and decided.client is not None and decided.passphrase:
            self._bring_up_to_date(at_work, decided.server, decided.client, decided.passphrase)
        return self._published(at_work)

    def remove(self, work: RegionPass) -> None:
        """With the region and its volumes."""
        if work.bundles or work.policy != "Delete":
            return
        store = CertificateStore(self._kube, work.osdpl, AMPHORA_LABEL)
        for name in store.observe(()):
            store.remove(name)

    def _bring_up_to_date(
        self, work: _Pass, server: AuthorityStep, client: AuthorityStep, passphrase: str
    ) -> None:
        self._record(work, SERVER_AUTHORITY_SECRET, server, {_PASSPHRASE: passphrase})
        self._record(work, CLIENT_AUTHORITY_SECRET, client, {})
        if work.problems.keys().isdisjoint((*AUTHORITIES, AMPHORA_SECRET)):
            self._mount(work, server.record, client.record, passphrase)
        work.tell(client.record)

    def _record(self, work: _Pass, name: str, step: AuthorityStep, more: Mapping[str, str]) -> None:
        def write() -> None:
            if work.write(name, "authority", {**record_texts(step.record, None), **more}) and step.reason:
                meta, reason, message = work.osdpl["metadata"], step.reason, f"Secret {name}: {step.message}"
                log_action("sign", f"{meta['namespace']}/{meta['name']}", message, reason=reason)
                self._events.emit(work.osdpl, type_=reason.event, reason=reason, message=message)

        refused = refusal_of(write)
        if refused:
            work.problems[name] = refused

    def _mount(self, work: _Pass, server: AuthorityRecord, client: AuthorityRecord, passphrase: str) -> None:
        there = work.mounted
        try:
            texts = mounted_texts(server, self._leaf(client, there.client, work.now), passphrase, there)
            refused = refusal_of(partial(work.write, AMPHORA_SECRET, "mounted", texts))
        except AuthorityUnusable as error:
            refused = str(error)
        if refused:
            work.problems[AMPHORA_SECRET] = refused

    def _leaf(self, record: AuthorityRecord, there: StoredLeaf, now: float) -> StoredLeaf:
        """What Octavia shows; a new one where that is due. Raises AuthorityUnusable."""
        if is_current(there, CLIENT_NAMES, record, now):
            return StoredLeaf(there.chain, there.key, record.bundle)
        if record.signer is None:
            raise AuthorityUnusable(
                "the certificate cannot be signed, because the authority's key is missing"
            )
        begin, end = leaf_begin(record), leaf_end(record)
        pair = new_leaf(CLIENT_NAMES, begin, end, record.signer, self._randomness)
        return StoredLeaf(pair.chain, pair.key, record.bundle)

    def _make(self, work: _Pass, whom: str) -> Callable[[], Authority]:
        meta, now = work.osdpl["metadata"], work.now
        name = f"{whom} of {meta['namespace']}/{meta['name']}"
        return lambda: new_authority(
            name, now - BACKDATED_AUTHORITY, now + AMPHORA_AUTHORITY_LIFE, self._randomness
        )

    def _published(self, work: _Pass) -> Published:
        views = {}
        for name in work.held.keys() | work.lost:
            there = name in work.held
            keys = frozenset(work.held[name] if there else work.recorded.get(name, ()))
            messages = (work.problems[name],) if name in work.problems else ()
            views[name] = SecretView(name, keys, work.work.digest(name) if there else "", messages)
        problems = tuple(
            CredentialProblem(name, text, lost=name in work.lost)
            for name, text in sorted(work.problems.items())
        )
        followed = FollowedCertificates({name: _shown(name, texts) for name, texts in work.held.items()})
        return Published(problems, tuple(work.notes), views=views, facts=(followed,))


class _Unusable(AuthorityUnusable):
    """An authority that cannot be used, with its Secret."""

    def __init__(self, secret: str, text: str) -> None:
        super().__init__(text)
        self.secret = secret


class _Pass:
    """One pass through the three Secrets of a region. `held` is their content, with this pass's own writes;
    `problems` are by the name of the Secret."""

    def __init__(
        self,
        work: RegionPass,
        store: CertificateStore,
        now: float,
        recorded: Mapping[str, Collection[str]],
        patience: ClockPatience,
        *,
        wanted: bool,
    ) -> None:
        self.work, self.store, self.now, self.recorded = work, store, now, recorded
        self.patience, self.wanted = patience, wanted
        self.osdpl, self.namespace = work.osdpl, work.namespace
        # The passphrase that a key gets which is made.
        self.given = ""
        self.held: dict[str, dict[str, str]] = {}
        self.notes: list[str] = []
        self.problems: dict[str, str] = {}
        self.lost: set[str] = set()
        self._notes_of_client: Mapping[str, str] = {}

    def observe(self) -> None:
        """Reads the Secrets; an empty one by the name of an authority says that it may be made."""
        stored = self.store.observe((*AUTHORITIES, AMPHORA_SECRET) if self.wanted else ())
        self.held = {name: texts_of(one) for name, one in stored.items()}
        annotations = stored.get(CLIENT_AUTHORITY_SECRET, {}).get("metadata", {}).get("annotations")
        self._notes_of_client = annotations or {}

    @property
    def mounted(self) -> MountedCertificates:
        """What Octavia's pods have."""
        return mounted_certificates(self.held.get(AMPHORA_SECRET, {}))

    def find_lost(self, *, told: bool) -> None:
        """Authorities that existed, and are lost completely."""
        for name in AUTHORITIES:
            if name not in self.held and AMPHORA_SECRET not in self.held and self.recorded.get(name):
                self.lost.add(name)
            if told and name in self.lost:
                self.problems[name] = LOST.format(namespace=self.namespace, name=name, type=AUTHORITY_TYPE)

    def accept_empty(self) -> None:
        """Takes the empty Secrets by which a person asks for other authorities."""
        for name in AUTHORITIES:
            if self.store.take_empty(name, AUTHORITY_TYPE):
                self.held[name] = {}

    def record(self, name: str) -> AuthorityRecord | None:
        """The record of an authority, None where there is none. Raises _Unusable."""
        texts = self.held.get(name, {})
        try:
            found = parse_record(texts)
        except AuthorityUnusable as error:
            raise _Unusable(name, str(error)) from None
        if found is None and texts:
            raise _Unusable(name, UNREADABLE)
        return found

    def passphrase(self, given: str) -> str:
        """Of the key of the server authority: it stays with the key. `given` is for a new one. Empty where
        there is none yet. Raises _Unusable."""
        kept = self.held.get(SERVER_AUTHORITY_SECRET, {}).get(_PASSPHRASE) or self.mounted.passphrase
        if not kept and given and not is_passphrase(given):
            raise _Unusable(SERVER_AUTHORITY_SECRET, UNFIT)
        if kept and given not in ("", kept):
            self.notes.append(KEPT.format(name=AMPHORA_SECRET))
        return kept or given

    def server_step(self, make: Callable[[], Authority]) -> AuthorityStep:
        """Raises _Unusable."""
        record = self.record(SERVER_AUTHORITY_SECRET)
        try:
            ahead = self.patience.is_over(SERVER_AUTHORITY_SECRET, record)
            return plan_server(record, self.mounted, now=self.now, make=make, replaces_ahead=ahead)
        except AuthorityUnusable as error:
            raise _Unusable(SERVER_AUTHORITY_SECRET, str(error)) from None

    def client_step(self, make: Callable[[], Authority]) -> AuthorityStep:
        """Raises _Unusable."""
        record = self.record(CLIENT_AUTHORITY_SECRET)
        trusted = self._notes_of_client.get(AMPHORAE_TRUST_ANNOTATION, "")
        try:
            ahead = self.patience.is_over(CLIENT_AUTHORITY_SECRET, record)
            return plan_client(
                record,
                self.mounted,
                trusted_by_all=trusted,
                now=self.now,
                make=make,
                replaces_ahead=ahead,
            )
        except AuthorityUnusable as error:
            raise _Unusable(CLIENT_AUTHORITY_SECRET, str(error)) from None

    def write(self, name: str, kind: str, texts: Mapping[str, str]) -> bool:
        """Whether anything was written. Raises Conflict, KubeError."""
        written = self.store.write(name, kind, texts, AUTHORITY_TYPE, service=LOAD_BALANCER)
        self.held[name] = dict(texts)
        return written

    def tell(self, record: AuthorityRecord) -> None:
        """What an operator has to do before controllers show another authority's certificate."""
        change = client_change(record, self.mounted.client)
        if change is None:
            return
        text = _WAITS.format(
            since=_day(change.since),
            until=_day(change.until),
            namespace=self.namespace,
            name=CLIENT_AUTHORITY_SECRET,
            annotation=AMPHORAE_TRUST_ANNOTATION,
            mark=change.mark,
        )
        if change.is_urgent(self.now):
            self.problems[CLIENT_AUTHORITY_SECRET] = text
        else:
            self.notes.append(f'Secret "{CLIENT_AUTHORITY_SECRET}": {text}')

    def tell_overdue(self) -> None:
        """That what controllers show should have been renewed."""
        try:
            record = self.record(CLIENT_AUTHORITY_SECRET)
        except AuthorityUnusable:
            return
        if record is not None and self.now >= record.due:
            self.problems[AMPHORA_SECRET] = PAUSED.format(end=_day(leaf_end(record)))


def _shown(name: str, texts: Mapping[str, str]) -> str:
    """The key with the certificate whose end counts."""
    if name == AMPHORA_SECRET:
        return AMPHORA_CERTIFICATE
    return CERTIFICATE if texts.get(CERTIFICATE) else "next.crt"


def _day(moment: float) -> str:
    return timestamp(moment)[:10]
