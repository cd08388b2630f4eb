"""Exchanges Secrets with other namespaces, as a step of a pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from controller.domain.credentials.shared_secrets import Place
from controller.ports.kubernetes import Kube, KubeObject, KubeObjects
from controller.ports.system import Clock
from controller.reconcile.credentials.exchange.namespace_exchange import (
    GoneOffers,
    NamespaceExchange,
    offers_by_target,
)
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import ELSEWHERE_SECONDS, CredentialStep, Published


@dataclass(frozen=True)
class _Shared:
    """The Secrets of the region that are offered, or ask for one, and where copies of the region are."""

    exchange: NamespaceExchange
    secrets: KubeObjects
    copies: Mapping[Place, str]


@dataclass(frozen=True)
class _Offers:
    """What is offered, by the place to which it is."""

    shared: _Shared
    given: Mapping[Place, Mapping[Place, KubeObject]]


class SecretExchange(CredentialStep[_Shared, _Offers]):
    """`Step.EXCHANGE`."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._gone = GoneOffers(clock)

    def observe(self, work: RegionPass, before: Published) -> _Shared | None:
        """Nothing is to be done where nothing is shared, and no copy was filled."""
        exchange = NamespaceExchange(self._kube, work.osdpl, self._gone)
        secrets = exchange.shared()
        copies = {} if work.read_only else exchange.copies()
        if secrets or copies:
            return _Shared(exchange, secrets, copies)
        if not work.read_only:
            self._gone.end_pass()
        return None

    def decide(self, work: RegionPass, observed: _Shared) -> _Offers:
        """What is offered to whom."""
        return _Offers(observed, offers_by_target(work.namespace, observed.secrets))

    def apply(self, work: RegionPass, decided: _Offers) -> Published:
        """Brings every copy up to date, unless nothing may be written now."""
        if work.read_only:
            return Published(again=ELSEWHERE_SECONDS)
        shared = decided.shared
        found = shared.exchange.ensure(shared.secrets, decided.given, shared.copies)
        again = ELSEWHERE_SECONDS if found.busy else math.inf
        return Published(found.problems, found.notes, again=again)

    def remove(self, work: RegionPass) -> None:
        """Empties every copy, once nothing of the region runs any more."""
        if not work.bundles:
            NamespaceExchange(self._kube, work.osdpl, self._gone).remove()
