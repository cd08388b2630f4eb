"""Helm's records of releases, read and repaired without Helm."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from controller.adapters.helm.manifests import annotations_of, parse_manifests, split_documents
from controller.adapters.helm.records.record_secrets import RecordSecrets, record_name
from controller.adapters.helm.records.recorded_claims import keep_volumes
from controller.adapters.helm.records.recorded_hooks import (
    deletable_objects,
    ended_the_uninstall_badly,
    has_begun,
    is_of_both,
    is_of_the_uninstall,
    stays,
)
from controller.adapters.helm.records.recorded_objects import leave_out
from controller.adapters.helm.records.recorded_revisions import modified, revision
from controller.domain.api.names import (
    HOOK,
    REMOVAL_LABEL,
)
from controller.domain.api.object_owner import Ownership, is_handed_over, owner_of
from controller.domain.releases.drift.difference import ObjectId
from controller.domain.releases.kept_claims import (
    CLAIM,
    VolumeId,
    is_of_another,
    statefulsets,
    volume_names,
)
from controller.domain.shared.times import seconds_of
from controller.domain.values.chart_values import Values, coalesced
from controller.errors import Conflict, HelmFailed, ReleaseMissing
from controller.ports.helm import RemovalState, RenderedRelease, Revision
from controller.ports.kubernetes import PVC, SECRET, STATEFULSET, Kube, KubeObject, resource_of
from controller.reconcile.releases.drift.compare import identify, is_named
from controller.reconcile.shared.action_log import log_action

DELETION_SECONDS = 30.0


class SecretRecords:
    """`controller.ports.helm.ReleaseRecords` on the Secrets in which Helm keeps releases."""

    def __init__(self, kube: Kube, sleep: Callable[[float], None] = time.sleep) -> None:
        """`sleep` waits between two checks of objects that are being deleted."""
        self._kube = kube
        self._store = RecordSecrets(kube)
        self._sleep = sleep

    def observe(
        self, namespace: str, *, bundle: str = "", releases: Collection[str] = ()
    ) -> Mapping[str, tuple[Revision, ...]]:
        histories: dict[str, list[Revision]] = {}
        for record in self._store.records_of(namespace, bundle, releases):
            labels = record.get("metadata", {}).get("labels") or {}
            name, version = labels.get("name", ""), labels.get("version", "")
            if name and version.isdigit():
                found = revision(int(version), labels.get("status", ""), labels, modified(labels))
                created = seconds_of(record["metadata"].get("creationTimestamp"))
                given = is_handed_over(record["metadata"], name, namespace)
                uid = str(record["metadata"].get("uid") or "")
                one = replace(found, created=created, uid=uid, handed_over=given)
                histories.setdefault(name, []).append(one)
        return {name: tuple(sorted(found, key=lambda one: one.version)) for name, found in histories.items()}

    def mark_failed(self, release: str, namespace: str, version: int, reason: str) -> bool:
        def fail(record: dict[str, Any]) -> bool:
            info = record.setdefault("info", {})
            if not _cut_off(str(info.get("status", ""))):
                return False
            info["status"] = "failed"
            info["description"] = reason
            for hook in record.get("hooks") or []:
                run = hook.get("last_run") or {}
                if run.get("phase") == "Running":
                    run["phase"] = "Unknown"
            return True

        try:
            return self._store.rewrite(release, namespace, version, fail)
        except (Conflict, ReleaseMissing):
            return False

    def mark_uninstalling(self, release: str, namespace: str, version: int) -> None:
        def begin(record: dict[str, Any]) -> bool:
            info = record.setdefault("info", {})
            undone = any(ended_the_uninstall_badly(hook) for hook in record.get("hooks") or [])
            if info.get("status") == "uninstalling" or (info.get("status") == "uninstalled" and not undone):
                return False
            info["status"] = "uninstalling"
            info["description"] = "being uninstalled by openstack-controller"
            return True

        self._store.rewrite(release, namespace, version, begin, {REMOVAL_LABEL: str(version)})

    def relabel(self, release: str, namespace: str, version: int, labels: Mapping[str, str]) -> None:
        name = record_name(release, version)
        patch = {"metadata": {"labels": dict(labels)}}
        if self._kube.merge_patch(SECRET, name, namespace, patch) is None:
            raise ReleaseMissing(f"release {release} has no revision {version} in namespace {namespace}")

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        _, record = self._store.read(release, namespace, version)
        hooks = [
            obj for hook in record.get("hooks") or [] for obj in parse_manifests(hook.get("manifest", ""))
        ]
        return RenderedRelease(parse_manifests(str(record.get("manifest", ""))), tuple(hooks))

    def given_values(self, release: str, namespace: str, version: int) -> Values:
        _, record = self._store.read(release, namespace, version)
        return record.get("config") or {}

    def effective_values(self, release: str, namespace: str, version: int) -> Values:
        _, record = self._store.read(release, namespace, version)
        defaults, given = (record.get("chart") or {}).get("values") or {}, record.get("config") or {}
        return coalesced(defaults, given)

    def chart(self, release: str, namespace: str, version: int) -> tuple[str, str]:
        """Name and version of the chart that this revision was made of. Raises ReleaseMissing."""
        made_of = (self._store.read(release, namespace, version)[1].get("chart") or {}).get("metadata") or {}
        return str(made_of.get("name") or ""), str(made_of.get("version") or "")

    def required_objects(
        self, release: str, namespace: str, version: int, *, names: Collection[str] | None = None
    ) -> tuple[KubeObject, ...]:
        _, record = self._store.read(release, namespace, version)
        texts = list(split_documents(str(record.get("manifest", ""))))
        hooks = [hook for hook in record.get("hooks") or [] if stays(hook)]
        # Helm's own order: by weight, then by name.
        hooks.sort(key=lambda hook: (int(hook.get("weight") or 0), str(hook.get("name"))))
        texts += [str(hook.get("manifest", "")) for hook in hooks]
        if names is not None:
            # Parsing is what costs; a document without the name cannot be that of the object.
            texts = [text for text in texts if any(name in text for name in names)]
        objects = [obj for text in texts for obj in parse_manifests(text)]
        return tuple(obj for obj in objects if names is None or str(obj["metadata"]["name"]) in names)

    def leave_out(self, release: str, namespace: str, version: int, objects: Collection[ObjectId]) -> None:
        self._store.insist(release, namespace, version, lambda record: leave_out(record, namespace, objects))

    def hook_objects(self, release: str, namespace: str) -> Collection[ObjectId]:
        found: set[ObjectId] = set()
        for version in self._store.versions(release, namespace):
            try:
                _, record = self._store.read(release, namespace, version)
            except HelmFailed:
                continue  # removed from the history since then, or unreadable
            for hook in record.get("hooks") or []:
                if has_begun(hook):
                    objects = parse_manifests(str(hook.get("manifest", "")))
                    found.update(identify(obj, namespace) for obj in objects if is_named(obj))
        return found

    def recorded_hooks(self, release: str, namespace: str) -> list[dict[str, Any]]:
        """Hooks of the newest revision as Helm has recorded them. Raises ReleaseMissing and HelmFailed."""
        version = self._store.newest(release, namespace)
        if version is None:
            raise ReleaseMissing(f"there is no release {release} in namespace {namespace}")
        return self._store.read(release, namespace, version)[1].get("hooks") or []

    def unreadable(self, release: str, namespace: str) -> tuple[str, ...]:
        """Names of the release's unreadable records: Helm reads all records at each action."""
        found = []
        for version in self._store.versions(release, namespace):
            try:
                self._store.read(release, namespace, version)
            except ReleaseMissing:
                continue
            except HelmFailed:
                found.append(record_name(release, version))
        return tuple(found)

    def keep_volumes(self, release: str, namespace: str, version: int, volumes: Collection[VolumeId]) -> None:
        self._store.insist(
            release, namespace, version, lambda record: keep_volumes(record, namespace, volumes)
        )

    def claims(self, release: str, namespace: str) -> tuple[str, ...]:
        return tuple(self._claims(release, namespace))

    def _claims(self, release: str, namespace: str) -> dict[str, str]:
        """Their uids by their names, sorted."""
        version = self._store.newest(release, namespace)
        if version is None:
            return {}
        recorded = self.manifest(release, namespace, version)
        names = volume_names((*recorded.manifest, *recorded.hooks), namespace)
        if not names.named and not names.patterns:
            return {}
        present = [one["metadata"] for one in self._kube.list_metadata(PVC, namespace)]
        ours = {
            str(meta["name"]): str(meta["uid"])
            for meta in present
            if not is_of_another(meta, release, namespace)
        }
        return {name: uid for name, uid in sorted(ours.items()) if (CLAIM, namespace, name) in names}

    def removal(self, release: str, namespace: str) -> RemovalState:
        version = self._store.newest(release, namespace)
        if version is None:
            raise ReleaseMissing(f"there is no release {release} in namespace {namespace}")
        _, record = self._store.read(release, namespace, version)
        hooks = [hook for hook in record.get("hooks") or [] if is_of_the_uninstall(hook)]
        return RemovalState(
            str((record.get("info") or {}).get("status", "")),
            runs_hooks=bool(hooks),
        )

    def delete_hooks(
        self, release: str, namespace: str, *, of_the_uninstall: bool = False
    ) -> tuple[str, ...]:
        version = self._store.newest(release, namespace)
        if version is None:
            return ()
        _, record = self._store.read(release, namespace, version)
        deleted: list[str] = []
        for hook in record.get("hooks") or []:
            if of_the_uninstall != is_of_the_uninstall(hook) and not is_of_both(hook):
                continue
            for obj in deletable_objects(hook):
                resource, name = resource_of(obj), str(obj["metadata"]["name"])
                where = str(obj["metadata"].get("namespace") or namespace) if resource.namespaced else None
                live = self._kube.get(resource, name, where)
                if live is None or not self._is_made_by_hook(live, obj, release, namespace):
                    continue
                if self._kube.delete(resource, name, where, uid=str(live["metadata"]["uid"])):
                    deleted.append(f"{obj['kind']}/{name}")
                    place = f"{where}/{name}" if where else name
                    log_action(
                        "delete", place, f"{deleted[-1]}: deleted, a hook had created it", release=release
                    )
        return tuple(deleted)

    def _is_made_by_hook(self, live: KubeObject, recorded: KubeObject, release: str, namespace: str) -> bool:
        """Whether the release's hook created the existing object with the name of the hook's object."""
        claim = owner_of(live["metadata"], recorded["metadata"], release, namespace).ownership
        if claim != Ownership.NOBODYS:
            return claim != Ownership.OTHERS
        # Helm does not mark objects of hooks, so two facts are needed: a record that says that the hook has
        # run, and the hook annotation, which a foreign object lacks.
        is_hook = HOOK in annotations_of(live)
        return is_hook and identify(recorded, namespace) in self.hook_objects(release, namespace)

    def delete_claims(self, release: str, namespace: str) -> tuple[str, ...]:
        version = self._store.newest(release, namespace)
        if version is None:
            return ()
        # A StatefulSet would create again the claims that are deleted before it.
        for obj in statefulsets(self.manifest(release, namespace, version).manifest, namespace):
            name = str(obj["metadata"]["name"])
            live = self._kube.get(STATEFULSET, name, namespace)
            if live is not None and not _is_of_others(live, obj, release, namespace):
                self._delete_statefulset(name, namespace, release, uid=str(live["metadata"]["uid"]))
        deleted = self._claims(release, namespace)
        for name, uid in deleted.items():
            if self._kube.delete(PVC, name, namespace, uid=uid):
                text = f"{PVC.kind} {name}: deletion requested, volumes are not kept"
                log_action("delete", f"{namespace}/{name}", text, release=release)
        return tuple(deleted)

    def _delete_statefulset(self, name: str, namespace: str, release: str, *, uid: str) -> None:
        until = time.monotonic() + DELETION_SECONDS
        text = f"{STATEFULSET.kind} {name}: deletion requested, with its claims"
        log_action("delete", f"{namespace}/{name}", text, release=release)
        while self._kube.delete(STATEFULSET, name, namespace, uid=uid):
            if time.monotonic() > until:
                raise HelmFailed(
                    f"StatefulSet {name} is still there {DELETION_SECONDS:g} s after its deletion"
                )
            self._sleep(0.2)


def _is_of_others(live: KubeObject, recorded: Mapping[str, Any], release: str, namespace: str) -> bool:
    return owner_of(live["metadata"], recorded["metadata"], release, namespace).ownership == Ownership.OTHERS


def _cut_off(status: str) -> bool:
    return status.startswith("pending-") or status == "uninstalling"
