"""What is done before Helm is called: volumes are kept, and what would make Helm fail is out of its way."""

from __future__ import annotations

from collections.abc import Sequence

from controller.ports.helm import Cancellation, HelmRequest, RenderedRelease
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.immutable_jobs import replace_immutable_jobs
from controller.reconcile.releases.actions.immutable_objects import refuse_fixed_changes
from controller.reconcile.releases.actions.volume_keeper import VolumeKeeper
from controller.reconcile.releases.hooks.previous_runs import delete_last_runs
from controller.reconcile.releases.ports import ReleasePorts

# Names of kept volumes in an Event.
MOST_KEPT = 10


def make_way(
    ports: ReleasePorts,
    request: ActionRequest,
    rendered: RenderedRelease,
    cancellation: Cancellation,
    helm_request: HelmRequest | None = None,
) -> str:
    """Before an action of Helm's that would fail at objects that cannot be changed, or delete volumes;
    which it keeps. Raises FieldsFixed (the gate `ImmutableFields`) and KubeError."""
    refuse_fixed_changes(ports.kube, rendered, request.release, request.namespace)
    kept = keep_volumes(ports, request, rendered, helm_request)
    replace_immutable_jobs(ports.kube, rendered, request.release, request.namespace)
    delete_hooks_of_before(ports, request, rendered, cancellation)
    return kept


def keep_volumes(
    ports: ReleasePorts,
    request: ActionRequest,
    rendered: RenderedRelease,
    helm_request: HelmRequest | None,
) -> str:
    """Has Helm leave what the release will not have any more; the same in words."""
    volumes, release, namespace = VolumeKeeper(ports.kube, ports.records), request.release, request.namespace
    if helm_request is not None and volumes.has_volumes(release, namespace):
        # A chart may ask the cluster whether to make a claim: what counts is what Helm will send.
        rendered = ports.helm.render(helm_request, server=True)
    if request.volumes == "Retain":
        volumes.refuse(rendered, namespace, str(request.action).lower())
    return keeps(volumes.keep(release, namespace, rendered, request.volumes))


def delete_hooks_of_before(
    ports: ReleasePorts, request: ActionRequest, rendered: RenderedRelease, cancellation: Cancellation
) -> None:
    """Deletes what earlier runs have left of the hooks that this action runs, and waits until it is gone."""
    delete_last_runs(
        ports.kube,
        rendered.hooks,
        str(request.action),
        request.namespace,
        cancellation=cancellation,
        timeout=request.timeout,
    )


def keeps(volumes: Sequence[str]) -> str:
    """`keeps PersistentVolumeClaim/a, …`, empty for none."""
    more = f" and {len(volumes) - MOST_KEPT} more" if len(volumes) > MOST_KEPT else ""
    return f"keeps {', '.join(volumes[:MOST_KEPT])}{more}" if volumes else ""
