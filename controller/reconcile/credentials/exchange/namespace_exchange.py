"""Exchanges Secrets between the region's namespace and others, if both sides name each other.

In other namespaces, only named Secrets are read, and nothing is created. The place of a copy is noted before
the copy is filled. The copy can therefore be emptied after its source is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from controller.domain.api.names import COPIES_CONFIGMAP, MANAGED_BY, MANAGED_BY_US, REQUEST, SHARED_LABEL
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.shared_secrets import (
    CopyDecision,
    Place,
    Step,
    copied_from,
    decide_copy,
    emptied,
    explained,
    filled,
    misread,
    offered_to,
    parse_place,
    requested_from,
)
from controller.domain.shared.plurals import count
from controller.errors import Forbidden, KubeError, ObjectRefused, is_refusal
from controller.ports.kubernetes import CONFIGMAP, SECRET, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock
from controller.reconcile.credentials.refused_writes import REFUSED, refusal_of
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.own_record import own_record

NO_RIGHT = (
    "the controller may not {0} it; name it in exchange.namespaces of the controller's chart, unless "
    "its namespace is gone"
)
# Seconds from the deletion of an offer until its copy is emptied. A tool that writes Secrets from a store may
# delete a Secret and create it again.
GRACE = 20.0


@dataclass(frozen=True)
class Exchanged:
    """`problems`: what the region asks for and does not have; `notes`: what others could not be given.

    `busy`: something is offered or asked for, and may change at any time.
    """

    problems: tuple[CredentialProblem, ...] = ()
    notes: tuple[str, ...] = ()
    busy: bool = False


@dataclass
class _Pass:
    """What one pass finds. `copies`: the targets beyond the region's namespace that were filled."""

    copies: dict[Place, str] = field(default_factory=dict)
    problems: list[CredentialProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class GoneOffers:
    """Since when offers are gone of which there are copies, for the life of the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[Place, float] = {}
        self._seen: dict[Place, float] = {}

    def may_come_back(self, source: Place) -> bool:
        """Asked in each pass that finds it gone: whether that is not long ago."""
        now = self._clock.monotonic()
        since = self._seen[source] = self._since.get(source, now)
        return now - since < GRACE

    def end_pass(self) -> None:
        """Forgets those that this pass did not find gone."""
        self._since, self._seen = self._seen, {}


class NamespaceExchange:
    """Of one region, for one pass."""

    def __init__(self, kube: Kube, osdpl: KubeObject, gone: GoneOffers) -> None:
        self._kube = kube
        self._gone = gone
        self._namespace = str(osdpl["metadata"]["namespace"])
        self._record: KubeObject | None = None
        self._taken: KubeError | None = None

    def shared(self) -> KubeObjects:
        """The Secrets of the region that are offered, or ask for one. Raises KubeError."""
        return self._kube.list(SECRET, self._namespace, labels=SHARED_LABEL)

    def ensure(
        self,
        shared: KubeObjects,
        given: Mapping[Place, Mapping[Place, KubeObject]],
        copies: Mapping[Place, str],
    ) -> Exchanged:
        """Brings every copy up to date. `given` as of `offers_by_target`, `copies` as they were read. Raises
        Conflict, KubeError."""
        found = _Pass(dict(copies))
        for secret in shared:
            self._tell_misread(secret, found)
            self._take(secret, found)
        for target, offers in sorted(given.items(), key=lambda one: one[0]):
            self._give(offers, target, found)
        for target in sorted(found.copies.keys() - given.keys()):
            self._take_back(target, found)
        self._gone.end_pass()
        return Exchanged(tuple(found.problems), tuple(found.notes), bool(shared or found.copies))

    def behind(self, name: str) -> tuple[Place, ...]:
        """The copies outside of the region's namespace that do not have the present content of this Secret
        yet. A copy that the controller may no longer read is left out. Raises KubeError."""
        source = Place(self._namespace, name)
        offer = self._kube.get(SECRET, name, self._namespace)
        found = []
        for target in sorted(one for one, noted in self.copies().items() if noted == name):
            try:
                request = self._kube.get(SECRET, target.name, target.namespace)
            except Forbidden:
                continue
            if decide_copy(source, offer, target, request).step == Step.FILL:
                found.append(target)
        return tuple(found)

    def remove(self) -> None:
        """Empties every copy, with the region. Raises Conflict, KubeError."""
        found = _Pass(self.copies())
        for target in sorted(found.copies):
            self._take_back(target, found, at_once=True)
        for secret in self.shared():
            source = copied_from(secret)
            if source is not None and requested_from(secret) == source:
                self._write(emptied(secret), "emptied, because its region is gone")

    def _tell_misread(self, secret: KubeObject, found: _Pass) -> None:
        name, text = str(secret["metadata"]["name"]), misread(secret)
        if text and secret["metadata"]["labels"][SHARED_LABEL] == REQUEST:
            found.problems.append(CredentialProblem(name, text))
        elif text:
            found.notes.append(f"Secret {self._namespace}/{name}: {text}")

    def _take(self, request: KubeObject, found: _Pass) -> None:
        """What the region asks another namespace for."""
        target = Place(self._namespace, str(request["metadata"]["name"]))
        source = requested_from(request)
        if source is None or source.namespace == self._namespace:
            return
        try:
            offer = self._kube.get(SECRET, source.name, source.namespace)
        except Forbidden:
            # The copy stays: a missing right of the controller does not withdraw the offer.
            text = f"the Secret requests Secret {source}, and {NO_RIGHT.format('read')}"
            found.problems.append(CredentialProblem(target.name, text))
            return
        if offer is None and copied_from(request) == source and self._gone.may_come_back(source):
            found.notes.append(_gone_note(source, target))
            return
        decision = decide_copy(source, offer, target, request)
        texts = (decision.message, self._carry_out(decision, request, offer, source))
        found.problems += [CredentialProblem(target.name, text) for text in texts if text]

    def _give(self, offers: Mapping[Place, KubeObject], target: Place, found: _Pass) -> None:
        """What the region offers to another namespace: of several Secrets the one that is asked for."""
        if target.namespace == self._namespace:
            return
        try:
            request = self._kube.get(SECRET, target.name, target.namespace)
        except Forbidden:
            self._note_no_right(sorted(offers), target, found)
            return
        asked = requested_from(request) if request is not None else None
        if asked is not None and asked in offers:
            self._give_one(asked, offers[asked], request, target, found)
            return
        copied = copied_from(request) if request is not None else None
        if copied is not None and copied.namespace == self._namespace and copied not in offers:
            self._take_back(target, found)
            return
        for source, offer in sorted(offers.items(), key=lambda one: one[0]):
            self._give_one(source, offer, request, target, found)

    def _give_one(
        self, source: Place, offer: KubeObject, request: KubeObject | None, target: Place, found: _Pass
    ) -> None:
        try:
            decision = decide_copy(source, offer, target, request)
            if decision.step == Step.FILL:
                unnoted = self._note(found, {**found.copies, target: source.name})
                if unnoted:
                    found.notes.append(unnoted)
                    return
            refused = self._carry_out(decision, request, offer, source)
        except Forbidden:
            self._note_no_right([source], target, found)
            return
        if refused:
            found.notes.append(f"Secret {target}: {refused}")
        if decision.message:
            found.notes.append(decision.message)

    def _note_no_right(self, sources: Sequence[Place], target: Place, found: _Pass) -> None:
        names = ", ".join(map(str, sources))
        text = f"Secret {names} is offered to {target}, and {NO_RIGHT.format('read and update')}"
        found.notes.append(text)

    def _take_back(self, target: Place, found: _Pass, *, at_once: bool = False) -> None:
        """Empties a copy that was filled from here and is not offered any more."""
        try:
            copy = self._kube.get(SECRET, target.name, target.namespace)
            source = copied_from(copy) if copy is not None else None
            refused = ""
            if copy is not None and source is not None and _is_ours(copy, source, self._namespace):
                if not at_once and self._comes_back(source):
                    found.notes.append(_gone_note(source, target))
                    return
                why = f"Secret {source} is not offered to {target} any more"
                refused = self._write(emptied(copy, why), f"emptied, because {source} is no longer offered")
                refused = refused and f"Secret {target}: {refused}"
        except Forbidden:
            refused = f"Secret {target} has a copy, and {NO_RIGHT.format('empty')}"
        if refused:
            found.notes.append(refused)
            return
        unnoted = self._note(found, {place: name for place, name in found.copies.items() if place != target})
        found.notes += [unnoted] if unnoted else []

    def _comes_back(self, source: Place) -> bool:
        """Whether an offer of ours was deleted, and not only withdrawn, and may be there again soon."""
        there = self._kube.get(SECRET, source.name, source.namespace)
        return there is None and self._gone.may_come_back(source)

    def _carry_out(
        self, decision: CopyDecision, request: KubeObject | None, offer: KubeObject | None, source: Place
    ) -> str:
        """Why it could not be; empty where it could. Whoever asks reads on the Secret why it is empty."""
        if request is None:
            return ""
        if decision.step == Step.NOTHING:
            told = explained(request, source, decision.message)
            return self._write(told, "its request was checked") if told else ""
        if decision.step == Step.FILL and offer is not None:
            return self._write(filled(request, offer, source), f"updated from {source}")
        why = decision.message
        return self._write(emptied(request, why), f"emptied, because {source} is no longer offered")

    def _write(self, secret: KubeObject, done: str) -> str:
        """Why it could not be, without the API server's words, which may quote the Secret. Raises Forbidden
        for one of another namespace, where a right may be missing."""
        meta = secret["metadata"]
        place = f"{meta['namespace']}/{meta['name']}"
        try:
            self._kube.replace(secret)
        except KubeError as error:
            elsewhere = meta["namespace"] != self._namespace
            if not is_refusal(error) or (elsewhere and isinstance(error, Forbidden)):
                raise
            return REFUSED
        log_action("exchange", place, f"Secret {place}: {done}")
        return ""

    def copies(self) -> dict[Place, str]:
        """The targets beyond the region's namespace that were filled, each with the name of its offer. Raises
        KubeError."""
        self._taken = None
        try:
            self._record = own_record(self._kube, COPIES_CONFIGMAP, self._namespace)
        except ObjectRefused as error:
            self._record, self._taken = None, error
        data: Mapping[str, str] = (self._record or {}).get("data") or {}
        # No namespace has a dot in its name.
        places = ((parse_place(key.replace(".", "/", 1)), name) for key, name in data.items())
        return {place: name for place, name in places if place is not None}

    def _note(self, found: _Pass, copies: Mapping[Place, str]) -> str:
        """Writes down where copies are, and remembers it; why it could not be."""
        if copies == found.copies:
            return ""
        place = f"{self._namespace}/{COPIES_CONFIGMAP}"
        refused = refusal_of(partial(self._write_record, copies))
        if refused:
            return f"ConfigMap {place}: {refused}"
        log_action("exchange", place, f"ConfigMap {place}: records {count(len(copies), 'copy', 'copies')}")
        found.copies = dict(copies)
        return ""

    def _write_record(self, copies: Mapping[Place, str]) -> None:
        if self._taken is not None:
            raise self._taken
        data = {f"{place.namespace}.{place.name}": name for place, name in sorted(copies.items())}
        if self._record is None:
            meta = {
                "name": COPIES_CONFIGMAP,
                "namespace": self._namespace,
                "labels": {MANAGED_BY: MANAGED_BY_US},
            }
            head = {"apiVersion": CONFIGMAP.api_version, "kind": CONFIGMAP.kind, "metadata": meta}
            self._record = self._kube.create({**head, "data": data})
        else:
            self._record = self._kube.replace({**self._record, "data": data})


def offers_by_target(namespace: str, shared: KubeObjects) -> Mapping[Place, Mapping[Place, KubeObject]]:
    """Of each place to which Secrets of the namespace are offered, these Secrets by their places."""
    given: dict[Place, dict[Place, KubeObject]] = {}
    for secret in shared:
        source = Place(namespace, str(secret["metadata"]["name"]))
        for target in offered_to(secret):
            given.setdefault(target, {})[source] = secret
    return given


def _is_ours(copy: KubeObject, source: Place, namespace: str) -> bool:
    """Whether it was filled from a Secret of the namespace, and still is one that asks, if for another."""
    return source.namespace == namespace and requested_from(copy) is not None


def _gone_note(source: Place, target: Place) -> str:
    return f"Secret {source} is gone; its copy {target} is emptied if the Secret does not return immediately"
