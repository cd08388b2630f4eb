"""What a support file is made of: each part is an entry, with what is read for it and shown of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from controller.cli.gathering.masks import Mask
from controller.cli.gathering.views import (
    definition_of,
    names_of,
    reduced,
    revision_of,
    whole,
)
from controller.domain.api.names import API_VERSION, CREDENTIAL_REGISTER, DEPLOYMENT_LABEL, GROUP
from controller.domain.api.region_name import RegionName, region_of
from controller.errors import KubeError, ObjectMissing
from controller.ports.kubernetes import (
    COMPUTE_MAINTENANCE,
    CONFIGMAP,
    CRONJOB,
    DAEMONSET,
    DEPLOYMENT,
    EVENT,
    HELMBUNDLE,
    JOB,
    LEASE,
    NODE,
    OSDPL,
    PDB,
    POD,
    PVC,
    RESOURCE_QUOTA,
    RESTORE,
    SECRET,
    SERVER,
    SERVICE,
    STATEFULSET,
    STORAGE_CLASS,
    KubeObject,
    Resource,
)
from controller.ports.survey import Survey

DEFINITION = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
CONTROLLER_PODS = "app.kubernetes.io/name=openstack-controller"
_RECORDS, _NO_RECORDS = "type=helm.sh/release.v1", "type!=helm.sh/release.v1"
# ConfigMaps in which the controller keeps what it has to remember.
_OWN_MAPS = (CREDENTIAL_REGISTER, "osctl-host-disks", "osctl-forced-down-hosts", "osctl-copies")
# Of whose definitions the versions matter.
_GROUPS = (GROUP, "gateway.networking.k8s.io", "cert-manager.io", "monitoring.coreos.com")
LOG_LINES, LOG_OCTETS = 5000, 2 * 1024 * 1024
_WORKLOADS = (DEPLOYMENT, STATEFULSET, DAEMONSET, JOB, CRONJOB, PDB, SERVICE, PVC, RESOURCE_QUOTA)

View = Callable[[KubeObject], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Part:
    """An entry. `texts`: it has free text of others, so it is shown only if all Secrets could be read."""

    path: str
    lines: Callable[[Mask], Iterator[str]]
    texts: bool = False


@dataclass(frozen=True)
class Places:
    """Where to look. `region` has no name where there is no OpenStackDeployment."""

    region: RegionName
    controller: str

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The region's, and the controller's if it is another one."""
        return tuple(dict.fromkeys((self.region.namespace, self.controller)))


def parts_of(survey: Survey, places: Places) -> Iterator[Part]:
    """All parts, the most telling first: a file that is full or late lacks the last ones."""
    space = places.region.namespace
    listed = partial(_listed, survey)
    of_region = f"{DEPLOYMENT_LABEL}={places.region.name}" if places.region.name else ""
    yield Part("versions.json", partial(_versions, survey))
    yield listed("region/openstackdeployments.jsonl", OSDPL, space, whole)
    yield listed("region/helmbundles.jsonl", HELMBUNDLE, space, whole, labels=of_region)
    yield listed(
        "region/computemaintenances.jsonl", COMPUTE_MAINTENANCE, None, partial(_of_region, places.region)
    )
    yield listed("region/openstackservers.jsonl", SERVER, space, whole)
    yield listed("region/regionrestores.jsonl", RESTORE, space, whole)
    yield listed("region/definitions.jsonl", DEFINITION, None, _definition)
    yield from _logs(survey, places.controller)
    for namespace in places.namespaces:
        view = partial(reduced, kind=EVENT.kind)
        yield listed(f"{namespace}/events.jsonl", EVENT, namespace, view, texts=True)
    yield listed("cluster/events.jsonl", EVENT, "default", _of_nodes, texts=True)
    yield listed("region/releases.jsonl", SECRET, space, revision_of, fields=_RECORDS, metadata=True)
    for namespace in places.namespaces:
        yield listed(f"{namespace}/pods.jsonl", POD, namespace, partial(reduced, kind=POD.kind))
        yield listed(f"{namespace}/leases.jsonl", LEASE, namespace, partial(reduced, kind=LEASE.kind))
    for resource in _WORKLOADS:
        view = partial(reduced, kind=resource.kind)
        yield listed(f"{space}/{resource.plural}.jsonl", resource, space, view)
    for resource in (NODE, STORAGE_CLASS):
        view = partial(reduced, kind=resource.kind)
        yield listed(f"cluster/{resource.plural}.jsonl", resource, None, view)
    for namespace in places.namespaces:
        secret = partial(names_of, kind="Secret")
        yield listed(f"{namespace}/secrets.jsonl", SECRET, namespace, secret, fields=_NO_RECORDS)
        yield listed(f"{namespace}/configmaps.jsonl", CONFIGMAP, namespace, _map)


def _listed(
    survey: Survey,
    path: str,
    resource: Resource,
    namespace: str | None,
    view: View,
    *,
    labels: str = "",
    fields: str = "",
    metadata: bool = False,
    texts: bool = False,
) -> Part:
    def lines(mask: Mask) -> Iterator[str]:
        mask = mask.of_ours if resource.api_version == API_VERSION else mask
        for obj in survey.scan(resource, namespace, labels=labels, fields=fields, metadata=metadata):
            shown = view(obj)
            if shown is not None:
                yield json.dumps(mask.of(shown), ensure_ascii=False, separators=(",", ":"))

    return Part(path, lines, texts)


def _versions(survey: Survey, mask: Mask) -> Iterator[str]:
    yield json.dumps({"kubernetes": mask.of(survey.server_version())}, ensure_ascii=False)


def _logs(survey: Survey, namespace: str) -> Iterator[Part]:
    """The logs of the controller's containers, of this run and of the one before."""
    try:
        pods = [
            (pod["metadata"]["name"], container["name"])
            for pod in survey.scan(POD, namespace, labels=CONTROLLER_PODS)
            for container in (pod.get("spec") or {}).get("containers") or ()
        ]
    except KubeError as error:
        yield Part(f"{namespace}/logs", partial(_refused, error))
        return
    if not pods:
        missing = ObjectMissing(f"namespace {namespace} has no pod of the controller ({CONTROLLER_PODS})")
        yield Part(f"{namespace}/logs", partial(_refused, missing))
    for pod, container in pods:
        for previous, end in ((False, "log"), (True, "previous.log")):
            lines = partial(_log_lines, survey, namespace, pod=pod, container=container, previous=previous)
            yield Part(f"{namespace}/logs/{pod}/{container}.{end}", lines, texts=True)


def _log_lines(
    survey: Survey, namespace: str, mask: Mask, *, pod: str, container: str, previous: bool
) -> Iterator[str]:
    text = survey.log_end(pod, namespace, container, lines=LOG_LINES, octets=LOG_OCTETS, previous=previous)
    yield from (mask.text(line) for line in text.splitlines())


def _refused(error: KubeError, mask: Mask) -> Iterator[str]:
    raise error


def _of_region(region: RegionName, obj: KubeObject) -> Mapping[str, Any] | None:
    return whole(obj) if not region.name or region_of(obj) == region else None


def _definition(obj: KubeObject) -> Mapping[str, Any] | None:
    group = str((obj.get("spec") or {}).get("group") or "")
    return definition_of(obj) if group.endswith(_GROUPS) else None


def _of_nodes(obj: KubeObject) -> Mapping[str, Any] | None:
    kind = (obj.get("involvedObject") or {}).get("kind")
    return reduced(obj, "Event") if kind in ("Node", "ComputeMaintenance") else None


def _map(obj: KubeObject) -> Mapping[str, Any]:
    shown = names_of(obj, "ConfigMap")
    if obj["metadata"]["name"] in _OWN_MAPS:
        shown["data"] = obj.get("data") or {}
    return shown
