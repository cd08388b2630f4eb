"""The steps before Helm is called, as one list: nothing of others is in its way, volumes are kept, and what
would make Helm fail is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from controller.domain.releases.actions import Action
from controller.errors import ObjectsTaken
from controller.ports.helm import Cancellation, HelmRequest, RenderedRelease, Revision
from controller.ports.kubernetes import KubeObject
from controller.reconcile.releases.action_request import ActionRequest, Done
from controller.reconcile.releases.actions.helm_request import (
    RecordedRevisions,
    insist_on_revisions,
    recorded_revisions,
)
from controller.reconcile.releases.actions.immutable_jobs import replace_immutable_jobs
from controller.reconcile.releases.actions.immutable_objects import refuse_fixed_changes
from controller.reconcile.releases.actions.jobs_first import NONE_AWAITED, AwaitedJobs, JobsFirst, refuse_size
from controller.reconcile.releases.actions.object_owners import ObjectOwners, OwnerGuard
from controller.reconcile.releases.base_revisions import BaseRevisions, base_revisions
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from controller.reconcile.releases.kept_claims.keep_marks import NOTHING, VolumeKeeper, has_volumes
from controller.reconcile.releases.parts import ReleasePorts

# Names of kept volumes in an Event.
MOST_KEPT = 10

HelmCall = Callable[[HelmRequest, Cancellation], Revision]


@dataclass
class Preparation:
    """What the steps before one action of Helm's are given, and what they have found so far.

    `rendered` is what Helm is about to send, `before` the revisions that it may start from, `seen` those that
    are recorded. `owners` says whose the objects are, `kept` in words which volumes stay.
    """

    ports: ReleasePorts
    request: ActionRequest
    cancellation: Cancellation
    rendered: RenderedRelease
    before: BaseRevisions
    seen: RecordedRevisions
    helm_request: HelmRequest | None = None
    awaited: AwaitedJobs = NONE_AWAITED
    owners: ObjectOwners | None = None
    left: BaseRevisions | None = None
    kept: str = ""

    @cached_property
    def guard(self) -> OwnerGuard:
        return _owner_guard(self.ports, self.request)

    @cached_property
    def volumes(self) -> VolumeKeeper:
        return VolumeKeeper(self.ports.as_charts, self.ports.records)

    @cached_property
    def jobs(self) -> JobsFirst:
        return JobsFirst(self.ports, self.request, self.before)


Step = Callable[[Preparation], None]


def refuse_objects_of_others(found: Preparation) -> None:
    """The gate `ObjectOwner`. Raises ObjectsTaken."""
    found.owners = found.guard.refuse(found.rendered, str(found.request.action))


def refuse_changes_of_fixed_fields(found: Preparation) -> None:
    """The gate `ImmutableFields`. Raises FieldsFixed."""
    request = found.request
    if request.action != Action.INSTALL:
        refuse_fixed_changes(found.ports.as_charts, found.rendered, request.release, request.namespace)


def refuse_lost_claims(found: Preparation) -> None:
    """Claims whose volumes are to stay. Raises FieldsFixed."""
    request = found.request
    if request.volumes == "Retain":
        found.volumes.refuse(found.rendered, request.namespace, str(request.action).lower())


def narrow_to_awaited_jobs(found: Preparation) -> None:
    """Of an upgrade whose pods wait for Jobs, these come first, in a revision of their own, which is refused
    for what the whole would be. Raises as REFUSALS, and HelmFailed."""
    found.awaited = found.jobs.awaited(found.rendered)
    if not found.awaited.first or found.helm_request is None:
        return
    found.rendered = found.jobs.release(found.rendered, found.awaited)
    objects = found.ports.charts.of_objects()
    found.helm_request = found.jobs.helm_request(found.helm_request, objects, found.rendered)
    refuse_size(found.helm_request, found.rendered)
    for refuse in REFUSALS:
        refuse(found)


def delete_runs_of_awaited_jobs(found: Preparation) -> None:
    """Pods would wait for the Jobs from before. Raises HelmFailed."""
    found.jobs.delete_last_runs(found.awaited, found.cancellation)


def take_over_free_objects(found: Preparation) -> None:
    """What is the release's to have gets Helm's marks. Raises KubeError."""
    assert found.owners is not None  # noqa: S101 - REFUSALS come first
    found.guard.take_over(found.owners)


def leave_lost_objects_to_others(found: Preparation) -> None:
    """What has become another's is struck from the records. Raises HelmFailed."""
    found.left = found.guard.leave_to_others(found.rendered, found.before)


def replace_jobs_that_cannot_change(found: Preparation) -> None:
    """Raises KubeError."""
    request = found.request
    if request.action != Action.INSTALL:
        replace_immutable_jobs(found.ports.as_charts, found.rendered, request.release, request.namespace)


def delete_runs_of_hooks(found: Preparation) -> None:
    """A release whose records are lost may have left some. Raises HelmFailed."""
    delete_hooks_of_before(found.ports, found.request, found.rendered, found.cancellation)


def keep_volumes(found: Preparation) -> None:
    """Last of what changes anything: what takes its time is over, and Helm looks at the live volumes then."""
    request = found.request
    volumes = found.volumes.keep(
        request.release, request.namespace, found.rendered, request.volumes, found.left
    )
    found.kept = keeps(volumes)


def insist_on_what_was_seen(found: Preparation) -> None:
    """Raises Conflict where another Helm has come in between."""
    insist_on_revisions(found.ports.records, found.request, found.seen)


# Nothing is written before all of these have passed.
REFUSALS: tuple[Step, ...] = (refuse_objects_of_others, refuse_changes_of_fixed_fields, refuse_lost_claims)
MAKING_WAY: tuple[Step, ...] = (
    take_over_free_objects,
    leave_lost_objects_to_others,
    replace_jobs_that_cannot_change,
    delete_runs_of_hooks,
    keep_volumes,
    insist_on_what_was_seen,
)
BEFORE_CALL: tuple[Step, ...] = (
    *REFUSALS,
    narrow_to_awaited_jobs,
    delete_runs_of_awaited_jobs,
    *MAKING_WAY,
)
BEFORE_ROLLBACK: tuple[Step, ...] = (*REFUSALS, *MAKING_WAY)


def prepare(found: Preparation, steps: Sequence[Step]) -> None:
    """Takes the steps in their order. Raises what they raise, and KubeError."""
    for step in steps:
        step(found)


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
    before = base_revisions(ports.records, request.release, request.namespace)
    # A chart may ask the cluster whether to make a claim: where there are volumes, what counts is what the
    # API server's answers make of it.
    rendered = ports.helm.render(helm_request, server=has_volumes(before, helm_request.namespace))
    found = Preparation(ports, request, cancellation, rendered, before, seen, helm_request)
    prepare(found, BEFORE_CALL)
    helm_request = found.helm_request or helm_request
    try:
        call(helm_request, cancellation)
    except ObjectsTaken:
        # Helm takes no object without its marks either. What only the API server's render has, or has come
        # this very moment, is named, or taken over for the next try.
        guard = _owner_guard(ports, request)
        whole = ports.helm.render(helm_request, server=True)
        guard.take_over(guard.refuse(whole, str(request.action)))
        raise
    said = (str(found.awaited) if found.awaited.first else "", found.kept)
    return Done("; ".join(text for text in said if text), found.awaited.first)


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
