"""Turns one OpenStackDeployment into HelmBundles, and sums up what became of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from controller.domain.bundle_object import Owner, bundle_object
from controller.domain.conditions import Condition, entries, find
from controller.domain.digests import fingerprint
from controller.domain.names import (
    API_VERSION,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    SERVICE_LABEL,
    field_manager,
    finalizer,
)
from controller.domain.reasons import Reason
from controller.domain.region_summary import OWN_CONDITIONS, OWN_FIELDS, RegionFacts, summarize
from controller.errors import ChartInvalid, ObjectRefused, SpecInvalid
from controller.ports import HELMBUNDLE, OSDPL, SECRET, Clock, Events, Kube, KubeObject, KubeObjects
from controller.reconcile.managed_region import managed_region
from controller.reconcile.region_status import apply_region_status
from controller.render import Region, RegionBundle

log = logging.getLogger(__name__)

MANAGER = field_manager("core")
FINALIZER = finalizer("core")

LOOK_AGAIN = 2.0

RegionKey = tuple[str, str]  # namespace, name of the osdpl


class DeploymentReconciler:
    """Level-triggered: every look reads the osdpl and its bundles and compares with what is rendered.

    `render` turns an osdpl object into a Region; it raises SpecInvalid or ChartInvalid.
    """

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        events: Events,
        render: Callable[[Mapping[str, Any]], Region],
        containers: tuple[str, ...],
        version: str,
        resync: float,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._render = render
        self._containers = containers
        self._version = version
        self._resync = resync

    def reconcile(self, key: RegionKey) -> float | None:
        """One look; seconds until the next that no event will announce."""
        namespace, name = key
        osdpl = self._kube.get(OSDPL, name, namespace)
        if osdpl is None:
            return None
        if osdpl["metadata"].get("deletionTimestamp"):
            return self._delete(osdpl)
        managed = managed_region(self._kube, namespace)
        if managed and managed != name:
            self._refuse_second(osdpl, managed)
            return 30.0
        # Before the spec is judged: whoever pauses a region does so while they mend it.
        paused = (osdpl.get("spec") or {}).get("mode") == "Paused"
        bundles = self._bundles(osdpl)
        if paused:
            bundles = self._pause(bundles)
        try:
            region = self._render(osdpl)
        except (SpecInvalid, ChartInvalid) as error:
            self._sum_up(osdpl, bundles, problem=str(error), paused=paused)
            return self._resync
        if FINALIZER not in (osdpl["metadata"].get("finalizers") or []):
            self._set_finalizers(osdpl, [FINALIZER])
        problem = ""
        try:
            bundles = bundles if paused else self._apply(osdpl, region, bundles)
        except ObjectRefused as error:
            problem = f"a HelmBundle was refused: {error}"
        warnings = "; ".join(str(warning) for warning in region.warnings)
        self._sum_up(osdpl, bundles, region=region, problem=problem, warnings=warnings, paused=paused)
        return self._resync

    def _bundles(self, osdpl: KubeObject) -> KubeObjects:
        meta = osdpl["metadata"]
        return self._kube.list(
            HELMBUNDLE,
            meta["namespace"],
            labels=f"{DEPLOYMENT_LABEL}={meta['name']},{MANAGED_BY}={MANAGED_BY_US}",
        )

    def _apply(self, osdpl: KubeObject, region: Region, existing: KubeObjects) -> KubeObjects:
        """Applies what differs, asks for the deletion of what is no longer wanted; what is there now."""
        there = {bundle["metadata"]["name"]: bundle for bundle in existing}
        wanted = [self._object(osdpl, bundle) for bundle in region.bundles]
        changed = [
            obj
            for obj in wanted
            if (current := there.get(obj["metadata"]["name"])) is None or not _same(current, obj)
        ]
        if len(changed) > 1:
            # All or nothing: what the API server would refuse is known before the first is written.
            for obj in changed:
                self._kube.apply(obj, manager=MANAGER, dry_run=True)
        for obj in changed:
            name = obj["metadata"]["name"]
            there[name] = self._kube.apply(obj, manager=MANAGER)
            log.info("applied HelmBundle %s", name, extra={"action": "apply", "bundle": name})
        keep = {obj["metadata"]["name"] for obj in wanted}
        for name, gone in there.items():
            if name not in keep:
                self._remove(gone, str((osdpl.get("spec") or {}).get("volumes") or "Retain"))
        return list(there.values())

    def _object(self, osdpl: KubeObject, bundle: RegionBundle) -> KubeObject:
        meta = osdpl["metadata"]
        return bundle_object(
            name=bundle.name,
            namespace=meta["namespace"],
            spec=bundle.spec,
            labels={
                DEPLOYMENT_LABEL: meta["name"],
                SERVICE_LABEL: bundle.service,
                MANAGED_BY: MANAGED_BY_US,
            },
            owner=Owner(API_VERSION, OSDPL.kind, meta["name"], meta["uid"]),
        )

    def _pause(self, existing: KubeObjects) -> KubeObjects:
        """Has helmbundle stop too, and leaves everything else as it is."""
        return [self._patch_spec(bundle, {"mode": "Paused"}) for bundle in existing]

    def _patch_spec(self, bundle: KubeObject, fields: dict[str, str]) -> KubeObject:
        spec = bundle.get("spec") or {}
        if all(spec.get(name) == value for name, value in fields.items()):
            return bundle
        meta = bundle["metadata"]
        patched = self._kube.merge_patch(HELMBUNDLE, meta["name"], meta["namespace"], {"spec": fields})
        return patched or bundle

    def _remove(self, bundle: KubeObject, volumes: str) -> None:
        """Asks for deletion once; helmbundle uninstalls in reverse order and lets the object go."""
        meta = bundle["metadata"]
        if meta.get("deletionTimestamp"):
            return
        self._patch_spec(bundle, {"volumes": volumes, "mode": "Apply"})
        self._kube.delete(HELMBUNDLE, meta["name"], meta["namespace"], uid=meta.get("uid", ""))
        log.info("asked for deletion of HelmBundle %s", meta["name"], extra={"action": "delete"})

    def _delete(self, osdpl: KubeObject) -> float | None:
        if FINALIZER not in (osdpl["metadata"].get("finalizers") or []):
            return None
        volumes = str((osdpl.get("spec") or {}).get("volumes") or "Retain")
        bundles = self._bundles(osdpl)
        for bundle in bundles:
            self._remove(bundle, volumes)
        if not bundles and not self._credentials_would_go(osdpl, volumes):
            self._set_finalizers(osdpl, [])
            return None
        self._sum_up(osdpl, bundles, deleting=True)
        # No event tells when the last Secret is out.
        return self._resync if bundles else LOOK_AGAIN

    def _credentials_would_go(self, osdpl: KubeObject, volumes: str) -> bool:
        """Whether Secrets that are to stay still belong to the osdpl and would be collected with it.

        The secrets container takes them out of its ownership; where it is not deployed nobody put them in.
        """
        if volumes == "Delete" or "secrets" not in self._containers:
            return False
        meta = osdpl["metadata"]
        ours = f"{DEPLOYMENT_LABEL}={meta['name']},{MANAGED_BY}={MANAGED_BY_US}"
        secrets = self._kube.list_metadata(SECRET, meta["namespace"], labels=ours)
        owners = [owner for secret in secrets for owner in secret["metadata"].get("ownerReferences") or []]
        return any(owner.get("uid") == meta["uid"] for owner in owners)

    def _set_finalizers(self, osdpl: KubeObject, wanted: list[str]) -> None:
        meta = {"name": osdpl["metadata"]["name"], "namespace": osdpl["metadata"]["namespace"]}
        body = {"apiVersion": API_VERSION, "kind": OSDPL.kind, "metadata": {**meta, "finalizers": wanted}}
        self._kube.apply(body, manager=MANAGER)

    def _refuse_second(self, osdpl: KubeObject, managed: str) -> None:
        """Says why nothing happens. The object is not touched otherwise: no finalizer, no bundles."""
        generation = int(osdpl["metadata"].get("generation") or 0)
        before = osdpl.get("status") or {}
        text = (
            f'this controller runs "{managed}"; delete one of the two, '
            "or run another controller in a namespace of its own"
        )
        wanted = [
            Condition("Ready", "False", Reason.ANOTHER_DEPLOYMENT_MANAGED, text, generation),
            Condition("Stalled", "True", Reason.ANOTHER_DEPLOYMENT_MANAGED, text, generation),
        ]
        status = {
            "observedGeneration": generation,
            "conditions": entries(wanted, before.get("conditions") or [], self._clock.now()),
        }
        apply_region_status(self._kube, osdpl, status, manager=MANAGER, own_conditions=OWN_CONDITIONS)

    def _sum_up(
        self,
        osdpl: KubeObject,
        bundles: KubeObjects,
        *,
        region: Region | None = None,
        problem: str = "",
        warnings: str = "",
        paused: bool = False,
        deleting: bool = False,
    ) -> None:
        before = osdpl.get("status") or {}
        spec = osdpl.get("spec") or {}
        names = frozenset(b.name for b in region.bundles) if region else _names(bundles)
        facts = RegionFacts(
            generation=int(osdpl["metadata"].get("generation") or 0),
            version=self._version,
            openstack_version="" if problem else str(spec.get("openstackVersion") or ""),
            fingerprint=fingerprint(spec) if region and not problem else "",
            containers=self._containers,
            before=before,
            bundles=bundles,
            wanted=names,
            problem=problem,
            warnings=warnings,
            paused=paused,
            deleting=deleting,
            remaining=tuple(sorted(_names(bundles))) if deleting else (),
        )
        summary = summarize(facts)
        conditions = entries(summary.conditions, before.get("conditions") or [], self._clock.now())
        status = {**summary.fields, "conditions": conditions}
        written = apply_region_status(
            self._kube,
            osdpl,
            status,
            manager=MANAGER,
            own_conditions=OWN_CONDITIONS,
            own_fields=OWN_FIELDS,
        )
        if written:
            self._announce(osdpl, before, conditions)

    def _announce(
        self, osdpl: KubeObject, before: Mapping[str, Any], conditions: list[dict[str, Any]]
    ) -> None:
        """An Event when Ready turns over or changes its reason, and only then."""
        old, new = find(before.get("conditions") or [], "Ready"), find(conditions, "Ready")
        if (old.get("status"), old.get("reason")) == (new["status"], new["reason"]):
            return
        kind = "Normal" if new["status"] == "True" or new["reason"] == Reason.APPLYING else "Warning"
        self._events.emit(osdpl, type_=kind, reason=new["reason"], message=new["message"])


def _names(bundles: KubeObjects) -> frozenset[str]:
    return frozenset(str(bundle["metadata"]["name"]) for bundle in bundles)


def _same(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether applying `wanted` would change nothing."""
    meta, target = current["metadata"], wanted["metadata"]
    labels = meta.get("labels") or {}
    return (
        current.get("spec") == wanted["spec"]
        and all(labels.get(key) == value for key, value in target.get("labels", {}).items())
        and meta.get("ownerReferences") == target.get("ownerReferences")
    )
