"""Exchanges Secrets with other namespaces, as a step of a pass."""

from __future__ import annotations

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
class _Exchange:
    """`shared`: what the region offers, or asks for; `given`: what it offers, by target."""

    shared: KubeObjects
    given: Mapping[Place, Mapping[Place, KubeObject]]


class SecretExchange(CredentialStep[KubeObjects, _Exchange]):
    """`Step.EXCHANGE`."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._gone = GoneOffers(clock)

    def observe(self, work: RegionPass, before: Published) -> KubeObjects | None:
        """The Secrets of the region that are offered, or ask for one."""
        return self._exchange(work).shared()

    def decide(self, work: RegionPass, observed: KubeObjects) -> _Exchange:
        """What is offered to whom."""
        return _Exchange(observed, offers_by_target(work.namespace, observed))

    def apply(self, work: RegionPass, decided: _Exchange) -> Published:
        """Brings every copy up to date, unless nothing may be written now."""
        if work.read_only:
            return Published(again=ELSEWHERE_SECONDS) if decided.shared else Published()
        found = self._exchange(work).ensure(decided.shared, decided.given)
        again = Published(again=ELSEWHERE_SECONDS) if found.busy else Published()
        return again.joined(Published(found.problems, found.notes))

    def remove(self, work: RegionPass) -> None:
        """Empties every copy, once nothing of the region runs any more."""
        if not work.bundles:
            self._exchange(work).remove()

    def _exchange(self, work: RegionPass) -> NamespaceExchange:
        return NamespaceExchange(self._kube, work.osdpl, self._gone)
