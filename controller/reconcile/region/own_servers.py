"""Refuses an external server while the region still runs its own server.

Both have a Service of one name. While that one selects pods, Kubernetes keeps the Endpoints that the other's
chart would make, and afterwards its EndpointSlices lead to pods that are gone.
"""

from __future__ import annotations

from controller.domain.api.spec_rules import running_region as rules
from controller.errors import OwnServerRuns, Problem
from controller.ports.kubernetes import SERVICE, Kube, KubeObject
from controller.render.region import Region

_CHART = "external-service"
GUIDE = "docs/external-servers.md"


def refuse_beside_own_servers(kube: Kube, osdpl: KubeObject, region: Region) -> None:
    """Raises OwnServerRuns where a Service of the region's own server is there; KubeError."""
    namespace = str(osdpl["metadata"]["namespace"])
    problems = []
    for bundle in region.bundles:
        for release in bundle.releases:
            name = release.spec.name
            if release.spec.chart.name != _CHART:
                continue
            live = kube.get(SERVICE, name, namespace)
            if live is not None and (live.get("spec") or {}).get("selector"):
                problems.append(_problem(bundle.service, name, namespace))
    if problems:
        raise OwnServerRuns(problems)


def _problem(service: str, name: str, namespace: str) -> Problem:
    kubectl = f"kubectl -n {namespace}"
    return rules.OWN_SERVER_RUNS.at(
        f"spec.features.{service}.external", name=name, kubectl=kubectl, service=service
    )
