"""Takes a release away with all that it made, except what outlives it.

Killed anywhere, it is done again from the start: what it needs to know stands in Helm's record, which is
the last thing to go.
"""

from __future__ import annotations

from controller.domain.api.names import DEPLOYMENT_LABEL, HOOK
from controller.domain.api.object_owner import Ownership, owner_of
from controller.domain.releases.kept_claims import is_kept
from controller.errors import HelmCancelled, ReleaseMissing
from controller.ports.helm import Cancellation, RenderedRelease, UninstallRequest
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, SECRET, Kube, KubeObject
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.helm_request import (
    RecordedRevisions,
    insist_on_revisions,
    recorded_revisions,
)
from controller.reconcile.releases.actions.preparation import delete_hooks_of_before, keeps, leave_to_others
from controller.reconcile.releases.base_revisions import all_revisions
from controller.reconcile.releases.drift.compare import identify
from controller.reconcile.releases.kept_claims.keep_marks import NOTHING, VolumeKeeper
from controller.reconcile.releases.parts import ReleasePorts
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.managed_region import is_ending
from controller.reconcile.shared.remaining_claims import has_kept_claims


def uninstall(ports: ReleasePorts, request: ActionRequest, cancellation: Cancellation) -> str:
    """Gives in words which volumes it keeps. One with a spec makes room for a new install: it runs no hooks
    and leaves all volumes.

    Raises ObjectsTaken, FieldsFixed, HelmFailed, also as HelmCancelled, and KubeError: Conflict where another
    Helm has made a revision meanwhile.
    """
    # First what Helm would leave, then the release: a kill in between leaves the release, so that
    # this is done again. The other order would forget what there was. And before either the
    # record, so that a release that is desired again is not taken for whole.
    records, release, namespace = ports.records, request.release, request.namespace
    seen = recorded_revisions(records, request)
    try:
        records.mark_uninstalling(release, namespace, request.version)
        state = records.removal(release, namespace)
    except ReleaseMissing:
        return ""
    kept: tuple[str, ...] = ()
    for_good = request.spec is None
    # A release that is desired again is installed again immediately: it does not need the cleanup or the
    # waits of its deletion.
    allowed = for_good and not request.skip_hooks
    # Nothing new can be made in a namespace that is being deleted, so no hook can run.
    hooks = allowed and state.runs_hooks and not is_ending(ports.kube, namespace)
    recorded = records.manifest(release, namespace, request.version)
    every = all_revisions(records, release, namespace)
    volumes, deletes = VolumeKeeper(ports.as_charts, records), request.volumes == "Delete" and for_good
    if hooks and not deletes:
        volumes.refuse(RenderedRelease((), recorded.hooks), namespace, "delete")
    leave_to_others(ports, request, recorded.hooks if hooks else (), every)
    if deletes:
        # A StatefulSet of a hook may take its claims along.
        _insist_on_deletion(release, cancellation)
        records.delete_hooks(release, namespace)
        _insist_on_deletion(release, cancellation)
        # The data before the keys that open them: of what is left after a failure, nothing is locked up.
        records.delete_claims(release, namespace)
        _delete_kept_secrets(ports, request, recorded)
    else:
        # In every record: whichever is the newest in the end is what Helm goes by.
        kept = volumes.keep(release, namespace, NOTHING, before=every)
        records.delete_hooks(release, namespace)
    if hooks:
        delete_hooks_of_before(ports, request, recorded, cancellation)
    elif state.runs_hooks:
        # What an earlier try has left that ran them.
        records.delete_hooks(release, namespace, of_the_uninstall=True)
    # The record outlives the hooks: Helm would take it away although one of them has failed, and only
    # there stands what they leave.
    if state.status != "uninstalled" and (hooks or not for_good):
        _call_helm(ports, request, cancellation, seen, hooks=hooks, keep_history=True)
    if hooks:
        records.delete_hooks(release, namespace, of_the_uninstall=True)
    _call_helm(ports, request, cancellation, seen, hooks=False)
    return keeps(kept)


def _insist_on_deletion(release: str, cancellation: Cancellation) -> None:
    if cancellation.cancelled:
        raise HelmCancelled(f"{release}: cancelled before its claims were deleted", "cancelled")


def _call_helm(
    ports: ReleasePorts,
    request: ActionRequest,
    cancellation: Cancellation,
    seen: RecordedRevisions,
    *,
    hooks: bool,
    keep_history: bool = False,
) -> None:
    insist_on_revisions(ports.records, request, seen)
    if not (request.volumes == "Delete" and request.spec is None):
        volumes = VolumeKeeper(ports.as_charts, ports.records)
        volumes.insist_on_marks(request.release, request.namespace, request.version)
    ports.helm.uninstall(
        UninstallRequest(
            request.release,
            request.namespace,
            timeout=request.timeout,
            hooks=hooks,
            keep_history=keep_history,
        ),
        cancellation,
    )
    if keep_history and cancellation.cancelled:
        # Else the record would go that knows what else there is to do now.
        raise HelmCancelled(f"{request.release}: cancelled before its record was deleted", "cancelled")


def _delete_kept_secrets(ports: ReleasePorts, request: ActionRequest, recorded: RenderedRelease) -> None:
    """Keys that a chart keeps beside its volumes (Keystone's fernet keys) go where those go, not while claims
    are left that were kept earlier, nor while the region stays: what they open is in a database that another
    release has."""
    if has_kept_claims(ports.kube, request.namespace) or _region_stays(ports.kube, request):
        return
    for obj in (*recorded.manifest, *recorded.hooks):
        if obj.get("kind") != SECRET.kind or not is_kept(obj["metadata"]):
            continue
        name = str(obj["metadata"]["name"])
        live = ports.as_charts.get(SECRET, name, request.namespace)
        if live is not None and _has_made(ports, request, live, obj):
            ports.as_charts.delete(SECRET, name, request.namespace, uid=str(live["metadata"]["uid"]))
            text = f"Secret {name}: deleted with the volumes that it was kept for"
            place = f"{request.namespace}/{name}"
            log_action("delete", place, text, release=request.release, bundle=request.bundle)


def _region_stays(kube: Kube, request: ActionRequest) -> bool:
    """Whether the bundle is of a region that is not being removed, which asks for its service no more."""
    bundle = kube.get(HELMBUNDLE, request.bundle, request.namespace)
    region = ((bundle or {"metadata": {}})["metadata"].get("labels") or {}).get(DEPLOYMENT_LABEL)
    osdpl = kube.get(OSDPL, region, request.namespace) if region else None
    return osdpl is not None and not osdpl["metadata"].get("deletionTimestamp")


def _has_made(ports: ReleasePorts, request: ActionRequest, live: KubeObject, recorded: KubeObject) -> bool:
    """Whether what is there is the release's: by its marks, or as its hook has made it and is recorded."""
    found = owner_of(live["metadata"], recorded["metadata"], request.release, request.namespace).ownership
    if found != Ownership.NOBODYS:
        return found != Ownership.OTHERS
    is_hooks = HOOK in (live["metadata"].get("annotations") or {})
    run = ports.records.hook_objects(request.release, request.namespace) if is_hooks else ()
    return identify(recorded, request.namespace) in run
