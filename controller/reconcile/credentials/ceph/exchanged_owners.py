"""Takes the region off as the owner of exchanged objects, as earlier versions had it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from controller.domain.credentials.credential_plan import CredentialProblem
from controller.ports.kubernetes import OSDPL, Kube, Resource
from controller.reconcile.credentials.ceph.exchanged_objects import ExchangedObjects
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.shared.action_log import log_action

Owned = Sequence[tuple[Resource, Mapping[str, Any]]]


class ExchangedOwners(CredentialStep[Owned, Owned]):
    """`Step.OWNERS`."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def observe(self, work: RegionPass, before: Published) -> Owned | None:
        """The metadata of what the region owns."""
        return ExchangedObjects(self._kube, work.osdpl).owned() or None

    def decide(self, work: RegionPass, observed: Owned) -> Owned:
        """The same with the other owners only, on the condition that it is as it was read."""
        return [(resource, {**meta, "ownerReferences": _others(meta)}) for resource, meta in observed]

    def apply(self, work: RegionPass, decided: Owned) -> Published:
        """A refused write gives a problem."""
        problems = []
        for resource, meta in decided:
            kept = {key: meta[key] for key in ("resourceVersion", "ownerReferences")}
            patch = partial(
                self._kube.merge_patch, resource, meta["name"], work.namespace, {"metadata": kept}
            )
            if refused := refusal_of(patch):
                problems.append(CredentialProblem(str(meta["name"]), refused, resource.kind))
                continue
            place = f"{work.namespace}/{meta['name']}"
            log_action("disown", place, f"{resource.kind} {place}: no OpenStackDeployment owns it any more")
        return Published(tuple(problems))


def _others(meta: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    return [one for one in meta["ownerReferences"] if one.get("kind") != OSDPL.kind] or None
