"""Which volumes are a release's, and which of them it would lose to what it is to become. Pure.

`spec.volumes` says whether they are kept: `reconcile/releases/kept_claims/keep_marks.py` marks them before an
action, and `reconcile/releases/actions/uninstall.py` asks before it deletes them.

Helm compares manifests: of what the former one has and the next one has not, an upgrade or a rollback
deletes all whose live object does not say `helm.sh/resource-policy: keep`, and an uninstall all that its
record does not say it of (helm.sh/helm/v4: pkg/kube client.update, pkg/action filterManifestsToKeep).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import KEPT_LABEL, RELEASE_NAME, RELEASE_NAMESPACE

CLAIM = "PersistentVolumeClaim"
VOLUME_KINDS = (CLAIM, "PersistentVolume")
KEEP_ANNOTATION = "helm.sh/resource-policy"
KEEP = "keep"
# Policies by which Helm deletes what a hook has made in the same action.
_AFTERWARDS = frozenset(("hook-succeeded", "hook-failed"))

KubeObject = Mapping[str, Any]
# Kind, namespace (empty for what lies in none) and name.
VolumeId = tuple[str, str, str]


@dataclass(frozen=True)
class VolumeNames:
    """Volumes that a manifest names, and those that its StatefulSets make, by their patterns."""

    named: frozenset[VolumeId]
    patterns: tuple[re.Pattern[str], ...]
    namespace: str

    def __contains__(self, one: VolumeId) -> bool:
        return one in self.named or self.has_made(one)

    def has_made(self, one: VolumeId) -> bool:
        """Whether a StatefulSet of the manifest makes claims of that name."""
        here = one[:2] == (CLAIM, self.namespace)
        return here and any(pattern.fullmatch(one[2]) for pattern in self.patterns)


def volume_names(objects: Iterable[KubeObject], namespace: str) -> VolumeNames:
    """The volumes of a manifest of a release in that namespace."""
    objects = list(objects)
    named = frozenset(identify(obj, namespace) for obj in objects if obj.get("kind") in VOLUME_KINDS)
    sets = statefulsets(objects, namespace)
    return VolumeNames(named, tuple(one for obj in sets for one in claim_patterns(obj)), namespace)


def identify(obj: KubeObject, namespace: str) -> VolumeId:
    """Which volume the document describes."""
    meta, kind = obj["metadata"], str(obj["kind"])
    where = str(meta.get("namespace") or namespace) if kind == CLAIM else ""
    return kind, where, str(meta["name"])


def statefulsets(objects: Iterable[KubeObject], namespace: str) -> list[KubeObject]:
    """The StatefulSets among the objects that lie in the release's own namespace."""
    return [obj for obj in objects if obj.get("kind") == "StatefulSet" and belongs(obj, namespace)]


def belongs(obj: KubeObject, namespace: str) -> bool:
    """Whether the object lies in the release's own namespace."""
    return str((obj.get("metadata") or {}).get("namespace") or namespace) == namespace


def claim_patterns(statefulset: KubeObject) -> list[re.Pattern[str]]:
    """Names of its claims: `<template>-<set>-<ordinal>` (Kubernetes: StatefulSet, Stable Storage)."""
    name = re.escape(str(statefulset["metadata"]["name"]))
    templates = (statefulset.get("spec") or {}).get("volumeClaimTemplates") or []
    return [re.compile(rf"{re.escape(str(one['metadata']['name']))}-{name}-[0-9]+") for one in templates]


def takes_claims_along(statefulset: KubeObject) -> bool:
    """Whether its claims go when it is deleted (persistentVolumeClaimRetentionPolicy.whenDeleted)."""
    return _retention(statefulset).get("whenDeleted") == "Delete"


def claims_lost_by_scaling(live: KubeObject, desired: KubeObject) -> str:
    """What a StatefulSet would delete of its claims with its last pods, empty when nothing."""
    if _retention(desired).get("whenScaled") != "Delete" or not claim_patterns(desired):
        return ""
    before, after = _replicas(live), _replicas(desired)
    if after >= before:
        return ""
    return f"StatefulSet/{desired['metadata']['name']} from {before} to {after} replicas"


def _retention(statefulset: KubeObject) -> Mapping[str, Any]:
    return (statefulset.get("spec") or {}).get("persistentVolumeClaimRetentionPolicy") or {}


def _replicas(statefulset: KubeObject) -> int:
    replicas = (statefulset.get("spec") or {}).get("replicas")
    return replicas if isinstance(replicas, int) else 1


def is_kept(meta: Mapping[str, Any]) -> bool:
    """Whether Helm leaves an object with this metadata."""
    return (meta.get("annotations") or {}).get(KEEP_ANNOTATION) == KEEP


def kept_for(meta: Mapping[str, Any]) -> str:
    """The release that the volume was kept of, empty for one that was not."""
    return str((meta.get("labels") or {}).get(KEPT_LABEL) or "")


def is_of_release(meta: Mapping[str, Any], release: str, namespace: str) -> bool:
    """Whether a volume was made, or kept, for the release: by Helm's marks, or by ours."""
    notes = meta.get("annotations") or {}
    made = notes.get(RELEASE_NAME) == release and notes.get(RELEASE_NAMESPACE) == namespace
    return made or kept_for(meta) == release


def is_of_another(meta: Mapping[str, Any], release: str, namespace: str) -> bool:
    """Whether Helm has given the volume to another release since."""
    notes = meta.get("annotations") or {}
    home = notes.get(RELEASE_NAMESPACE)
    return bool(notes.get(RELEASE_NAME)) and (notes[RELEASE_NAME], home) != (release, namespace)


def title_of(one: VolumeId, namespace: str) -> str:
    """`Kind/name`, with its namespace where that is not the release's."""
    kind, where, name = one
    return f"{kind}/{name}" if where in ("", namespace) else f"{kind}/{name} in {where}"


def hook_claims(hooks: Iterable[KubeObject], event: str) -> Iterator[KubeObject]:
    """Claims that hooks of an `install`, `upgrade`, `rollback` or `delete` delete and make again with their
    data gone.

    One that goes with the success of its hook (`hook-succeeded`) holds nothing between two actions.
    """
    for hook in hooks:
        if hook.get("kind") != CLAIM:
            continue
        policy = _delete_policy(hook)
        if _runs_in(hook, event) and "before-hook-creation" in policy and "hook-succeeded" not in policy:
            yield hook


def hook_sets(hooks: Iterable[KubeObject], event: str) -> Iterator[KubeObject]:
    """StatefulSets that hooks of the event both make and delete, and whose claims go with them.

    No mark helps: the new StatefulSet makes itself the owner of the claims that are there.
    """
    for hook in hooks:
        if hook.get("kind") != "StatefulSet" or not takes_claims_along(hook):
            continue
        moments = _runs_in(hook, event)
        # What a hook of the deletion makes goes with the release.
        if moments and (event == "delete" or len(moments) > 1 or _delete_policy(hook) & _AFTERWARDS):
            yield hook


def _runs_in(hook: KubeObject, event: str) -> set[str]:
    """When the hook runs in the event: before it, after it, or both."""
    return _words(_notes(hook).get("helm.sh/hook")) & {f"pre-{event}", f"post-{event}"}


def _delete_policy(hook: KubeObject) -> set[str]:
    # Helm's default where the chart says nothing.
    return _words(_notes(hook).get("helm.sh/hook-delete-policy")) or {"before-hook-creation"}


def _notes(obj: KubeObject) -> Mapping[str, Any]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _words(text: Any) -> set[str]:
    # Helm reads them in any case.
    return {word.strip().lower() for word in str(text or "").split(",") if word.strip()}
