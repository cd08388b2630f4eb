"""Keeps volumes that Helm, or a StatefulSet, would delete with what a release does not have any more.

Everything is marked before Helm is called. After a kill, the next try finds the volume unchanged or already
marked. A kept volume has no owner until a release with the same name uses it again, and only people delete
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import HOOK, KEPT_LABEL
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.kept_claims import (
    CLAIM,
    KEEP,
    KEEP_ANNOTATION,
    VOLUME_KINDS,
    VolumeId,
    VolumeNames,
    claims_lost_by_scaling,
    hook_claims,
    hook_sets,
    identify,
    is_kept,
    is_of_another,
    is_of_release,
    kept_for,
    statefulsets,
    takes_claims_along,
    title_of,
    volume_names,
)
from controller.errors import Conflict, FieldsFixed, Forbidden, ReleaseMissing
from controller.ports.helm import ReleaseRecords, RenderedRelease
from controller.ports.kubernetes import PV, PVC, STATEFULSET, Kube, KubeObject
from controller.reconcile.releases.base_revisions import BaseRevisions, base_revisions
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import read_again

NOTHING = RenderedRelease((), ())
# What a log says of a volume after each action.
_DONE = {
    "keep": "kept when the release no longer contains it",
    "take-up": "no longer kept",
    "free": "kept when its StatefulSet is deleted",
}


@dataclass(frozen=True)
class DroppedVolume:
    """A volume of the release that is there, and that what it is to become does not have.

    `meta`: its metadata. `recorded`: the change drops it; else it was dropped earlier. `lost`: it goes unless
    it is kept first. `kept`: Helm leaves it. `labelled`: it is known as kept of this release. `owned`: a
    StatefulSet is to take it along.
    """

    volume: VolumeId
    meta: Mapping[str, Any]
    title: str
    recorded: bool
    lost: bool
    kept: bool
    labelled: bool
    owned: bool = False

    @property
    def marked(self) -> bool:
        """Whether nothing is left to be written to it."""
        return self.kept and not self.owned and self.labelled


@dataclass(frozen=True)
class _Survey:
    dropped: tuple[DroppedVolume, ...]
    taken_up: tuple[tuple[VolumeId, Mapping[str, Any]], ...]
    # They stay the release's, but their StatefulSet goes.
    owned: tuple[tuple[VolumeId, Mapping[str, Any]], ...]
    sets: tuple[str, ...]
    versions: tuple[int, ...]


def has_volumes(before: BaseRevisions, namespace: str) -> bool:
    """Whether the revisions that Helm may start from have any, or what makes them."""
    every = (obj for one in before.values() for obj in (*one.manifest, *one.hooks))
    names = volume_names(every, namespace)
    return bool(names.named or names.patterns)


class VolumeKeeper:
    """Looks at the two revisions that Helm may start from: the newest one, and the newest deployed one."""

    def __init__(self, kube: Kube, records: ReleaseRecords) -> None:
        self._kube = kube
        self._records = records

    def dropped(self, release: str, namespace: str, rendered: RenderedRelease) -> tuple[DroppedVolume, ...]:
        """What the release would lose by becoming what is rendered, sorted. Writes nothing.

        Raises KubeError and HelmFailed.
        """
        return self._survey(release, namespace, rendered).dropped

    def keep(
        self,
        release: str,
        namespace: str,
        rendered: RenderedRelease,
        volumes: VolumePolicy = "Retain",
        before: BaseRevisions | None = None,
    ) -> tuple[str, ...]:
        """Marks what the coming action of Helm would drop, in the cluster and in Helm's records, and gives
        it as `Kind/name`. Idempotent.

        With `Delete`, only what Helm will leave by itself is noted. Volumes that are rendered again lose
        the label of kept ones. `before` is what Helm may start from, where that was read already.

        Raises KubeError and HelmFailed: Conflict where others write all the time.
        """
        # Kubernetes writes to claims, too, as when one is bound or resized.
        return read_again(
            lambda: self._keep(
                release, namespace, self._survey(release, namespace, rendered, before), volumes
            )
        )

    def _keep(self, release: str, namespace: str, survey: _Survey, volumes: VolumePolicy) -> tuple[str, ...]:
        """Raises Conflict where what is to be marked is not as it was surveyed any more."""
        if volumes == "Retain":
            for name in survey.sets:
                # Before its claims: else the StatefulSet's controller makes itself their owner again.
                self._spare_claims(name, release, namespace)
            for volume, meta in survey.owned:
                free = {"ownerReferences": _without_sets(meta), "labels": {KEPT_LABEL: None}}
                self._patch(volume, meta, free, "free", release)
        kept = [one for one in survey.dropped if volumes == "Retain" or (one.kept and not one.lost)]
        for one in kept:
            if not one.marked:
                self._mark(one, release)
        recorded = frozenset(one.volume for one in kept if one.recorded)
        if recorded:
            for version in survey.versions:
                self._records.keep_volumes(release, namespace, version, recorded)
        done = survey.owned if volumes == "Retain" else ()
        for volume, meta in survey.taken_up:
            if (volume, meta) not in done:
                self._unlabel(volume, meta, release)
        return tuple(one.title for one in kept if one.recorded)

    def insist_on_marks(self, release: str, namespace: str, version: int) -> None:
        """Right before an uninstall, which looks at the record alone: Helm deletes none of the volumes that
        are there. Raises Conflict where it would, KubeError and HelmFailed."""
        try:
            recorded = self._records.manifest(release, namespace, version)
        except ReleaseMissing as error:
            raise Conflict(f"{error}: Helm would use the previous one") from None
        unmarked = [
            identify(obj, namespace)
            for obj in recorded.manifest
            if obj.get("kind") in VOLUME_KINDS and not is_kept(obj.get("metadata") or {})
        ]
        nothing = volume_names((), namespace)
        lost = [
            title_of(volume, namespace)
            for volume, meta in self._present(release, namespace, _named(unmarked, namespace), nothing)
            if volume in unmarked and not meta.get("deletionTimestamp")
        ]
        if lost:
            raise Conflict(
                f"revision {version} would delete {', '.join(lost)}; the controller first marks it again"
            )

    def take_up(self, release: str, namespace: str, names: Iterable[str], version: int) -> tuple[str, ...]:
        """Of these kept claims, those that the revision does not have. The others lose the label.

        They have it where a container was killed, or a change taken back, before Helm was called. Raises
        Conflict where a claim has been written to since: it may have been kept again.
        """
        there = self._kube.list_metadata(PVC, namespace, labels=KEPT_LABEL)
        metas = {str(claim["metadata"]["name"]): claim["metadata"] for claim in there}
        try:
            recorded = self._records.manifest(release, namespace, version)
        except ReleaseMissing:
            return tuple(names)
        here = volume_names((*recorded.manifest, *recorded.hooks), namespace)
        remaining = []
        for name in names:
            if (CLAIM, namespace, name) in here:
                if name in metas:
                    self._unlabel((CLAIM, namespace, name), metas[name], release)
            else:
                remaining.append(name)
        return tuple(remaining)

    def problems(self, rendered: RenderedRelease, namespace: str, event: str) -> tuple[str, ...]:
        """Claims that an `install`, `upgrade`, `rollback` or `delete` deletes although it has them: what a
        chart asks for, and no mark prevents. Each with the way out. Raises KubeError."""
        # What an uninstall runs is recorded: another chart comes too late for it.
        late, action = event == "delete", "uninstall" if event == "delete" else event
        found = []
        for hook in hook_claims(rendered.hooks, event):
            kind, where, name = identify(hook, namespace)
            if self._kube.get(PVC, name, where) is not None:
                text = f"{kind}/{name} is a hook that is deleted with its data and created again at each"
                way = "give it the hook-delete-policy hook-succeeded in the chart, or do not make it a hook"
                found.append(f"{text} {action}: " + ("" if late else f"{way}, or "))
        for hook in hook_sets(rendered.hooks, event):
            if self._has_claims(hook, namespace):
                name = hook["metadata"]["name"]
                text = f"StatefulSet/{name} is a hook that is deleted with its claims at each"
                way = "set persistentVolumeClaimRetentionPolicy.whenDeleted to Retain in the chart"
                found.append(f"{text} {action}: " + ("" if late else f"{way}, or "))
        for desired in statefulsets(rendered.manifest, namespace):
            live = self._kube.get(STATEFULSET, str(desired["metadata"]["name"]), namespace)
            text = claims_lost_by_scaling(live, desired) if live is not None else ""
            if text:
                found.append(
                    f"{text} deletes the claims of removed pods: set "
                    "persistentVolumeClaimRetentionPolicy.whenScaled to Retain, or "
                )
        return tuple(f"{text}set volumes: Delete" for text in found)

    def _has_claims(self, statefulset: Mapping[str, Any], namespace: str) -> bool:
        names = volume_names([statefulset], namespace)
        metas = [claim["metadata"] for claim in self._kube.list_metadata(PVC, namespace)]
        there = [str(meta["name"]) for meta in metas if not meta.get("deletionTimestamp")]
        return any(names.has_made((CLAIM, namespace, name)) for name in there)

    def refuse(self, rendered: RenderedRelease, namespace: str, event: str) -> None:
        """Raises FieldsFixed where there are `problems`."""
        found = self.problems(rendered, namespace, event)
        if found:
            raise FieldsFixed("; ".join(found))

    def _survey(
        self,
        release: str,
        namespace: str,
        rendered: RenderedRelease,
        recorded: BaseRevisions | None = None,
    ) -> _Survey:
        if recorded is None:
            recorded = base_revisions(self._records, release, namespace)
        versions, before = tuple(recorded), tuple(recorded.values())
        desired = volume_names((*rendered.manifest, *rendered.hooks), namespace)
        had = volume_names((obj for one in before for obj in (*one.manifest, *one.hooks)), namespace)
        manifest = volume_names((obj for one in before for obj in one.manifest), namespace)
        gone = self._gone_sets(before, rendered, namespace)
        taking = volume_names([obj for obj in gone if takes_claims_along(obj)], namespace)
        deleting = volume_names(gone, namespace)
        dropped, taken_up, owned_ones = [], [], []
        for volume, meta in self._present(release, namespace, had, desired):
            if meta.get("deletionTimestamp"):
                continue
            owned = deleting.has_made(volume) and _has_owner(meta)
            if volume in desired:
                taken_up += [(volume, meta)] if kept_for(meta) else []
                owned_ones += [(volume, meta)] if owned else []
                continue
            by_helm = volume in manifest.named and not is_kept(meta)
            dropped.append(
                DroppedVolume(
                    volume,
                    meta,
                    title_of(volume, namespace),
                    recorded=volume in had,
                    lost=by_helm or taking.has_made(volume) or owned,
                    kept=is_kept(meta),
                    labelled=kept_for(meta) == release,
                    owned=owned,
                )
            )
        sets = {str(obj["metadata"]["name"]) for obj in gone if takes_claims_along(obj)}
        owned_names = [one.volume for one in dropped if one.owned] + [volume for volume, _ in owned_ones]
        sets |= {
            str(obj["metadata"]["name"])
            for obj in gone
            if any(map(volume_names([obj], namespace).has_made, owned_names))
        }
        return _Survey(
            tuple(sorted(dropped, key=lambda one: one.volume)),
            tuple(sorted(taken_up, key=lambda one: one[0])),
            tuple(sorted(owned_ones, key=lambda one: one[0])),
            tuple(sorted(sets)),
            versions,
        )

    def _gone_sets(
        self, before: Iterable[RenderedRelease], rendered: RenderedRelease, namespace: str
    ) -> list[Mapping[str, Any]]:
        """StatefulSets that the change deletes: those that the manifest drops, and those of hooks, which Helm
        deletes before it makes them again. An uninstall deletes what any hook has made."""
        before = tuple(before)
        staying = {str(obj["metadata"]["name"]) for obj in statefulsets(rendered.manifest, namespace)}
        gone: list[Mapping[str, Any]] = [
            obj
            for one in before
            for obj in statefulsets(one.manifest, namespace)
            if str(obj["metadata"]["name"]) not in staying
        ]
        hooks = rendered.hooks if rendered != NOTHING else [obj for one in before for obj in one.hooks]
        for name in sorted({str(obj["metadata"]["name"]) for obj in statefulsets(hooks, namespace)}):
            # The record does not say by which chart the one that is there was made.
            live = self._kube.get(STATEFULSET, name, namespace)
            if live is not None and HOOK in (live["metadata"].get("annotations") or {}):
                gone.append({"kind": STATEFULSET.kind, **live})
        return gone

    def _present(
        self, release: str, namespace: str, had: VolumeNames, desired: VolumeNames
    ) -> list[tuple[VolumeId, Mapping[str, Any]]]:
        """The release's volumes that are there, and those that it takes up; not what is another's by now."""
        found: dict[VolumeId, Mapping[str, Any]] = {}
        for claim in self._kube.list_metadata(PVC, namespace):
            meta = claim["metadata"]
            volume = (CLAIM, namespace, str(meta["name"]))
            if volume in had or volume in desired or is_of_release(meta, release, namespace):
                found[volume] = meta
        for volume in sorted(had.named | desired.named):
            if volume[:2] != (CLAIM, namespace):
                live = self._elsewhere(volume)
                if live is not None:
                    found[volume] = live["metadata"]
        ours = {one: meta for one, meta in found.items() if not is_of_another(meta, release, namespace)}
        return sorted(ours.items())

    def _elsewhere(self, volume: VolumeId) -> KubeObject | None:
        kind, where, name = volume
        try:
            return self._kube.get(PVC if kind == CLAIM else PV, name, where or None)
        except Forbidden:
            return None  # Helm acts with the same rights: what it cannot read it cannot delete

    def _mark(self, one: DroppedVolume, release: str) -> None:
        meta: dict[str, Any] = {
            "annotations": {KEEP_ANNOTATION: KEEP},
            "labels": {KEPT_LABEL: release},
        }
        if one.owned:
            meta["ownerReferences"] = _without_sets(one.meta)
        self._patch(one.volume, one.meta, meta, "keep", release)

    def _unlabel(self, volume: VolumeId, seen: Mapping[str, Any], release: str) -> None:
        self._patch(volume, seen, {"labels": {KEPT_LABEL: None}}, "take-up", release)

    def _spare_claims(self, name: str, release: str, namespace: str) -> None:
        """Has a StatefulSet leave its claims when it is deleted; one of another release is left alone."""
        live = self._kube.get(STATEFULSET, name, namespace)
        if live is None or is_of_another(live["metadata"], release, namespace):
            return
        patch = {
            "metadata": {"resourceVersion": live["metadata"]["resourceVersion"]},
            "spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}},
        }
        if self._kube.merge_patch(STATEFULSET, name, namespace, patch) is not None:
            text = f"{STATEFULSET.kind} {name}: the claims stay when the StatefulSet is deleted"
            log_action("keep", f"{namespace}/{name}", text, release=release)

    def _patch(
        self, volume: VolumeId, seen: Mapping[str, Any], meta: Mapping[str, Any], action: str, release: str
    ) -> None:
        """Changes the metadata of a volume as it was `seen`. Raises Conflict where it is not so any more."""
        kind, where, name = volume
        patch = {"metadata": {**meta, "resourceVersion": seen["resourceVersion"]}}
        if self._kube.merge_patch(PVC if kind == CLAIM else PV, name, where or None, patch) is not None:
            done = _DONE[action]
            place = f"{where}/{name}" if where else name
            log_action(action, place, f"{kind} {name}: {done}", release=release)


def _named(volumes: Iterable[VolumeId], namespace: str) -> VolumeNames:
    return VolumeNames(frozenset(volumes), (), namespace)


def _has_owner(meta: Mapping[str, Any]) -> bool:
    return any(map(_is_a_set, meta.get("ownerReferences") or []))


def _without_sets(meta: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The owners that remain, None for none."""
    return [owner for owner in meta.get("ownerReferences") or [] if not _is_a_set(owner)] or None


def _is_a_set(owner: Mapping[str, Any]) -> bool:
    return bool(owner.get("kind") == STATEFULSET.kind)
