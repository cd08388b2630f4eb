"""core's writes to HelmBundles: only what differs, and all or none of one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    REGION_RECONCILE_ANNOTATION,
    field_manager,
)
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.sizes.bundle_size import bundle_too_large
from controller.errors import Conflict, ObjectTooLarge
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, Kube, KubeObject, KubeObjects
from controller.reconcile.region.removal_order import in_order_of_removal
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import ATTEMPTS, NOTHING_READ, patch_seen

MANAGER = field_manager("core")


class BundleWriter:
    """Applies, pauses and removes the bundles of a region."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def write(self, desired: KubeObjects, there: dict[str, KubeObject]) -> KubeObjects:
        """Applies those that differ from what is `there`; all that is there afterwards.

        Each write depends on the object that was read. A new bundle is created only if its name is free,
        because a bundle that others created meanwhile is theirs. Raises Conflict then, and KubeError
        otherwise.
        """
        changed = [
            obj for obj in desired if (current := there.get(name_of(obj))) is None or not _same(current, obj)
        ]
        for obj in changed:
            if why := bundle_too_large(obj):
                # A dry run would not tell, and others of the pass would be written before.
                raise ObjectTooLarge(f"{name_of(obj)}: {why}")
        if len(changed) > 1:
            # All or nothing: what the API server would refuse is known before the first is written.
            for obj in changed:
                self._apply(obj, there.get(name_of(obj)), dry_run=True)
        for obj in changed:
            name = name_of(obj)
            there[name] = self._apply(obj, there.get(name))
            log_action("apply", _place(obj), f"HelmBundle {name}: applied", bundle=name)
        return list(there.values())

    def _apply(self, obj: KubeObject, seen: KubeObject | None, *, dry_run: bool = False) -> KubeObject:
        """Of that very bundle, whatever helmbundle has written to it since it was listed."""
        if seen is None:
            body = {**obj, "metadata": {**obj["metadata"], **NOTHING_READ}}
            return self._kube.apply(body, manager=MANAGER, dry_run=dry_run)
        read = seen["metadata"]
        uid, version = read["uid"], read["resourceVersion"]
        for _ in range(ATTEMPTS):
            meta = {**obj["metadata"], "uid": uid, "resourceVersion": version}
            try:
                return self._kube.apply({**obj, "metadata": meta}, manager=MANAGER, dry_run=dry_run)
            except Conflict:
                live = self._kube.get(HELMBUNDLE, read["name"], read["namespace"])
                if live is None or live["metadata"]["uid"] != uid or _owner(live) != _owner(seen):
                    raise  # the bundle is gone, or has another owner now
                if live["metadata"]["resourceVersion"] == version:
                    raise  # it is not about the version
                version = live["metadata"]["resourceVersion"]
        raise Conflict(f"HelmBundle {read['name']}: other clients write it continually")

    def pause(self, existing: KubeObjects) -> KubeObjects:
        """Has helmbundle stop too, and leaves everything else as it is."""
        return [self._patch_spec(bundle, {"mode": "Paused"}) for bundle in existing]

    def resume(self, kept: KubeObjects) -> KubeObjects:
        """Has helmbundle go on with bundles that are not written otherwise."""
        return [self._patch_spec(bundle, {"mode": "Apply"}) for bundle in kept]

    def disown(self, existing: KubeObjects) -> KubeObjects:
        """Takes back that the osdpl owns bundles, as earlier versions had it: Kubernetes would delete them
        with one that comes back under another uid, and their releases would be uninstalled."""
        return [self._disown(bundle) for bundle in existing]

    def _disown(self, bundle: KubeObject) -> KubeObject:
        meta = bundle["metadata"]
        owners = meta.get("ownerReferences") or []
        others = [one for one in owners if one.get("kind") != OSDPL.kind]
        if others == owners or meta.get("deletionTimestamp"):
            return bundle
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "ownerReferences": others or None}}
        patched = self._kube.merge_patch(HELMBUNDLE, meta["name"], meta["namespace"], patch)
        text = f"HelmBundle {meta['name']}: no longer owned by an OpenStackDeployment"
        log_action("patch", _place(bundle), text, bundle=meta["name"])
        return patched or bundle

    def _patch_spec(self, bundle: KubeObject, fields: dict[str, str]) -> KubeObject:
        """Of that very bundle, whatever helmbundle has written to it since it was listed."""
        spec = bundle.get("spec") or {}
        if all(spec.get(name) == value for name, value in fields.items()):
            return bundle
        patched = patch_seen(self._kube, HELMBUNDLE, bundle, {"spec": fields})
        if patched is None:
            return bundle
        name = bundle["metadata"]["name"]
        text = ", ".join(f"{field} {value}" for field, value in fields.items())
        log_action("patch", _place(bundle), f"HelmBundle {name}: {text}", bundle=name)
        return patched

    def spare(self, existing: KubeObjects, volumes: VolumePolicy) -> KubeObjects:
        """Takes back that volumes are to be deleted, where the region asks to keep them: also of what is
        paused, planned or on its way out, as that may have data to delete yet."""
        if volumes != "Retain":
            return existing
        return [
            self._patch_spec(bundle, {"volumes": volumes})
            if (bundle.get("spec") or {}).get("volumes") == "Delete"
            else bundle
            for bundle in existing
        ]

    def remove_all(self, bundles: KubeObjects, volumes: VolumePolicy) -> None:
        """As `remove`, what needs others before what it needs: cut off in between and asked for again, no
        bundle is left on its way out that one which stays needs."""
        for bundle in in_order_of_removal(bundles):
            self.remove(bundle, volumes)

    def remove(self, bundle: KubeObject, volumes: VolumePolicy) -> None:
        """Asks for deletion once; helmbundle uninstalls in reverse order and lets the object go. What is on
        its way out still learns what is to become of its volumes."""
        meta = bundle["metadata"]
        if meta.get("deletionTimestamp"):
            self._patch_spec(bundle, {"volumes": volumes})
            return
        self._patch_spec(bundle, {"volumes": volumes, "mode": "Apply"})
        self._kube.delete(HELMBUNDLE, meta["name"], meta["namespace"], uid=meta.get("uid", ""))
        name = meta["name"]
        log_action("delete", _place(bundle), f"HelmBundle {name}: deletion requested", bundle=name)


def _owner(bundle: KubeObject) -> tuple[str, str]:
    labels = bundle["metadata"].get("labels") or {}
    return str(labels.get(DEPLOYMENT_LABEL)), str(labels.get(MANAGED_BY))


def _place(obj: KubeObject) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def name_of(obj: Mapping[str, Any]) -> str:
    """The object's name."""
    return str(obj["metadata"]["name"])


def _same(current: Mapping[str, Any], desired: Mapping[str, Any]) -> bool:
    """Whether applying `desired` would change nothing."""
    meta, target = current["metadata"], desired["metadata"]
    labels = meta.get("labels") or {}
    return (
        current.get("spec") == desired["spec"]
        and all(labels.get(key) == value for key, value in target.get("labels", {}).items())
        and _request(meta) == _request(target)
    )


def _request(meta: Mapping[str, Any]) -> str:
    """The region's request for another pass that a bundle was handed."""
    return str((meta.get("annotations") or {}).get(REGION_RECONCILE_ANNOTATION) or "")
