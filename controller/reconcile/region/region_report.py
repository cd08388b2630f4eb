"""What core reports of a region: the summary in its status, and an Event when Ready changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller.domain.api.conditions import entries, find
from controller.domain.api.reasons import Reason
from controller.domain.region.controller_skew import SkewRefusal
from controller.domain.region.facts import RegionFacts, SilentContainers
from controller.domain.region.status.summary import (
    OWN_CONDITIONS,
    OWN_FIELDS,
    RegionSummary,
    refusal,
    refusal_by_version,
    summarize,
)
from controller.domain.releases.digests import fingerprint
from controller.errors import ObjectTooLarge
from controller.ports.kubernetes import KubeObject
from controller.reconcile.region.bundle_writer import MANAGER
from controller.reconcile.region.observation import RegionObservation
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.shared.region_status import apply_region_status


class RegionReport:
    """Writes core's part of the status. `silence` says which other containers do not live."""

    def __init__(
        self, ports: RegionPorts, settings: RegionSettings, silence: Callable[[], SilentContainers]
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._silence = silence

    def refuse_second(self, osdpl: KubeObject, managed: str) -> None:
        """Says why nothing happens. The object is not touched otherwise: no finalizer, no bundles."""
        generation = int(osdpl["metadata"].get("generation") or 0)
        self._publish(osdpl, refusal(managed, generation, osdpl.get("status") or {}))

    def refuse_version(self, osdpl: KubeObject, refusal: SkewRefusal) -> None:
        """Says why this controller leaves a region as one of another version left it."""
        generation = int(osdpl["metadata"].get("generation") or 0)
        self._publish(osdpl, refusal_by_version(refusal, generation, osdpl.get("status") or {}))

    def sum_up(self, osdpl: KubeObject, found: RegionObservation) -> None:
        before, spec = osdpl.get("status") or {}, found.spec
        facts = RegionFacts(
            name=str(osdpl["metadata"]["name"]),
            generation=int(osdpl["metadata"].get("generation") or 0),
            version=self._settings.version,
            openstack_version=spec.openstack_version if found.served else "",
            fingerprint=fingerprint(osdpl.get("spec") or {}) if found.served else "",
            containers=self._settings.containers,
            before=before,
            bundles=found.bundles,
            desired=found.desired,
            problem=found.problem,
            problem_reason=found.problem_reason,
            lacking=found.lacking,
            warnings="; ".join(str(warning) for warning in found.region.warnings) if found.region else "",
            paused=spec.paused,
            awaiting_approval=found.awaiting_approval,
            deleting=found.deleting,
            remaining=tuple(sorted(found.names)) if found.deleting else (),
            plan=found.plan,
            approval=found.approval,
            approved=spec.approved_plan,
            fields=found.fields,
            keeps_plan=found.applying or spec.paused,
            silence=self._silence(),
            upgrade=found.upgrade,
            backup=found.backup,
            now=self._ports.clock.now(),
            restore=str(found.restore["metadata"]["name"]) if found.restore else "",
            restore_text=str((found.restore.get("status") or {}).get("message")) if found.restore else "",
        )
        self._publish(osdpl, summarize(facts))

    def _publish(self, osdpl: KubeObject, summary: RegionSummary) -> None:
        before = osdpl.get("status") or {}
        conditions = entries(summary.conditions, before.get("conditions") or [], self._ports.clock.now())
        try:
            written = apply_region_status(
                self._ports.kube,
                osdpl,
                {**summary.fields, "conditions": conditions},
                manager=MANAGER,
                own_conditions=OWN_CONDITIONS,
                own_fields=OWN_FIELDS,
            )
        except ObjectTooLarge as error:
            # The spec leaves no room for it: an Event is another object.
            text, reason = f"the status cannot be written: {error}", Reason.SPEC_INVALID
            self._ports.events.emit(osdpl, type_=reason.event, reason=reason, message=text)
            raise
        if written:
            self._announce(osdpl, before, conditions)

    def _announce(
        self, osdpl: KubeObject, before: Mapping[str, Any], conditions: list[dict[str, Any]]
    ) -> None:
        """An Event when Ready turns over or changes its reason, and only then."""
        old, new = find(before.get("conditions") or [], "Ready"), find(conditions, "Ready")
        if (old.get("status"), old.get("reason")) == (new["status"], new["reason"]):
            return
        reason = Reason(new["reason"])
        self._ports.events.emit(osdpl, type_=reason.event, reason=reason, message=new["message"])
