"""Running services that the spec does not remove, and that this controller's presets do not have.

What a preset brings is for each version of the controller to say. That it brings less is no reason to
uninstall what people work with: the bundle is marked and left as it is until a person names the service.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.domain.api.names import UNASKED_REMOVAL_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.api.spec_rules import running_region as rules
from controller.domain.values.chart_values import lookup
from controller.errors import Problem
from controller.ports.kubernetes import HELMBUNDLE, Events, Kube, KubeObject, KubeObjects
from controller.reconcile.region.bundle_writer import name_of
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import patch_seen
from controller.render.region import Region

_FIELD = "spec.features.services"


@dataclass(frozen=True)
class KeptServices:
    """The region with a warning for each service that is kept, the bundles as they are now, and the names of
    those that are kept."""

    region: Region
    bundles: KubeObjects
    names: frozenset[str] = frozenset()


def keep_services(
    kube: Kube, events: Events, osdpl: KubeObject, region: Region, bundles: KubeObjects
) -> KeptServices:
    """Keeps each bundle that leaves although the spec of this generation was served with it, and says so.

    It stays kept over later edits until `disabled` names it, or the spec has it again. Raises KubeError.
    """
    desired = {bundle.name for bundle in region.bundles} | region.missing.keys()
    disabled = lookup(osdpl, ("spec", "features", "services", "disabled")) or []
    applied = int((osdpl.get("status") or {}).get("appliedGeneration") or 0)
    unedited = applied >= int(osdpl["metadata"].get("generation") or 0)
    now, kept = [], []
    for bundle in bundles:
        name, marked = name_of(bundle), _is_marked(bundle)
        stays = name in desired or name in disabled or bundle["metadata"].get("deletionTimestamp")
        keep = not stays and (marked or unedited)
        now.append(bundle if keep == marked else _mark(kube, bundle, kept=keep))
        if keep:
            kept.append(name)
        if keep and not marked:
            reason = Reason.SERVICE_KEPT
            events.emit(osdpl, type_=reason.event, reason=reason, message=str(_warning(name)))
    warnings = (*region.warnings, *map(_warning, sorted(kept)))
    return KeptServices(replace(region, warnings=warnings), now, frozenset(kept))


def _is_marked(bundle: KubeObject) -> bool:
    return UNASKED_REMOVAL_ANNOTATION in (bundle["metadata"].get("annotations") or {})


def _mark(kube: Kube, bundle: KubeObject, *, kept: bool) -> KubeObject:
    mark = {UNASKED_REMOVAL_ANNOTATION: "kept" if kept else None}
    patched = patch_seen(kube, HELMBUNDLE, bundle, {"metadata": {"annotations": mark}})
    meta = bundle["metadata"]
    text = "kept, because its removal was not requested" if kept else "kept no longer"
    log_action("patch", f"{meta['namespace']}/{meta['name']}", f"HelmBundle {meta['name']}: {text}")
    return patched or bundle


def _warning(service: str) -> Problem:
    return rules.SERVICE_KEPT.at(_FIELD, service=service)
