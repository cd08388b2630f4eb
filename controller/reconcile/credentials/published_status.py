"""Writes what a pass has come to into the status of the osdpl, with its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.conditions import Condition, entries, find
from controller.domain.api.names import field_manager
from controller.domain.api.reasons import Reason
from controller.domain.credentials.certificate_ends import ending_soon
from controller.domain.credentials.secret_status import (
    CONDITION,
    joined_views,
    rotation_notes,
    secret_entries,
    secrets_condition,
    waiting_condition,
    with_certificates,
    with_times,
)
from controller.ports.kubernetes import Events, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import Published
from controller.reconcile.shared.region_status import apply_region_status

MANAGER = field_manager("secrets")


class PublishedStatus:
    """`status.secrets` and the condition SecretsExchanged."""

    def __init__(self, kube: Kube, clock: Clock, events: Events) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events

    def publish(self, work: RegionPass, found: Published) -> None:
        """What all steps have come to. Raises Conflict, KubeError."""
        own = work.features.credentials
        credentials = sum(len(secret.credentials) for secret in work.needs.credentials) + len(own)
        needed = {secret.name for secret in work.needs.credentials} | {secret.name for secret in own}
        condition = secrets_condition(
            dict.fromkeys(found.problems),
            len(needed),
            credentials,
            _generation(work.osdpl),
            later=found.later,
            doubts=found.doubts,
            notes=(*found.notes, *rotation_notes(found.rotations)),
        )
        views = with_times(joined_views(found.views, found.certificates, found.rotations), found.times)
        secrets = secret_entries(views.values(), _before(work.osdpl), self._clock.now())
        self._write(work.osdpl, secrets, condition)

    def publish_waiting(self, work: RegionPass, found: Published, ends: Published, why: str) -> None:
        """While the spec cannot be read: what was published stays, as it says which keys there are. But
        certificates end meanwhile. Raises Conflict, KubeError."""
        known = _before(work.osdpl)
        certificates = secret_entries(ends.certificates.values(), known, self._clock.now())
        text = "; ".join([why, *(f"Secret {one.secret}: {one.message}" for one in found.problems)])
        condition = waiting_condition(text, _generation(work.osdpl))
        self._write(work.osdpl, with_certificates(known, certificates), condition)

    def _write(self, osdpl: KubeObject, secrets: Mapping[str, Any], condition: Condition) -> None:
        known = (osdpl.get("status") or {}).get("conditions") or []
        conditions = entries([condition], known, self._clock.now())
        # Before it is noted as published: what a kill cuts off comes with the next pass.
        for text in ending_soon(_before(osdpl), secrets):
            self._emit(osdpl, Reason.CERTIFICATE_EXPIRES, text)
        status = {"secrets": dict(secrets), "conditions": conditions}
        apply_region_status(self._kube, osdpl, status, manager=MANAGER, own_conditions=(CONDITION,))
        before = find(known, CONDITION)
        if (before.get("status"), before.get("reason")) != (condition.status, condition.reason):
            self._emit(osdpl, condition.reason, condition.message)

    def _emit(self, osdpl: KubeObject, reason: Reason, text: str) -> None:
        self._events.emit(osdpl, type_=reason.event, reason=reason, message=text)


def _before(osdpl: KubeObject) -> Mapping[str, Any]:
    return (osdpl.get("status") or {}).get("secrets") or {}


def _generation(osdpl: KubeObject) -> int:
    return int(osdpl["metadata"].get("generation") or 0)
