"""Takes a release away with all that it made, except what outlives it.

Killed anywhere, it is done again from the start: what it needs to know stands in Helm's record, which is
the last thing to go.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.releases.bundle import VolumePolicy
from controller.domain.releases.next_action import Action
from controller.errors import HelmCancelled, ReleaseMissing
from controller.ports.helm import Cancellation, HelmClient, ReleaseRecords
from controller.ports.kubernetes import NAMESPACE, SECRET, Kube
from controller.reconcile.releases.actions.volume_keeper import NOTHING, VolumeKeeper
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from controller.reconcile.shared.claims_left import has_kept_claims


@dataclass(frozen=True)
class Removal:
    """One removal. `version` is the newest revision, `timeout` in seconds.

    `for_good`: nobody wants the release any more; one that makes room for a new install runs no hooks
    and leaves all volumes. `hooks`: whether the hooks of the deletion are to run at all.
    """

    release: str
    namespace: str
    version: int
    timeout: int
    for_good: bool
    hooks: bool = True
    volumes: VolumePolicy = "Retain"


class ReleaseRemoval:
    """The effect behind `Action.UNINSTALL`."""

    def __init__(self, kube: Kube, helm: HelmClient, records: ReleaseRecords) -> None:
        self._kube = kube
        self._helm = helm
        self._records = records
        self._volumes = VolumeKeeper(kube, records)

    def remove(self, removal: Removal, cancellation: Cancellation) -> tuple[str, ...]:
        """Gives the volumes that it has kept, as `Kind/name`.

        Raises HelmFailed, also as HelmCancelled, and KubeError.
        """
        # First what Helm would leave, then the release: a kill in between leaves the release, so that
        # this is done again. The other order would forget what there was. And before either the
        # record, so that a release that is wanted again is not taken for whole.
        release, namespace = removal.release, removal.namespace
        try:
            self._records.mark_uninstalling(release, namespace, removal.version)
            state = self._records.removal(release, namespace)
        except ReleaseMissing:
            return ()
        kept: tuple[str, ...] = ()
        self._records.delete_hooks(release, namespace)
        if removal.volumes == "Delete" and removal.for_good:
            self._delete_kept_secrets(removal)
            self._records.delete_claims(release, namespace)
        else:
            kept = self._volumes.keep(release, namespace, NOTHING)
        # A release that is wanted again is installed again right away: what its deletion would clean up,
        # or wait for, is nobody's wish any more.
        hooks = removal.hooks and removal.for_good and state.runs_hooks and not self._is_ending(namespace)
        if hooks:
            rendered = self._records.manifest(release, namespace, removal.version)
            delete_last_runs(
                self._kube,
                rendered.hooks,
                Action.UNINSTALL,
                namespace,
                cancellation=cancellation,
                timeout=removal.timeout,
            )
        elif state.runs_hooks:
            # What an earlier try has left that ran them.
            self._records.delete_hooks(release, namespace, of_the_uninstall=True)
        # The record outlives the hooks: Helm would take it away although one of them has failed, and only
        # there stands what they leave.
        if state.status != "uninstalled" and (hooks or not removal.for_good):
            self._uninstall(removal, cancellation, hooks=hooks, keep_history=True)
        if hooks:
            self._records.delete_hooks(release, namespace, of_the_uninstall=True)
        self._uninstall(removal, cancellation, hooks=False)
        return kept

    def _uninstall(
        self, removal: Removal, cancellation: Cancellation, *, hooks: bool, keep_history: bool = False
    ) -> None:
        self._helm.uninstall(
            removal.release,
            removal.namespace,
            timeout=removal.timeout,
            hooks=hooks,
            keep_history=keep_history,
            cancellation=cancellation,
        )
        if keep_history and cancellation.cancelled:
            # Else the record would go that knows what else there is to do now.
            raise HelmCancelled(f"{removal.release}: cancelled before its record went", "cancelled")

    def _is_ending(self, namespace: str) -> bool:
        """Whether the namespace is being deleted: nothing new can be made there, so no hook can run."""
        found = self._kube.get(NAMESPACE, namespace)
        return found is not None and bool(found["metadata"].get("deletionTimestamp"))

    def _delete_kept_secrets(self, removal: Removal) -> None:
        """Keys that a chart keeps beside its volumes (Keystone's fernet keys) go where those go; not while
        claims are left that were kept earlier."""
        if has_kept_claims(self._kube, removal.namespace):
            return
        rendered = self._records.manifest(removal.release, removal.namespace, removal.version)
        for obj in (*rendered.manifest, *rendered.hooks):
            kept = (obj["metadata"].get("annotations") or {}).get("helm.sh/resource-policy") == "keep"
            if obj.get("kind") == SECRET.kind and kept:
                self._kube.delete(SECRET, str(obj["metadata"]["name"]), removal.namespace)
