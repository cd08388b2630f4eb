"""The workloads that write to the databases: which they are, and how they are stopped and started. Pure.

A stopped workload notes in an annotation what it had before. Both are in one write, so a controller that is
killed has stopped it and knows how to start it, or neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import RESTORE_BEFORE_ANNOTATION, RESTORE_LABEL
from controller.domain.health.workloads import parse_workload

# The database itself, and what serves no OpenStack API and keeps no record in it.
STAYING = frozenset(
    {
        *("mariadb", "rabbitmq", "memcached", "openvswitch", "libvirt", "ovn", "gateway", "ingress"),
        *("external-service", "octavia-network", "ceph-rgw"),
    }
)
_SCALED = ("Deployment", "StatefulSet")


@dataclass(frozen=True)
class Writer:
    """One workload that writes. `before` is what it noted when it was stopped; None while it was not.
    `pods`: how many of it are left."""

    kind: str
    name: str
    release: str
    pods: int
    before: str | None
    uid: str
    version: str

    @property
    def stopped(self) -> bool:
        return self.before is not None


def writers_in(objects: Iterable[Mapping[str, Any]], charts: Mapping[str, str]) -> list[Writer]:
    """The workloads of these releases that write. `charts` has the chart of each release.

    DaemonSets are none: agents and compute hosts write by way of their servers. Servers of projects run on.
    """
    found = []
    for obj in objects:
        meta = obj["metadata"]
        if meta.get("deletionTimestamp") or RESTORE_LABEL in (meta.get("labels") or {}):
            continue
        release = _release(obj)
        if release not in charts or charts[release] in STAYING:
            continue
        before = (meta.get("annotations") or {}).get(RESTORE_BEFORE_ANNOTATION)
        writer = Writer(
            str(obj["kind"]),
            str(meta["name"]),
            release,
            _pods(obj),
            before,
            str(meta["uid"]),
            str(meta["resourceVersion"]),
        )
        if writer.stopped or writer.pods or _may_write(obj):
            found.append(writer)
    return found


def waves(writers: Iterable[Writer], needs: Mapping[str, Iterable[str]]) -> list[list[Writer]]:
    """Writers in the order in which they stop: what needs others goes before what it needs. `needs`: the
    releases that each release depends on."""
    depth: dict[str, int] = {}

    def depth_of(release: str, above: frozenset[str] = frozenset()) -> int:
        if release not in depth:
            below = [one for one in needs.get(release, ()) if one not in above | {release}]
            depth[release] = 1 + max((depth_of(one, above | {release}) for one in below), default=0)
        return depth[release]

    found: dict[int, list[Writer]] = {}
    for writer in sorted(writers, key=lambda one: (one.kind, one.name)):
        found.setdefault(depth_of(writer.release), []).append(writer)
    return [found[level] for level in sorted(found, reverse=True)]


def stop_patch(writer: Writer, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Stops it, and notes what it had. On condition that nothing was written to it since it was read."""
    spec = obj.get("spec") or {}
    if writer.kind in _SCALED:
        replicas = spec.get("replicas")
        return _patch(writer, str(1 if replicas is None else replicas), {"replicas": 0})
    return _patch(writer, "suspended" if spec.get("suspend") else "active", {"suspend": True})


def start_patch(writer: Writer) -> dict[str, Any]:
    """Gives it back what it had."""
    before = writer.before or ""
    if writer.kind in _SCALED:
        # A note that cannot be read was written by a person: one pod is better than none.
        return _patch(writer, None, {"replicas": int(before) if before.isdecimal() else 1})
    return _patch(writer, None, {"suspend": before == "suspended"})


def _patch(writer: Writer, note: str | None, spec: Mapping[str, Any]) -> dict[str, Any]:
    meta = {"annotations": {RESTORE_BEFORE_ANNOTATION: note}, "resourceVersion": writer.version}
    return {"metadata": {**meta, "uid": writer.uid}, "spec": dict(spec)}


def _release(obj: Mapping[str, Any]) -> str:
    if obj["kind"] == "CronJob":
        inner = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
        obj = {**obj, "kind": "Deployment", "spec": inner}
    found = parse_workload(obj)
    return found.release if found is not None else ""


def _pods(obj: Mapping[str, Any]) -> int:
    """The pods that there are, or that its controller is about to make."""
    status, spec = obj.get("status") or {}, obj.get("spec") or {}
    if obj["kind"] in _SCALED:
        seen = status.get("observedGeneration") == obj["metadata"].get("generation")
        left = int(status.get("replicas") or 0)
        return left if seen or left else 1
    if obj["kind"] == "Job":
        return int(status.get("active") or 0)
    return 0 if spec.get("suspend") else len(status.get("active") or ())


def _may_write(obj: Mapping[str, Any]) -> bool:
    """Whether it would have pods later by itself."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if obj["kind"] in _SCALED:
        return spec.get("replicas") != 0
    if obj["kind"] == "CronJob":
        return not spec.get("suspend")
    ended = any(
        one.get("type") in ("Complete", "Failed") and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )
    return not ended and not spec.get("suspend")
