"""What the Secrets with credentials say, once all of them are written: what is published of it, and what may
be wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from controller.domain.credentials.credential_plan import CredentialProblem, own_missing
from controller.domain.credentials.credential_warnings import (
    CredentialDoubt,
    accounts_left,
    edited_doubt,
    own_doubt,
    served_doubt,
)
from controller.domain.credentials.recovery.credential_traces import KnownCredentials
from controller.domain.credentials.served_certificate import CHAIN, KEY, certificate_faults
from controller.domain.region.required_certificates import GATEWAY
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.ports.system import Clock
from controller.reconcile.credentials.generation.credential_views import CredentialViews
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.shared.remaining_claims import credentials_name


@dataclass(frozen=True)
class _Texts:
    """`problems` are those of the pass so far, `unusable` those of Secrets that people have made; `noted`:
    the Secrets of which it is noted what was written; `recorded` as of `KnownCredentials`."""

    problems: tuple[CredentialProblem, ...]
    unusable: tuple[CredentialProblem, ...]
    doubts: tuple[CredentialDoubt, ...]
    recorded: Mapping[str, Collection[str]]
    noted: Mapping[str, tuple[str, ...]]


class CredentialTexts(CredentialStep[_Texts, _Texts]):
    """`Step.TEXTS`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def observe(self, work: RegionPass, before: Published) -> _Texts:
        """Reads the Secrets of people, which are not among those with our labels."""
        known = before.fact(KnownCredentials)
        recorded = known.recorded if known is not None else {}
        unusable = tuple(_unusable(work))
        doubts = (*_own_doubts(work), *_served(work, self._clock.now()), *_doubts(work))
        return _Texts(before.problems, unusable, doubts, recorded, {})

    def decide(self, work: RegionPass, observed: _Texts) -> _Texts:
        """Of which Secrets it is noted what they have: made before that was noted, restored, or declared as
        meant."""
        writable = frozenset() if work.read_only else work.store.rotatable()
        noted = {
            secret.name: (*secret.credentials, ACCOUNT_SUFFIX)
            for secret in work.needs.credentials
            if secret.name in writable
        }
        problems = (*observed.problems, *observed.unusable)
        return _Texts(problems, observed.unusable, observed.doubts, observed.recorded, noted)

    def apply(self, work: RegionPass, decided: _Texts) -> Published:
        """Notes, and publishes."""
        for name, keys in decided.noted.items():
            # Another pass tries again, and nothing depends on it.
            refusal_of(partial(work.store.take_as_written, name, keys))
        views = CredentialViews(work.store, work.digest_key, decided.problems, decided.doubts)
        own = views.of_own(work.features.credentials)
        ours = views.of_ours(work.needs.credentials, recorded=decided.recorded, services=work.services)
        return Published(decided.unusable, doubts=decided.doubts, views={**own, **ours})


def _unusable(work: RegionPass) -> Iterator[CredentialProblem]:
    """What is wrong with Secrets that people have made."""
    for one in work.features.credentials:
        filled = work.store.has(one.name, one.key)
        if not (filled and work.store.is_text(one.name, one.key)):
            yield own_missing(one, filled=filled)


def _own_doubts(work: RegionPass) -> Iterator[CredentialDoubt]:
    """What may be wrong with texts of people."""
    for one in work.features.credentials:
        if work.store.is_text(one.name, one.key):
            found = own_doubt(one, work.store.any_text(one.name, one.key))
            if found is not None:
                yield found


def _served(work: RegionPass, now: float) -> Iterator[CredentialDoubt]:
    """Of the operator's certificate of the public endpoints, for the names that the gateway is asked to have.
    A Secret that is missing is a problem of another step."""
    public = work.features.public_tls
    chain, key = (work.store.any_text(public.secret, name) if public.secret else "" for name in (CHAIN, KEY))
    if not (public.enabled and (chain or key)):
        return
    releases = (one for bundle in work.bundles for one in (bundle.get("spec") or {}).get("releases") or ())
    shown = [one.get("values") or {} for one in releases if (one.get("chart") or {}).get("name") == GATEWAY]
    hosts = [str(host) for values in shown for host in values.get("hosts") or ()]
    for fault in certificate_faults(chain, key, hosts, now):
        yield served_doubt(public.secret, fault)


def _doubts(work: RegionPass) -> Iterator[CredentialDoubt]:
    """What may be wrong with generated texts, and what is left of services that are gone."""
    store, names = work.store, {secret.name for secret in work.needs.credentials}
    for secret in work.needs.credentials:
        if edited := store.edited(secret.name):
            yield edited_doubt(secret.name, edited, work.namespace)
    for name, there in store.stored().items():
        gone = name not in names and there.service not in work.services
        if gone and there.ours and name == credentials_name(there.service):
            left = accounts_left(there, store.text(name, ACCOUNT_SUFFIX))
            if left is not None:
                yield left
