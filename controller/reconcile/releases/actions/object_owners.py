"""Leaves alone what belongs to others: nothing of theirs is changed by a release, nor deleted with it.

Asked of the API server before anything of an action is written. An object of theirs in the place of one that
is rendered refuses the action (the gate `ObjectOwner`); one in the place of what a revision had is struck
from its record, so that Helm does not delete it. Killed in between, all of it is asked again by the next try.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER, HOOK, MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE
from controller.domain.api.object_owner import (
    Owner,
    Ownership,
    is_handed_over,
    is_marked,
    owner_of,
    take_over_patch,
    ways_to_hand_over,
)
from controller.domain.releases.drift.difference import Keys, ObjectId, changed_keys
from controller.domain.releases.hooks import outlives_its_release, runs_in
from controller.errors import Forbidden, ObjectMissing, ObjectRefused, ObjectsTaken
from controller.ports.helm import ReleaseRecords, RenderedRelease
from controller.ports.kubernetes import Kube, KubeObject, Resource, resource_of
from controller.reconcile.releases.base_revisions import BaseRevisions, deployed_manifest
from controller.reconcile.releases.drift.compare import as_sent, identify, is_named
from controller.reconcile.shared.action_log import log_action

Metadata = Mapping[str, Any]
# Objects of others that a message names.
MOST_NAMED = 5
_ALWAYS_SERVED = frozenset(("v1", "apps/v1", "batch/v1"))
_MARKS: tuple[Keys, ...] = (
    ("metadata", "annotations", RELEASE_NAME),
    ("metadata", "annotations", RELEASE_NAMESPACE),
    ("metadata", "labels", MANAGED_BY),
)
_DESCRIPTION: tuple[Keys, ...] = (("metadata", "labels"), ("metadata", "annotations"))


@dataclass(frozen=True)
class ObjectOwners:
    """What is there already of what a release renders. `taken` belongs to others, in words; `free` is the
    release's to have, and does not say so yet."""

    taken: tuple[str, ...]
    free: tuple[tuple[ObjectId, Metadata], ...]


class OwnerGuard:
    """For one release in its namespace."""

    def __init__(self, kube: Kube, records: ReleaseRecords, release: str, namespace: str) -> None:
        self._kube = kube
        self._records = records
        self._release = release
        self._namespace = namespace
        self._deployed: frozenset[ObjectId] | None = None
        self._run: Collection[ObjectId] | None = None
        self._served: dict[tuple[str, str], bool] = {}

    def observe(self, rendered: RenderedRelease, action: str) -> ObjectOwners:
        """Whose the objects are that an Install, Upgrade, Rollback or Uninstall of Helm's would write.

        Raises KubeError and HelmFailed.
        """
        hooks = [hook for hook in rendered.hooks if runs_in(hook, action) and is_named(hook)]
        manifest = [obj for obj in rendered.manifest if action != "Uninstall" and is_named(obj)]
        live = self.observe_metadata((*manifest, *hooks))
        taken, free = [], []
        for obj in (*manifest, *hooks):
            object_ = identify(obj, self._namespace)
            meta = live.get(object_)
            if meta is None:
                continue
            is_hook = obj in hooks
            owner = self._owner(obj, meta, is_hook=is_hook)
            if owner.ownership in (Ownership.OTHERS, Ownership.NOBODYS):
                taken.append((object_, owner))
            elif self._is_to_be_marked(meta, is_hook=is_hook):
                free.append((object_, meta))
        return ObjectOwners(self._refusals(taken), tuple(free))

    def refuse(self, rendered: RenderedRelease, action: str) -> ObjectOwners:
        """As `observe`. Raises ObjectsTaken where anything is taken."""
        found = self.observe(rendered, action)
        if found.taken:
            raise ObjectsTaken("; ".join(found.taken))
        return found

    def take_over(self, owners: ObjectOwners) -> None:
        """Marks what is the release's to have as Helm does. Raises KubeError: Conflict where it changed."""
        for object_, meta in owners.free:
            resource = _resource(object_)
            patch = take_over_patch(meta, self._release, self._namespace)
            self._kube.merge_patch(resource, object_.name, object_.namespace or None, patch)
            text = f"{object_}: taken over by release {self._release}"
            log_action("take-over", object_.place, text, release=self._release)

    def leave_to_others(self, rendered: RenderedRelease, before: BaseRevisions) -> BaseRevisions:
        """Strikes what is not rendered any more, and has become another's, from the records that Helm may
        start from, and gives what they hold then; also objects of a kind that the cluster has lost, because
        Helm does not act on such a record. Idempotent. Raises KubeError and HelmFailed."""
        remaining = dict(before)
        stays = {identify(obj, self._namespace) for obj in rendered.manifest if is_named(obj)}
        for version, recorded in before.items():
            named = [obj for obj in recorded.manifest if is_named(obj)]
            gone = [obj for obj in named if identify(obj, self._namespace) not in stays]
            live = self.observe_metadata(gone)
            lost: dict[ObjectId, str] = {}
            for obj in gone:
                object_ = identify(obj, self._namespace)
                meta = live.get(object_)
                if meta is not None and self._is_others(meta, obj):
                    lost[object_] = "kept, because it now belongs to another release"
                elif meta is None and not self._is_served(object_):
                    lost[object_] = f"is gone, because the cluster has no {object_.kind} any more"
            if lost:
                self._records.leave_out(self._release, self._namespace, version, lost)
                for object_, why in sorted(lost.items(), key=str):
                    text = f"{object_}: {why}"
                    log_action("leave-to-others", object_.place, text, release=self._release)
                ours = (one for one in named if identify(one, self._namespace) not in lost)
                remaining[version] = RenderedRelease(tuple(ours), recorded.hooks)
        return remaining

    def _is_served(self, object_: ObjectId) -> bool:
        """Asked once for each kind, and never of those that every cluster has."""
        kind = (object_.api_version, object_.kind)
        if object_.api_version in _ALWAYS_SERVED:
            return True
        if kind not in self._served:
            self._served[kind] = self._kube.is_served(*kind)
        return self._served[kind]

    def observe_metadata(self, objects: Iterable[KubeObject]) -> Mapping[ObjectId, Metadata]:
        """The metadata of those that are there: one request for each kind, and for each object elsewhere.

        What we may not read Helm cannot touch either. Raises KubeError.
        """
        names: dict[Resource, set[str]] = {}
        found: dict[ObjectId, Metadata] = {}
        for obj in objects:
            object_, resource = identify(obj, self._namespace), resource_of(obj)
            if object_.namespace == self._namespace:
                names.setdefault(resource, set()).add(object_.name)
            else:
                self._get(resource, object_, found)
        for resource, desired in names.items():
            one = f"metadata.name={next(iter(desired))}" if len(desired) == 1 else ""
            try:
                there = self._kube.list_metadata(resource, self._namespace, fields=one)
            except ObjectMissing:
                continue
            except Forbidden:
                for name in desired:
                    object_ = ObjectId(resource.api_version, resource.kind, self._namespace, name)
                    self._get(resource, object_, found)
                continue
            for obj in there:
                name = str(obj["metadata"]["name"])
                if name in desired:
                    object_ = ObjectId(resource.api_version, resource.kind, self._namespace, name)
                    found[object_] = obj["metadata"]
        return found

    def _get(self, resource: Resource, object_: ObjectId, found: dict[ObjectId, Metadata]) -> None:
        try:
            live = self._kube.get(resource, object_.name, object_.namespace or None)
        except (Forbidden, ObjectMissing):
            return
        if live is not None:
            found[object_] = live["metadata"]

    def _owner(self, obj: KubeObject, meta: Metadata, *, is_hook: bool) -> Owner:
        owner = owner_of(meta, obj["metadata"], self._release, self._namespace)
        if owner.ownership != Ownership.NOBODYS:
            return owner
        # A hook that has run does not make another object of its name ours: Helm's says that it is a hook's.
        is_hooks = HOOK in (meta.get("annotations") or {})
        ours = is_hooks and self._has_run(obj) if is_hook else self._has_deployed(obj)
        # No mark shows that a hook of another namespace made an object, and the same content does not make it
        # ours.
        alone = is_hook and not resource_of(obj).namespaced
        kept = is_hook and outlives_its_release(meta, obj["metadata"], self._release)
        return Owner(Ownership.OURS) if ours or (not alone and not self._differs(obj, kept=kept)) else owner

    def _is_others(self, meta: Metadata, obj: KubeObject) -> bool:
        return owner_of(meta, obj["metadata"], self._release, self._namespace).ownership == Ownership.OTHERS

    def _is_to_be_marked(self, meta: Metadata, *, is_hook: bool) -> bool:
        # Helm marks no hook's object, and asks for no mark of it.
        if is_hook:
            return is_handed_over(meta, self._release, self._namespace)
        return not is_marked(meta, self._release, self._namespace)

    def _has_deployed(self, obj: KubeObject) -> bool:
        """Whether the object belongs to the deployed revision, and others removed its marks: that is
        drift."""
        if self._deployed is None:
            deployed = deployed_manifest(self._records, self._release, self._namespace)
            named = (one for one in deployed if is_named(one))
            self._deployed = frozenset(identify(one, self._namespace) for one in named)
        return identify(obj, self._namespace) in self._deployed

    def _has_run(self, hook: KubeObject) -> bool:
        if self._run is None:
            self._run = self._records.hook_objects(self._release, self._namespace)
        return identify(hook, self._namespace) in self._run

    def _differs(self, obj: KubeObject, *, kept: bool = False) -> bool:
        """Whether Helm would change anything in the object except for its own marks. For an object that a
        hook has `kept`, only its data count: an empty one may be filled, and labels only describe it."""
        object_ = identify(obj, self._namespace)
        live = self._kube.get(resource_of(obj), object_.name, object_.namespace or None)
        if live is None:
            return False
        try:
            desired = as_sent(obj, self._release, self._namespace)
            after = self._kube.apply(desired, manager=HELM_FIELD_MANAGER, dry_run=True)
        except (ObjectRefused, Forbidden):
            return True
        changed = [keys for keys in changed_keys(live, after) if keys not in _MARKS]
        if kept:
            free = (*_DESCRIPTION, *(() if live.get("data") else (("data",),)))
            changed = [keys for keys in changed if not any(keys[: len(part)] == part for part in free)]
        return bool(changed)

    def _refusals(self, taken: Sequence[tuple[ObjectId, Owner]]) -> tuple[str, ...]:
        if not taken:
            return ()
        texts = [self._title(object_, owner) for object_, owner in taken[:MOST_NAMED]]
        texts += [f"and {len(taken) - MOST_NAMED} more"] if len(taken) > MOST_NAMED else []
        every = [(object_.kind, object_.name, object_.namespace) for object_, _ in taken]
        way = ways_to_hand_over(every, self._release, self._namespace)
        what = "all of them" if len(taken) > 1 else "it"
        return (*texts, f"to hand {what} over to this release: {way}")

    def _title(self, object_: ObjectId, owner: Owner) -> str:
        where = "" if object_.namespace in ("", self._namespace) else f" in {object_.namespace}"
        whose = f"belongs to {owner.name}" if owner.name else "exists already, has no owner and differs"
        return f"{object_.kind}/{object_.name}{where} {whose}"


def _resource(object_: ObjectId) -> Resource:
    return resource_of({"apiVersion": object_.api_version, "kind": object_.kind})
