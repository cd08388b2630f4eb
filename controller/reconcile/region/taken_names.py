"""HelmBundles that have the name of one of the region's, and are not its own: they are left as they are.

Whose a bundle is its labels tell. One that this controller has made for an OpenStackDeployment that is gone
is free, as the credentials of such a region are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.domain.api.names import DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_US, SERVICE_LABEL
from controller.domain.api.spec_rules import running_region as rules
from controller.errors import Problem
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, Kube, KubeObject


@dataclass(frozen=True)
class Namesakes:
    """Bundles of wanted names that are not the region's: what is wrong with each that is of others (`taken`),
    and those that are `free`."""

    taken: Mapping[str, Problem] = field(default_factory=dict)
    free: tuple[KubeObject, ...] = ()


def observe_namesakes(kube: Kube, osdpl: KubeObject, names: Iterable[str]) -> Namesakes:
    """What has these names of bundles, of which none is the region's. Raises KubeError."""
    namespace, region = str(osdpl["metadata"]["namespace"]), str(osdpl["metadata"]["name"])
    taken, free = {}, []
    for name in sorted(names):
        there = kube.get(HELMBUNDLE, name, namespace)
        if there is not None and _is_free(kube, there, region):
            free.append(there)
        elif there is not None:
            taken[name] = _problem(name, namespace, region)
    return Namesakes(taken, tuple(free))


def _is_free(kube: Kube, bundle: KubeObject, region: str) -> bool:
    labels = bundle["metadata"].get("labels") or {}
    maker = labels.get(DEPLOYMENT_LABEL)
    if labels.get(MANAGED_BY) != MANAGED_BY_US or SERVICE_LABEL not in labels or not maker:
        return False
    return maker == region or kube.get(OSDPL, maker, str(bundle["metadata"]["namespace"])) is None


def _problem(name: str, namespace: str, region: str) -> Problem:
    labels = f"{DEPLOYMENT_LABEL}={region} {MANAGED_BY}={MANAGED_BY_US} {SERVICE_LABEL}={name}"
    return rules.BUNDLE_NAME_TAKEN.at(f"HelmBundle {name}", name=name, namespace=namespace, labels=labels)
