"""Pods of the region, for decisions about nodes: where they are and whether they serve. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.health.quorum import Member, QuorumGroup
from controller.domain.health.workload_health import QUORUM_RELEASES
from controller.domain.health.workloads import Workload
from controller.domain.shared.times import seconds_of

# Of a nova-compute, with the names and mounts in the charts of OpenStack-Helm and our own.
_COMPUTE = "nova-compute"
_FILE = "nova.conf"
_PLACES = (("/etc/nova/nova.conf", _FILE), ("/etc/nova", ""))


@dataclass(frozen=True, slots=True)
class RunningCompute:
    """A running nova-compute.

    `kind` (Secret or ConfigMap) and `source`: the source of its nova.conf. `run` distinguishes it from
    earlier and later ones; `made`: the creation of its pod, in seconds since the epoch.
    """

    kind: str
    source: str
    run: str
    made: float


@dataclass(frozen=True, slots=True)
class NodePod:
    """One pod that has a node.

    `deleting`: the time when it should have ended, 0.0 for none. `freed`: it was deleted without a grace
    period, so nothing more can be requested. `compute`: the nova-compute that runs in it.
    """

    name: str
    uid: str
    node: str
    owner: tuple[str, str]
    ready: bool
    deleting: float = 0.0
    freed: bool = False
    compute: RunningCompute | None = None


def parse_node_pod(obj: Mapping[str, Any]) -> NodePod | None:
    """The facts of a pod; None for one without a node, or that has ended."""
    meta, status = obj["metadata"], obj.get("status") or {}
    node = str((obj.get("spec") or {}).get("nodeName") or "")
    if not node or status.get("phase") in ("Succeeded", "Failed"):
        return None
    owners = meta.get("ownerReferences") or ()
    owner: Mapping[str, Any] = next((one for one in owners if one.get("controller")), {})
    return NodePod(
        name=str(meta["name"]),
        uid=str(meta["uid"]),
        node=node,
        owner=(str(owner.get("kind") or ""), str(owner.get("name") or "")),
        ready=find(status.get("conditions") or (), "Ready").get("status") == "True",
        deleting=seconds_of(meta.get("deletionTimestamp")),
        freed=meta.get("deletionGracePeriodSeconds") == 0,
        compute=_running_compute(obj) if not meta.get("deletionTimestamp") else None,
    )


def _running_compute(pod: Mapping[str, Any]) -> RunningCompute | None:
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    container = next((one for one in spec.get("containers") or () if one.get("name") == _COMPUTE), None)
    if container is None:
        return None
    kind, source = _configuration(spec, container)
    running: Mapping[str, Any] = next(
        (one for one in status.get("containerStatuses") or () if one.get("name") == _COMPUTE), {}
    )
    if "running" not in (running.get("state") or {}):
        return None
    return RunningCompute(
        kind=kind,
        source=source,
        run=f"{meta['uid']} {int(running.get('restartCount') or 0)}",
        made=seconds_of(meta.get("creationTimestamp")),
    )


def _configuration(spec: Mapping[str, Any], container: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and name of the object mounted as its nova.conf; empty if we cannot read it."""
    volumes = {one.get("name"): one for one in spec.get("volumes") or ()}
    for path, part in _PLACES:
        for mount in container.get("volumeMounts") or ():
            if (mount.get("mountPath"), mount.get("subPath") or "") != (path, part):
                continue
            volume = volumes.get(mount.get("name")) or {}
            if volume.get("secret"):
                return "Secret", str(volume["secret"].get("secretName") or "")
            if volume.get("configMap"):
                return "ConfigMap", str(volume["configMap"].get("name") or "")
    return "", ""


def daemons_by_node(pods: Iterable[NodePod]) -> dict[str, list[NodePod]]:
    """The pods of DaemonSets on each node: what a compute host consists of."""
    found: dict[str, list[NodePod]] = {}
    for pod in pods:
        if pod.owner[0] == "DaemonSet":
            found.setdefault(pod.node, []).append(pod)
    return found


def unready_daemons(daemons: Mapping[str, Sequence[NodePod]], node: str) -> tuple[str, ...]:
    """The names of a node's DaemonSet pods that are not ready.

    A node without any waits for them, if other compute nodes have some.
    """
    here = daemons.get(node, ())
    if daemons and not here:
        return ("no pod of them exists yet",)
    return tuple(sorted(pod.name for pod in here if not pod.ready or pod.deleting))


def stuck_pods(pods: Iterable[NodePod], node: str, now: float) -> tuple[NodePod, ...]:
    """Pods on a node that should have ended by now."""
    here = (pod for pod in pods if pod.node == node and not pod.freed)
    return tuple(pod for pod in here if 0 < pod.deleting < now)


def quorum_groups(workloads: Iterable[Workload], pods: Iterable[NodePod]) -> tuple[QuorumGroup, ...]:
    """The clusters with a majority, with their members and nodes. A single member has no majority to lose."""
    known = list(pods)
    groups = []
    for workload in workloads:
        decides = workload.kind == "StatefulSet" and workload.component in QUORUM_RELEASES.get(
            workload.release, frozenset()
        )
        if not decides or workload.rollout.desired < 2:
            continue
        members = tuple(
            Member(pod.name, pod.node, pod.ready and not pod.deleting)
            for pod in known
            if pod.owner == ("StatefulSet", workload.name)
        )
        groups.append(QuorumGroup(workload.name, workload.rollout.desired, members))
    return tuple(sorted(groups, key=lambda group: group.name))
