"""health's part of the region's status: `health` and the condition `WorkloadsHealthy`.

Nothing is asked of the API server but the osdpl itself: the workloads are known from watches.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import entries, find
from controller.domain.api.keys import RegionKey
from controller.domain.api.names import field_manager
from controller.domain.api.reasons import Reason
from controller.domain.health.flap_damping import FlapDamping
from controller.domain.health.pods import PodFacts, parse_pod
from controller.domain.health.probes import APPLICATION, probed
from controller.domain.health.progress_deadlines import ProgressDeadlines
from controller.domain.health.region_health import (
    CONDITION,
    ComponentKey,
    Facts,
    Release,
    health_entries,
    judge_components,
    missing_workloads,
    workloads_condition,
)
from controller.domain.health.workload_health import VolumeClaim
from controller.domain.health.workloads import Workload, parse_workload
from controller.domain.releases.bundle_facts import BundleFacts, marks_digest, parse_bundle, releases_of
from controller.errors import ObjectMissing
from controller.ports.kubernetes import (
    DAEMONSET,
    DEPLOYMENT,
    HELMBUNDLE,
    JOB,
    OSDPL,
    POD,
    PVC,
    STATEFULSET,
    KubeObject,
    Resource,
)
from controller.reconcile.health.parts import HealthPorts, HealthSettings
from controller.reconcile.health.probes import ServiceProbes
from controller.reconcile.releases.manifests import ReleaseManifests
from controller.reconcile.shared.object_store import CATCHING_UP, ObjectStore, Parse
from controller.reconcile.shared.pod_output import PodOutput, in_thread
from controller.reconcile.shared.region_redactor import RegionRedactor
from controller.reconcile.shared.region_status import WRITE_EVERY, apply_region_status

log = logging.getLogger(__name__)

MANAGER = field_manager("health")
WORKLOADS = (DEPLOYMENT, STATEFULSET, DAEMONSET, JOB)
# Deadlines and the calm after flapping pass without an event.
RESYNC_SECONDS = 10.0


def parse_claim(obj: Mapping[str, Any]) -> VolumeClaim:
    """The facts of a PersistentVolumeClaim."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return VolumeClaim(
        name=str(obj["metadata"]["name"]),
        phase=str(status.get("phase") or "Pending"),
        storage_class=str(spec.get("storageClassName") or ""),
        deleting=bool(obj["metadata"].get("deletionTimestamp")),
    )


# What the container watches, and how an object becomes facts.
PARSERS: Mapping[Resource, Parse] = {
    **dict.fromkeys(WORKLOADS, parse_workload),
    POD: parse_pod,
    PVC: parse_claim,
    HELMBUNDLE: parse_bundle,
}


@dataclass(frozen=True)
class _Subject:
    """What a verdict is about: a generation of the spec, and what the bundles had brought about (a digest,
    empty while none was reported)."""

    generation: int
    bundles: str


class HealthReconciler:
    """Judges the workloads of one namespace's regions from what `store` holds of `PARSERS`.

    `probes` ask the region's own services; without, only its workloads are judged. `changed()` is called when
    a pass may find something that no watch reports; `beside` has done what may take long.
    """

    def __init__(
        self,
        ports: HealthPorts,
        settings: HealthSettings,
        *,
        store: ObjectStore,
        changed: Callable[[], None],
        beside: Callable[[Callable[[], None]], None] = in_thread,
        probes: ServiceProbes | None = None,
    ) -> None:
        kube, clock, namespace = ports.kube, ports.clock, settings.namespace
        self._ports = ports
        self._settings = settings
        self._store = store
        self._redactor = RegionRedactor(kube, clock, namespace)
        self._manifests = ReleaseManifests(ports.records, namespace)
        self._output = PodOutput(kube, clock, namespace, beside=beside, changed=changed)
        self._missing: frozenset[Workload] = frozenset()
        self._memory: dict[RegionKey, tuple[ProgressDeadlines, FlapDamping]] = {}
        self._written: dict[RegionKey, float] = {}
        self._probes = probes

    def reconcile(self, key: RegionKey) -> float | None:
        """One pass; seconds until the next that no event will announce, None when the osdpl is gone.

        Raises KubeError.
        """
        pause = self._written.get(key, -WRITE_EVERY) + WRITE_EVERY - self._ports.clock.monotonic()
        if pause > 0:
            return pause
        if not self._store.is_complete(not_older_than=self._settings.resync):
            return CATCHING_UP
        namespace, name = key
        osdpl = self._ports.kube.get(OSDPL, name, namespace)
        if osdpl is None:
            self._memory.pop(key, None)
            self._written.pop(key, None)
            if self._probes is not None and not self._memory:
                self._probes.end()
            return None
        bundles = self._bundles(name)
        known = (osdpl.get("status") or {}).get("conditions") or []
        if not bundles and find(known, CONDITION).get("status") not in ("True", "False"):
            # Nothing was asked for yet, or this osdpl is not the one that is served.
            return None
        # Before the facts are taken: they must hold what it was found that the watches have reported.
        subject, behind = self._subject(osdpl, bundles)
        bundles = self._bundles(name)
        facts = self._confirmed(self._facts(releases_of(bundles)))
        if facts is None:
            return CATCHING_UP
        self._redactor.learn_from_secrets(frozenset().union(*(one.secrets for one in bundles)))
        try:
            well = self._publish(key, osdpl, facts, subject)
        except ObjectMissing:
            return None
        if behind:
            return CATCHING_UP
        again = self._settings.resync if well else RESYNC_SECONDS
        due = self._probes.due_in() if self._probes else None
        return again if due is None else min(again, due)

    def _bundles(self, deployment: str) -> list[BundleFacts]:
        return [one for one in self._store.facts(HELMBUNDLE) if one.deployment == deployment]

    def _publish(self, key: RegionKey, osdpl: KubeObject, facts: Facts, subject: _Subject) -> bool:
        """Writes what differs; whether every component is ready."""
        before = osdpl.get("status") or {}
        known = before.get("conditions") or []
        reported, moment = before.get("health") or {}, self._ports.clock.monotonic()
        remembered = (ProgressDeadlines(self._settings.progress_deadline), FlapDamping())
        deadlines, damping = self._memory.setdefault(key, remembered)
        judged = self._output.added(deadlines.judged(judge_components(facts), reported, moment, facts.now))
        if self._probes is not None:
            judged.update(self._probes.components(probed(facts), reported.get(APPLICATION) or {}))
        damped = damping.damped(judged, reported, moment)
        redactor = self._redactor
        health = health_entries(damped, reported, facts.now, redactor.redact, redactor.redact_output)
        deleting = bool(osdpl["metadata"].get("deletionTimestamp"))
        condition = workloads_condition(health, facts.releases, known, subject.generation, deleting=deleting)
        status: dict[str, Any] = {"conditions": entries([condition], known, facts.now)}
        if health or reported:
            status["health"] = health
        if subject.bundles:
            status["healthOf"] = subject.bundles
        if apply_region_status(self._ports.kube, osdpl, status, manager=MANAGER):
            self._written[key] = self._ports.clock.monotonic()
            self._announce(osdpl, find(known, CONDITION), find(status["conditions"], CONDITION))
        return condition.status == "True"

    def _facts(self, releases: Mapping[str, Release], *, again: bool = False) -> Facts:
        workloads: list[Workload] = [one for kind in WORKLOADS for one in self._store.facts(kind)]
        pods: dict[ComponentKey, list[PodFacts]] = defaultdict(list)
        for pod in self._store.facts(POD):
            pods[pod.owner].append(pod)
        claims = {claim.name: claim for claim in self._store.facts(PVC)}
        manifests = self._manifests.of(releases, again=again)
        now, deadline = self._ports.clock.now(), self._settings.progress_deadline
        return Facts(releases, workloads, pods, claims, now, manifests, deadline)

    def _confirmed(self, facts: Facts) -> Facts | None:
        """The facts, if what seems to be missing is missing; None while the watches lag behind.

        They may lag behind a release's deployment, and its bundle's status behind a new revision that
        has no use for a workload any more.
        """
        missing = missing_workloads(facts.workloads, facts.manifests)
        if not missing <= self._missing:
            kinds = {workload.kind for workload in missing}
            if not all(self._store.catch_up(resource) for resource in WORKLOADS if resource.kind in kinds):
                return None
            facts = self._facts(facts.releases, again=True)
            missing = missing_workloads(facts.workloads, facts.manifests)
        self._missing = missing
        return facts

    def _subject(self, osdpl: KubeObject, bundles: list[BundleFacts]) -> tuple[_Subject, bool]:
        """What the verdict is about, and whether the watches lag behind.

        It moves on when all bundles are deployed and every change that this made to workloads has been
        seen: before, all that is ready may still be what ran before. The generation alone does not tell: a
        spec may wait for something and be applied later, and bundles change without it, with a Secret that
        they refer to or a new version of ours.
        """
        status = osdpl.get("status") or {}
        condition = find(status.get("conditions") or [], CONDITION)
        reached = int(condition.get("observedGeneration") or 0)
        target = max(reached, int(status.get("appliedGeneration") or 0))
        known = _Subject(reached, str(status.get("healthOf") or ""))
        if not _settled(bundles) or known == _Subject(target, _digest(bundles)):
            return known, False
        # The bundles first, and as they are then: whatever they have brought about is there to be seen.
        if self._store.catch_up(HELMBUNDLE):
            bundles = self._bundles(osdpl["metadata"]["name"])
            if _settled(bundles) and all(self._store.catch_up(resource) for resource in WORKLOADS):
                return _Subject(target, _digest(bundles)), False
        return known, True

    def _announce(self, osdpl: KubeObject, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """An Event when the condition turns over or changes its reason, and only then.

        That there is nothing to judge is none: whoever removes a region knows.
        """
        if (old.get("status"), old.get("reason")) == (new["status"], new["reason"]):
            return
        if new["status"] == "Unknown":
            return
        reason = Reason(new["reason"])
        self._ports.events.emit(osdpl, type_=reason.event, reason=reason, message=new["message"])


def _settled(bundles: list[BundleFacts]) -> bool:
    return bool(bundles) and all(bundle.settled for bundle in bundles)


def _digest(bundles: list[BundleFacts]) -> str:
    return marks_digest(bundle.mark for bundle in bundles)
