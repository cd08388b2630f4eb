"""What is done before Helm is called: nothing of others is in its way, volumes are kept, and what would make
Helm fail is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller.domain.releases.actions import Action
from controller.errors import ObjectsTaken
from controller.ports.helm import Cancellation, HelmRequest, RenderedRelease, Revision
from controller.ports.kubernetes import KubeObject
from controller.reconcile.releases.action_request import ActionRequest, Done
from controller.reconcile.releases.actions.base_revisions import BaseRevisions, base_revisions
from controller.reconcile.releases.actions.helm_request import insist_on_revisions, recorded_revisions
from controller.reconcile.releases.actions.immutable_jobs import replace_immutable_jobs
from controller.reconcile.releases.actions.immutable_objects import refuse_fixed_changes
from controller.reconcile.releases.actions.jobs_first import JobsFirst, refuse_size
from controller.reconcile.releases.actions.object_owners import ObjectOwners, OwnerGuard
from controller.reconcile.releases.actions.volume_keeper import NOTHING, VolumeKeeper, has_volumes
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from controller.reconcile.releases.parts import ReleasePorts

# Names of kept volumes in an Event.
MOST_KEPT = 10


HelmCall = Callable[[HelmRequest, Cancellation], Revision]


def call_prepared(
    call: HelmCall,
    ports: ReleasePorts,
    request: ActionRequest,
    helm_request: HelmRequest,
    *,
    cancellation: Cancellation,
) -> Done:
    """Makes way for Helm's install or upgrade, and calls it. Gives in words which volumes it keeps; of an
    upgrade whose Jobs come first, these are made, and the rest is left to the next action.

    Raises ObjectsTaken, FieldsFixed, HelmFailed, also as HelmCancelled, and KubeError.
    """
    seen = recorded_revisions(ports.records, request)
    before = before_helm(ports, request)
    # A chart may ask the cluster whether to make a claim: where there are volumes, what counts is what the
    # API server's answers make of it.
    rendered = ports.helm.render(helm_request, server=has_volumes(before, helm_request.namespace))
    owners = refuse(ports, request, rendered)
    jobs = JobsFirst(ports, request, before)
    awaited = jobs.awaited(rendered)
    if awaited.first:
        rendered = jobs.release(rendered, awaited)
        helm_request = jobs.helm_request(helm_request, ports.charts.of_objects(), rendered)
        refuse_size(helm_request, rendered)
        owners = refuse(ports, request, rendered)
    jobs.delete_last_runs(awaited, cancellation)
    kept = make_way(ports, request, rendered, before, owners=owners, cancellation=cancellation)
    insist_on_revisions(ports.records, request, seen)
    try:
        call(helm_request, cancellation)
    except ObjectsTaken:
        # Helm takes no object without its marks either. What only the API server's render has, or has come
        # this very moment, is named, or taken over for the next try.
        guard = _owner_guard(ports, request)
        whole = ports.helm.render(helm_request, server=True)
        guard.take_over(guard.refuse(whole, str(request.action)))
        raise
    said = (str(awaited) if awaited.first else "", kept)
    return Done("; ".join(text for text in said if text), awaited.first)


def before_helm(ports: ReleasePorts, request: ActionRequest) -> BaseRevisions:
    """The revisions that Helm may start from. Raises KubeError."""
    return base_revisions(ports.records, request.release, request.namespace)


def refuse(ports: ReleasePorts, request: ActionRequest, rendered: RenderedRelease) -> ObjectOwners:
    """What an action of Helm's may not do to what is there: objects of others, fields that cannot be changed,
    claims. Writes nothing; gives whose the objects are. Raises ObjectsTaken and FieldsFixed (the gates
    `ObjectOwner` and `ImmutableFields`), HelmFailed, and KubeError."""
    owners = _owner_guard(ports, request).refuse(rendered, str(request.action))
    if request.action != Action.INSTALL:
        refuse_fixed_changes(ports.as_charts, rendered, request.release, request.namespace)
    if request.volumes == "Retain":
        volumes = VolumeKeeper(ports.as_charts, ports.records)
        volumes.refuse(rendered, request.namespace, str(request.action).lower())
    return owners


def make_way(
    ports: ReleasePorts,
    request: ActionRequest,
    rendered: RenderedRelease,
    before: BaseRevisions,
    *,
    owners: ObjectOwners,
    cancellation: Cancellation,
) -> str:
    """Before an action of Helm's that nothing refuses: takes what is the release's to have, and what would
    make Helm fail out of its way; gives in words which volumes it keeps. Raises HelmFailed, and KubeError:
    Conflict where another Helm has come in between."""
    guard = _owner_guard(ports, request)
    volumes = VolumeKeeper(ports.as_charts, ports.records)
    guard.take_over(owners)
    ours = guard.leave_to_others(rendered, before)
    if request.action != Action.INSTALL:
        replace_immutable_jobs(ports.as_charts, rendered, request.release, request.namespace)
    # A release whose records are lost may have left runs of its hooks.
    delete_hooks_of_before(ports, request, rendered, cancellation)
    # Last of all: what takes its time is over, and Helm looks at the live volumes itself.
    return keeps(volumes.keep(request.release, request.namespace, rendered, request.volumes, ours))


def leave_to_others(
    ports: ReleasePorts, request: ActionRequest, hooks: Sequence[KubeObject], every: BaseRevisions
) -> None:
    """Before an uninstall that runs these hooks; strikes from every revision what is another's by now.

    Raises ObjectsTaken where a hook would meet an object of others, KubeError and HelmFailed."""
    guard = _owner_guard(ports, request)
    guard.take_over(guard.refuse(RenderedRelease((), tuple(hooks)), str(request.action)))
    guard.leave_to_others(NOTHING, every)


def _owner_guard(ports: ReleasePorts, request: ActionRequest) -> OwnerGuard:
    return OwnerGuard(ports.as_charts, ports.records, request.release, request.namespace)


def delete_hooks_of_before(
    ports: ReleasePorts, request: ActionRequest, rendered: RenderedRelease, cancellation: Cancellation
) -> None:
    """Deletes what earlier runs have left of the hooks that this action runs, and waits until it is gone."""
    delete_last_runs(
        ports.as_charts,
        rendered.hooks,
        str(request.action),
        request.release,
        request.namespace,
        cancellation=cancellation,
        timeout=request.timeout,
    )


def keeps(volumes: Sequence[str]) -> str:
    """`keeps PersistentVolumeClaim/a, …`, empty for none."""
    more = f" and {len(volumes) - MOST_KEPT} more" if len(volumes) > MOST_KEPT else ""
    return f"keeps {', '.join(volumes[:MOST_KEPT])}{more}" if volumes else ""
