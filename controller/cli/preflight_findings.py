"""What `osctl preflight` asks a cluster, and what it makes of the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from controller.cli.cluster import Cluster
from controller.cli.cluster_checks import CLASSES, ROOM, LiveObjects, compared, seen_capacity
from controller.cli.offline.checks import Checked
from controller.cli.offline.input_files import InputObject
from controller.domain.validation.cluster.asked_resources import AskedResources
from controller.domain.validation.cluster.preflight import (
    Finding,
    State,
    controller_finding,
    definition_finding,
    version_finding,
)
from controller.errors import Forbidden
from controller.ports.kubernetes import DEPLOYMENT, Resource

_DEFINITION = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_LABEL = "app.kubernetes.io/name=openstack-controller"
_INSTALL = "helm upgrade --install openstack-controller CHART --namespace openstack-controller"
_NOT_READ = "this account may not read it"
_VERSION = re.compile(r">=\s*(\d+)\.(\d+)")


@dataclass(frozen=True)
class Asked:
    """A cluster, what `live` has asked it for already, and what its API server says of its version."""

    cluster: Cluster
    live: LiveObjects
    version: Callable[[], Mapping[str, Any]]


def findings(one: Checked, items: Sequence[InputObject], asked: Asked, chart: Path) -> Iterator[Finding]:
    """One for each requirement of the region `one` of the files `items`. `chart`: of the controller.

    Raises KubeError where the cluster does not answer.
    """
    metadata = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    found = _VERSION.match(metadata["kubeVersion"])
    least = (int(found[1]), int(found[2])) if found else (1, 0)
    yield from _readable("Kubernetes", lambda: version_finding(asked.version(), least))
    for path in sorted((chart / "files" / "crds").glob("*.yaml")):
        shipped = yaml.safe_load(path.read_text(encoding="utf-8"))
        what = f"definition {shipped['spec']['names']['kind']}"
        what = f"definition {shipped['spec']['names']['kind']}"
        yield from _readable(what, partial(_of_definition, asked.cluster, shipped))
    yield from _readable("controller", lambda: _of_controller(one, asked.cluster))
    yield from _of_region(one, items, asked.cluster)
    yield from _of_objects(one, asked.live)


def _readable(what: str, ask: Callable[[], Finding]) -> Iterator[Finding]:
    """The finding, or that it may not be read."""
    try:
        yield ask()
    except Forbidden:
        yield Finding(what, State.UNKNOWN, _NOT_READ)


def _of_definition(cluster: Cluster, shipped: Mapping[str, Any]) -> Finding:
    live = cluster.kube.get(_DEFINITION, shipped["metadata"]["name"])
    return definition_finding(shipped, live, f"{_INSTALL} (with crds.install=true)")


def _of_controller(one: Checked, cluster: Cluster) -> Finding:
    namespace = one.region.deployment.namespace if one.region is not None else ""
    there = cluster.kube.list(DEPLOYMENT, None, labels=_LABEL)
    return controller_finding(there, namespace, version("openstack-controller"), _INSTALL)


def _of_region(one: Checked, items: Sequence[InputObject], cluster: Cluster) -> Iterator[Finding]:
    """What pods of the region ask for, beside nodes, classes, quotas and definitions."""
    if one.asked is None:
        return
    there = seen_capacity(cluster)
    needed = dict(_needed(one.asked))
    given = [item.obj for item in items if item.name]
    for subject, problems in compared(one, cluster, there, given):
        wanted = needed.get(subject, "")
        if problems is None:
            yield Finding(subject, State.UNKNOWN, _NOT_READ, wanted)
        elif not problems:
            yield Finding(subject, State.OK, "fit" if wanted else "nothing in the way", wanted)
        for problem in problems or ():
            yield Finding(subject, State.LACKS, problem.message, wanted, problem.remedy)


def _needed(asked: AskedResources) -> Iterator[tuple[str, str]]:
    nodes = [
        f"{one.label or 'any node'}: {one.pods} pods, {one.cpu:.1f} CPU, {one.memory / 1024**3:.1f} GiB"
        for one in asked.nodes
    ]
    yield ROOM, "; ".join(nodes)
    classes = [
        f"{one.name or 'a default class'}: {one.claims} claims, {one.size / 1024**3:.1f} GiB"
        for one in asked.classes
    ]
    yield CLASSES, "; ".join(classes)


def _of_objects(one: Checked, live: LiveObjects) -> Iterator[Finding]:
    """Secrets and other objects that are to be brought: those that are there, and those that are not."""
    for (kind, name, namespace), obj in sorted(live.asked.items()):
        place, needed = f"{kind} {namespace}/{name}", "by the region"
        named = re.compile(rf"\b{kind} {re.escape(name)}(?![\w.-])")
        told = next((warning for warning in one.warnings if named.search(warning.message)), None)
        if (kind, name, namespace) in live.forbidden:
            yield Finding(place, State.UNKNOWN, _NOT_READ, needed)
        elif told is not None:
            found = "not there" if obj is None else told.message
            yield Finding(place, State.LACKS, found, needed, told.remedy)
        elif obj is None:
            yield Finding(
                place, State.LACKS, "not there", needed, f"kubectl -n {namespace} create {kind.lower()}"
            )
        else:
            yield Finding(place, State.OK, "there", needed)
