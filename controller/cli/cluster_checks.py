"""What a cluster says of the regions of files: what of it they need and do not find there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.cli.cluster import Cluster
from controller.cli.offline.checks import Checked
from controller.cli.offline.input_files import InputObject
from controller.domain.region.node_overrides import labels_without_a_node
from controller.domain.validation.cluster.asked_resources import AskedResources
from controller.domain.validation.cluster.cluster_capacity import (
    NODES,
    ClusterCapacity,
    capacity_problems,
    cluster_capacity,
)
from controller.domain.validation.cluster.placed_pods import (
    cordoned_problems,
    placed_pods,
    placement_problems,
)
from controller.domain.validation.cluster.pod_security import pod_security_problems
from controller.domain.validation.cluster.quotas import quota_problems
from controller.domain.validation.missing_kinds import missing_kinds_text, needed_kinds
from controller.errors import Forbidden, ObjectMissing, Problem
from controller.ports.kubernetes import (
    CONFIGMAP,
    NAMESPACE,
    NODE,
    PVC,
    RESOURCE_QUOTA,
    SECRET,
    SERVICE_ACCOUNT,
    STORAGE_CLASS,
    KubeObject,
    resource_of,
)

# Subjects of what nodes and storage classes are compared with, in the order of `_of_nodes`.
ROOM, CLASSES = "labels and room of nodes", "storage classes"
_OF_NODES = (ROOM, CLASSES, "cordoned nodes", "taints", "labels of spec.nodes")
_SEARCHED = {one.kind: one for one in (SECRET, CONFIGMAP, PVC, SERVICE_ACCOUNT)}


class LiveObjects:
    """Objects of the cluster that a region may refer to, each asked for once."""

    def __init__(self, cluster: Cluster) -> None:
        self._kube = cluster.kube
        self._known: dict[tuple[str, str, str], KubeObject | None] = {}
        self.forbidden: set[tuple[str, str, str]] = set()

    @property
    def asked(self) -> Mapping[tuple[str, str, str], KubeObject | None]:
        """By kind, name and namespace, what was asked for, and the answers."""
        return self._known

    def __call__(self, kind: str, name: str, namespace: str) -> KubeObject | None:
        """The object; None where there is none, or it is not for us to see. Raises KubeError."""
        if kind not in _SEARCHED:
            return None
        place = (kind, name, namespace)
        if place not in self._known:
            try:
                self._known[place] = self._kube.get(_SEARCHED[kind], name, namespace)
            except Forbidden:
                self._known[place] = None
                self.forbidden.add(place)
        return self._known[place]


def beside_cluster(
    checked: Sequence[Checked], items: Sequence[InputObject], cluster: Cluster
) -> list[Checked]:
    """With warnings of what the cluster lacks for each region. `items`: what the objects were read from, in
    their order. Raises KubeError."""
    if not any(one.asked for one in checked):
        return list(checked)
    there = cluster_capacity(cluster.kube.list(NODE), cluster.kube.list(STORAGE_CLASS))
    given = [item.obj for item in items if item.name]
    found = []
    for one, item in zip(checked, items, strict=True):
        if one.asked is None or one.region is None:
            found.append(one)
            continue
        subjects = compared(one, cluster, there, given)
        problems = [problem for _, seen in subjects for problem in seen or ()]
        found.append(replace(one, warnings=(*one.warnings, *_located(item, problems))))
    return found


def seen_capacity(cluster: Cluster) -> ClusterCapacity | None:
    """Its nodes and storage classes; None where this account may not list them. Raises KubeError."""
    try:
        return cluster_capacity(cluster.kube.list(NODE), cluster.kube.list(STORAGE_CLASS))
    except Forbidden:
        return None


def compared(
    one: Checked, cluster: Cluster, there: ClusterCapacity | None, given: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, list[Problem] | None]]:
    """Each subject with its problems; None for one that this account may not read. `given`: of the files.

    Raises KubeError.
    """
    if one.asked is None or one.region is None:
        return
    if there is None:
        yield from ((subject, None) for subject in _OF_NODES)
    else:
        yield from zip(_OF_NODES, _of_nodes(one, one.asked, there), strict=True)
    namespace = one.region.deployment.namespace
    named = any(obj["kind"] == NAMESPACE.kind and obj["metadata"]["name"] == namespace for obj in given)
    try:
        live = None if named else cluster.kube.get(NAMESPACE, namespace)
        yield "Pod Security", list(pod_security_problems(live, one.made))
    except Forbidden:
        yield "Pod Security", None
    try:
        quotas = cluster.kube.list(RESOURCE_QUOTA, namespace)
        yield "quotas", list(quota_problems(quotas, one.made, there.nodes if there is not None else ()))
    except ObjectMissing:
        yield "quotas", []
    except Forbidden:
        yield "quotas", None
    yield "definitions of other products", list(_of_kinds(one, cluster, given))


def _located(item: InputObject, problems: Sequence[Problem]) -> list[Problem]:
    """Those of fields of the spec with their lines; the others are of the cluster."""
    return [item.locate(one) if one.path.startswith("spec") else one for one in problems]


def _of_nodes(one: Checked, asked: AskedResources, there: ClusterCapacity) -> Iterator[list[Problem]]:
    """The problems of each subject of _OF_NODES."""
    region = one.region
    room = capacity_problems(asked, there)
    yield [problem for problem in room if problem.path == NODES]
    yield [problem for problem in room if problem.path != NODES]
    placed = placed_pods(one.made)
    everywhere = region.deployment.spec.features.tree["pods"]["tolerations"] if region is not None else ()
    yield list(cordoned_problems(placed, there.nodes))
    yield list(placement_problems(placed, there.nodes, everywhere))
    labels = [node.labels for node in there.nodes]
    yield list(labels_without_a_node(region.deployment.document, labels)) if region is not None else []


def _of_kinds(one: Checked, cluster: Cluster, given: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """What the cluster does not define of the kinds that the region makes."""
    missing = []
    for obj in needed_kinds(one.made, given):
        resource = resource_of(obj)
        where = one.region.deployment.namespace if one.region is not None and resource.namespaced else None
        try:
            cluster.kube.list_metadata(resource, where, fields="metadata.name=none")
        except ObjectMissing:
            missing.append((resource.api_version, resource.kind))
        except Forbidden:
            continue
    if missing:
        text, _, remedy = missing_kinds_text(missing).partition(": ")
        yield Problem("definitions of the cluster", text, remedy)
