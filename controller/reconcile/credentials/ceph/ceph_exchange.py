"""Brings what a Ceph cluster offers into the region's namespace, in the shapes that the charts mount.

The digests of the consumers are written last and in one write: releases refer to them (`$secretRef`), so that
a release waits until all it needs is there, and its pods are made again once for each change, whichever
objects it touches. What is written again with the same content changes no digest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from controller.domain.credentials.ceph.offer import NO_TEXT, CephOffer, OfferProblem, Place
from controller.domain.credentials.ceph.own_offer import parse_own_offer
from controller.domain.credentials.ceph.region_objects import (
    CONF_FILE,
    KEY_TYPE,
    CephGap,
    CephObjects,
    plan_objects,
    wider_clients,
)
from controller.domain.credentials.ceph.request import CLIENT_KIND
from controller.domain.credentials.ceph.rook_offer import CLUSTER, MONITORS, client_place, parse_rook_offer
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.rotation.accounts import references_to, releases_of
from controller.domain.credentials.secret_status import SecretView
from controller.domain.releases.bundle_facts import parse_bundle
from controller.domain.releases.digests import secret_digest
from controller.domain.shared.plurals import count
from controller.domain.values.ceph_needs import CEPH_CONF, CONSUMERS, CONSUMERS_SECRET, ROOK, CephNeeds
from controller.domain.values.secret_refs import find_references
from controller.errors import Forbidden, SpecInvalid
from controller.ports.kubernetes import CONFIGMAP, SECRET, Kube, KubeObject, KubeObjects
from controller.reconcile.credentials.ceph.ceph_request import CephAdministrators
from controller.reconcile.credentials.ceph.exchanged_objects import ExchangedObjects, texts_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.rotation.credential_uptake import CredentialUptake
from controller.reconcile.credentials.steps import (
    ELSEWHERE_SECONDS,
    SOON_SECONDS,
    CredentialStep,
    Published,
)

NO_RIGHT = (
    "the controller may not read it; name the namespace in ceph.namespaces of the controller's "
    "chart, and your own names of Secrets in its field secrets"
)
_KINDS = {SECRET.kind: SECRET, CONFIGMAP.kind: CONFIGMAP}


@dataclass(frozen=True)
class _Offered:
    """What is offered, and the object to name for what it lacks."""

    needs: CephNeeds
    offer: CephOffer
    source: Place
    objects: ExchangedObjects


@dataclass(frozen=True)
class _Taken:
    """What is to be there, and the consumers whose digest some release is made from."""

    offered: _Offered
    planned: CephObjects
    in_use: Collection[str]


class CephExchange(CredentialStep[_Offered, _Taken]):
    """`Step.CEPH`. `digest_key` gives the installation's key for published digests."""

    def __init__(self, kube: Kube, digest_key: Callable[[], bytes], uptake: CredentialUptake) -> None:
        self._kube = kube
        self._digest_key = digest_key
        self._uptake = uptake

    def observe(self, work: RegionPass, before: Published) -> _Offered | None:
        """What the cluster offers; the keys of administrators are not taken, whatever their Secrets hold."""
        needs = work.needs.ceph
        if needs is None:
            return None
        offer, source = self._offer(needs)
        administrators = before.fact(CephAdministrators) or CephAdministrators()
        objects = ExchangedObjects(self._kube, work.osdpl)
        objects.observe()
        return _Offered(needs, _without(offer, administrators.wrong), source, objects)

    def decide(self, work: RegionPass, observed: _Offered) -> _Taken:
        """Until what is deployed is what the bundles say, pods may mount what the spec before referred to."""
        planned = plan_objects(observed.needs, observed.offer, observed.source, self._digest)
        in_use = _in_use(work.bundles) if _taken_up(work.bundles) else frozenset(CONSUMERS)
        return _Taken(observed, planned, in_use)

    def apply(self, work: RegionPass, decided: _Taken) -> Published:
        """Writes what differs, unless nothing may be written; what is wrong is published all the same."""
        needs, offer, source = decided.offered.needs, decided.offered.offer, decided.offered.source
        planned, objects = decided.planned, decided.offered.objects
        refused = {} if work.read_only else self._write(objects, needs, planned, decided.in_use)
        problems = [_told(gap, needs.namespace) for gap in planned.gaps]
        problems += [CredentialProblem(name, text, kind) for (kind, name), text in refused.items()]
        wider = (
            f"{source.kind} {needs.namespace}/{source.name}: {text}" for text in wider_clients(needs, offer)
        )
        views = self._views(objects, needs, planned.gaps, refused)
        behind = self._behind(work, objects)
        notes = (*_gateway_notes(needs, offer, source), *wider, *behind)
        again = SOON_SECONDS if behind else ELSEWHERE_SECONDS
        return Published(tuple(problems), notes, views=views, again=again)

    def remove(self, work: RegionPass) -> None:
        """With the region, once nothing of it runs any more."""
        if not work.bundles:
            ExchangedObjects(self._kube, work.osdpl).remove()

    def _offer(self, needs: CephNeeds) -> tuple[CephOffer, Place]:
        """What is offered, and the object to name for what it lacks."""
        denied: set[Place] = set()

        def read(place: Place) -> Mapping[str, str] | None:
            try:
                found = self._kube.get(_KINDS[place.kind], place.name, needs.namespace)
            except Forbidden:
                denied.add(place)
                return None
            return None if found is None else texts_of(found)

        if needs.source == ROOK:
            source = CLUSTER
            clients = {user: read(client_place(user)) for user in sorted(set(needs.key_secrets.values()))}
            offer = parse_rook_offer(read(CLUSTER), read(MONITORS), clients)
        else:
            source = Place(SECRET.kind, needs.secret_name)
            offer = parse_own_offer(source, read(source))
        told = tuple(_denied(one) if one.place in denied else one for one in offer.problems)
        return replace(offer, problems=told), source

    def _behind(self, work: RegionPass, objects: ExchangedObjects) -> tuple[str, ...]:
        """A note on releases that do not use yet what is written; none until the region was Ready once."""
        if not objects.texts(CONSUMERS_SECRET) or not _was_ready(work.osdpl):
            return ()
        try:
            consumers = [one for one in releases_of(work.bundles) if references_to(CONSUMERS_SECRET, one)]
            behind = self._uptake.behind(work.namespace, CONSUMERS_SECRET, consumers)
        except SpecInvalid:
            # helmbundle reports values that cannot be read, and upgrades none of their releases.
            return ()
        if not behind:
            return ()
        total = count(len(consumers), "release")
        done = f"{len(consumers) - len(behind)} of {total}"
        return (f'Secret "{CONSUMERS_SECRET}": taken up by {done}: {", ".join(behind)}',)

    def _write(
        self, objects: ExchangedObjects, needs: CephNeeds, planned: CephObjects, in_use: Collection[str]
    ) -> dict[tuple[str, str], str]:
        """Makes the objects; why those that could not be made could not, by kind and name."""
        if planned.conf is None:
            return {}
        refused: dict[tuple[str, str], str] = {}
        text = objects.ensure(CONFIGMAP, CEPH_CONF, {CONF_FILE: planned.conf})
        if text:
            # Whoever made it configures another cluster than the one that the keys are for.
            return {(CONFIGMAP.kind, CEPH_CONF): text}
        for name, texts in planned.keys.items():
            text = objects.ensure(SECRET, name, texts, type_=KEY_TYPE)
            if text:
                refused[SECRET.kind, name] = text
        digests = _digests(objects, needs, planned, {name for _, name in refused}, in_use)
        text = objects.ensure(SECRET, CONSUMERS_SECRET, digests) if digests else ""
        if text:
            refused[SECRET.kind, CONSUMERS_SECRET] = text
        used = {secret for consumer in in_use for secret in CONSUMERS.get(consumer, ())}
        left = objects.keep_only({CONSUMERS_SECRET, *needs.key_secrets, *used})
        return {**refused, **{(SECRET.kind, name): text for name, text in left.items()}}

    def _views(
        self,
        objects: ExchangedObjects,
        needs: CephNeeds,
        gaps: Collection[CephGap],
        refused: Mapping[tuple[str, str], str],
    ) -> dict[str, SecretView]:
        views = {}
        for name in (CONSUMERS_SECRET, *needs.key_secrets):
            waits = [
                f"the object waits for {gap.place.kind} {needs.namespace}/{gap.place.name}: {gap.message}"
                for gap in gaps
                if name in gap.secrets
            ]
            messages = [*waits, *(text for (_, other), text in refused.items() if other == name)]
            texts = objects.texts(name)
            if texts or messages:
                digest = self._digest(texts) if texts else ""
                views[name] = SecretView(name, frozenset(texts), digest, tuple(messages))
        return views

    def _digest(self, texts: Mapping[str, str]) -> str:
        return f"hmac-sha256:{secret_digest(texts, self._digest_key())}"


def _digests(
    objects: ExchangedObjects,
    needs: CephNeeds,
    planned: CephObjects,
    refused: Collection[str],
    in_use: Collection[str],
) -> dict[str, str]:
    """Those of today; of a consumer that waits, or whose release is still there, the one before."""
    before = objects.texts(CONSUMERS_SECRET)
    kept = {
        one: text for one, text in before.items() if one in {*needs.consumers, *in_use} and text != NO_TEXT
    }
    now = {
        consumer: digest
        for consumer, digest in planned.digests.items()
        if not set(needs.consumers[consumer]) & set(refused)
    }
    return {**kept, **now}


def _gateway_notes(needs: CephNeeds, offer: CephOffer, source: Place) -> tuple[str, ...]:
    """What is published is what the spec says, which Keystone has; the offer may know better."""
    told, published = offer.gateway_url, needs.gateway_url.rstrip("/")
    if not told or not published or told == published:
        return ()
    what = f"{source.kind} {needs.namespace}/{source.name}: its rgw has a url other"
    return (f"{what} than spec.features.ceph.objectStorage.url, which is published",)


def _without(offer: CephOffer, administrators: Mapping[str, str]) -> CephOffer:
    """The offer without the clients of these CephClients, which a problem names."""
    clients = {user: one for user, one in offer.clients.items() if user not in administrators}
    told = tuple(OfferProblem(Place(CLIENT_KIND, user), text, user) for user, text in administrators.items())
    return replace(offer, clients=clients, problems=(*offer.problems, *told))


def _denied(problem: OfferProblem) -> OfferProblem:
    return replace(problem, message=NO_RIGHT)


def _told(gap: CephGap, namespace: str) -> CredentialProblem:
    return CredentialProblem(f"{namespace}/{gap.place.name}", gap.message, gap.place.kind)


def _was_ready(osdpl: KubeObject) -> bool:
    initialization = (osdpl.get("status") or {}).get("initialization") or {}
    return bool(initialization.get("provisioned"))


def _taken_up(bundles: KubeObjects) -> bool:
    """Whether what is deployed is what the specs of all bundles say: until then pods may mount what only the
    spec before referred to."""
    facts = [parse_bundle(bundle) for bundle in bundles]
    return all(one is not None and one.settled for one in facts)


def _in_use(bundles: KubeObjects) -> frozenset[str]:
    """The consumers whose digest some release of the region is made from."""
    return frozenset(key for bundle in bundles for key in _referred(bundle))


def _referred(bundle: KubeObject) -> Iterator[str]:
    for release in (bundle.get("spec") or {}).get("releases") or ():
        try:
            references = find_references(release.get("values") or {})
        except SpecInvalid:
            continue
        yield from (one.key for one in references if one.name == CONSUMERS_SECRET)
