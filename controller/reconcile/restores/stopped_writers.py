"""Stops what writes to the databases of a region, and starts it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.domain.restores.writers import STAYING, Writer, start_patch, stop_patch, waves, writers_in
from controller.ports.kubernetes import CRONJOB, DEPLOYMENT, JOB, STATEFULSET, Kube, KubeObject, KubeObjects
from controller.reconcile.shared.action_log import log_action

_KINDS = {one.kind: one for one in (CRONJOB, JOB, DEPLOYMENT, STATEFULSET)}
_SHOWN = 5


class StoppedWriters:
    """The workloads of the releases in these bundles, in one namespace."""

    def __init__(self, kube: Kube, namespace: str, bundles: KubeObjects) -> None:
        self._kube = kube
        self._namespace = namespace
        releases = [one for bundle in bundles for one in (bundle.get("spec") or {}).get("releases") or ()]
        self._charts = {str(one["name"]): str((one.get("chart") or {}).get("name")) for one in releases}
        self._needs = {str(one["name"]): list(one.get("dependsOn") or ()) for one in releases}

    def stop(self) -> str:
        """Stops the next ones; which of them still have pods, empty once none has. Raises KubeError."""
        objects = self._objects()
        for wave in waves(writers_in(objects.values(), self._charts), self._needs):
            for writer in wave:
                if not writer.stopped:
                    self._patch(writer, stop_patch(writer, objects[writer.kind, writer.name]), "stopped")
            if left := [one for one in wave if one.pods or not one.stopped]:
                return f"{_listed(left)} to stop"
        return ""

    def start(self) -> None:
        """Gives each what it had before. Raises KubeError."""
        order = waves(writers_in(self._objects().values(), self._charts), self._needs)
        for writer in (one for wave in reversed(order) for one in wave if one.stopped):
            self._patch(writer, start_patch(writer), "started")

    def _objects(self) -> dict[tuple[str, str], KubeObject]:
        return {
            (kind, str(obj["metadata"]["name"])): {**obj, "kind": kind}
            for kind, resource in _KINDS.items()
            for obj in self._kube.list(resource, self._namespace)
        }

    def _patch(self, writer: Writer, patch: Mapping[str, Any], what: str) -> None:
        self._kube.merge_patch(_KINDS[writer.kind], writer.name, self._namespace, patch)
        place = f"{self._namespace}/{writer.name}"
        log_action("restore", place, f"{writer.kind} {writer.name}: {what}", release=writer.release)


def applied_charts(bundle: KubeObject) -> bool:
    """Whether a bundle has a release whose accounts are in the databases."""
    releases = (bundle.get("spec") or {}).get("releases") or ()
    return any((one.get("chart") or {}).get("name") not in STAYING for one in releases)


def _listed(writers: Sequence[Writer]) -> str:
    names = [f"{one.kind} {one.name}" for one in writers[:_SHOWN]]
    more = f" and {len(writers) - _SHOWN} more" if len(writers) > _SHOWN else ""
    return f"{', '.join(names)}{more}"
