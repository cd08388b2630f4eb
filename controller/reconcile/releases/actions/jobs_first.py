"""Schema before code: the Jobs that new pods wait for run before Helm sends the first new workload.

Helm sends workloads before it runs the hooks of an upgrade, and the Jobs of the last one satisfy the start-up
waits of new pods. If such Jobs have new work, the upgrade is made in two revisions, and each is a separate
action. In the first revision only the Jobs are new (`controller.domain.releases.upgrade_jobs`), and the old
pods serve until the Jobs have succeeded. The second revision is the upgrade as its chart makes it. A label of
the first revision names the digest of the upgrade, so that a process after a kill continues with the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.names import (
    DIGEST_LABEL,
    FORCE_LABEL,
    HELM_FIELD_MANAGER,
    JOBS_FIRST_LABEL,
    ROLLBACK_LABEL,
    SPEC_DIGEST_LABEL,
)
from controller.domain.api.object_owner import Ownership, owner_of
from controller.domain.releases.actions import Action
from controller.domain.releases.drift.difference import ObjectId
from controller.domain.releases.hooks import runs_in
from controller.domain.releases.sizes.release_size import release_octets, too_large
from controller.domain.releases.upgrade_jobs.awaited_jobs import (
    PODS_OF,
    SERVING,
    all_awaited,
    awaited_by,
    images_of,
    template_of,
    upgrade_jobs,
)
from controller.domain.releases.upgrade_jobs.jobs_first import (
    COPIED,
    NO_DIGEST,
    RIGHTS,
    as_hooks,
    as_it_is,
    as_text,
    copies_of,
    references_of,
    values_of,
    with_copies,
    without_upgrade,
)
from controller.domain.values.account_names import renames_accounts
from controller.errors import Forbidden, HelmFailed, ObjectMissing, ObjectRefused, ObjectTooLarge
from controller.ports.helm import Cancellation, HelmRequest, RenderedRelease
from controller.ports.kubernetes import JOB, resource_of
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.base_revisions import BaseRevisions
from controller.reconcile.releases.drift.compare import as_sent, identify, is_named
from controller.reconcile.releases.hooks.previous_runs import delete_run, last_run
from controller.reconcile.releases.parts import ReleasePorts
from controller.reconcile.shared.action_log import log_action

KubeObject = Mapping[str, Any]
_WITH_PODS = (*PODS_OF, JOB.kind)


@dataclass(frozen=True)
class AwaitedJobs:
    """The Jobs that run again before pods are replaced, in their order. `first`: in a separate revision,
    because old pods serve. Otherwise it is enough to delete the old Jobs."""

    jobs: tuple[KubeObject, ...] = ()
    first: bool = False

    def __str__(self) -> str:
        names = ", ".join(str(one["metadata"]["name"]) for one in self.jobs)
        return f"the Jobs that new pods need have succeeded ({names}); the workloads follow"


NONE_AWAITED = AwaitedJobs()


class JobsFirst:
    """For one upgrade. If a render has no Jobs that pods wait for, no request is sent to the API server."""

    def __init__(self, ports: ReleasePorts, request: ActionRequest, before: BaseRevisions) -> None:
        self._kube = ports.as_charts
        self._records = ports.records
        self._request = request
        self._before = before

    def awaited(self, rendered: RenderedRelease) -> AwaitedJobs:
        """The Jobs that have something new to do for pods that the upgrade replaces. Raises KubeError and
        HelmFailed."""
        request, space = self._request, self._request.namespace
        if request.action != Action.UPGRADE or not self._before:
            return NONE_AWAITED
        jobs = [one for one in upgrade_jobs(rendered.manifest, rendered.hooks) if self._is_here(one)]
        workloads = [one for one in rendered.manifest if one.get("kind") in SERVING and self._is_here(one)]
        waiting = [one for one in workloads if awaited_by(one, jobs, space)]
        awaited = all_awaited(waiting, jobs, space)
        if not awaited or not (self._renames_accounts() or self._is_due(waiting, awaited)):
            return NONE_AWAITED
        history = self._records.observe(space, releases=(request.release,)).get(request.release, ())
        deployed = next((one for one in reversed(history) if one.status == "deployed"), None)
        if deployed is not None and deployed.jobs_for and deployed.jobs_for == request.digest:
            return NONE_AWAITED
        if not any(self._replaces_pods(one) for one in waiting):
            return NONE_AWAITED
        return AwaitedJobs(awaited, first=deployed is not None)

    def delete_last_runs(self, awaited: AwaitedJobs, cancellation: Cancellation) -> None:
        """Deletes what earlier actions have left of the Jobs, and waits until it is gone. Raises KubeError
        and HelmFailed, also as HelmCancelled."""
        request = self._request
        for job in awaited.jobs:
            live = last_run(self._kube, JOB, dict(job), request.release, request.namespace)
            if live is not None:
                delete_run(self._kube, JOB, live, cancellation=cancellation, timeout=request.timeout)
                name = str(live["metadata"]["name"])
                text = f"Job {name}: deleted, so that it runs again before pods are replaced"
                log_action("replace", f"{request.namespace}/{name}", text, release=request.release)

    def release(self, rendered: RenderedRelease, awaited: AwaitedJobs) -> RenderedRelease:
        """The release as it is, with these Jobs of what is rendered, and what they need. Raises KubeError."""
        manifest = {self._identify(obj): obj for obj in rendered.manifest if is_named(obj)}
        references = references_of(awaited.jobs, rendered.manifest)
        jobs = {self._identify(one) for one in awaited.jobs}
        held = self._held(jobs)
        needed = {one: obj for one, obj in manifest.items() if (one.kind, one.name) in references}
        missing = {one: obj for one, obj in needed.items() if one not in held or one.kind in RIGHTS}
        copied = {
            one: obj for one, obj in needed.items() if one in held and one.kind in COPIED and held[one] != obj
        }
        prepared = references_of(awaited.jobs, rendered.hooks)
        hooks = [one for one in rendered.hooks if is_named(one) and self._identify(one) not in jobs]
        before = [one for one in hooks if runs_in(one, "Upgrade") and _reference(one) in prepared]
        others = without_upgrade(one for one in hooks if one not in before)
        names = {(one.kind, one.name) for one in copied}
        own = [with_copies(one, names) for one in awaited.jobs]
        first = (*copies_of(copied.values()), *as_hooks(own, self._request.release, self._request.namespace))
        manifest_now = {**held, **missing}.values()
        return RenderedRelease(tuple(map(dict, manifest_now)), tuple(map(dict, (*others, *before, *first))))

    def helm_request(self, whole: HelmRequest, chart_path: str, half: RenderedRelease) -> HelmRequest:
        """What Helm is asked for the first revision, where it is the upgrade `whole` that follows."""
        request = self._request
        labels = {
            **{key: text for key, text in whole.labels.items() if key not in (FORCE_LABEL, ROLLBACK_LABEL)},
            DIGEST_LABEL: NO_DIGEST,
            SPEC_DIGEST_LABEL: "",
            JOBS_FIRST_LABEL: f"{request.version}.{request.digest}",
        }
        return replace(
            whole,
            chart_path=chart_path,
            values=values_of((*half.manifest, *half.hooks), whole.values),
            labels=labels,
            description="Jobs of an upgrade by openstack-controller, before its workloads",
        )

    def _is_here(self, obj: KubeObject) -> bool:
        space = self._request.namespace
        return is_named(obj) and str(obj["metadata"].get("namespace") or space) == space

    def _identify(self, obj: KubeObject) -> ObjectId:
        return identify(obj, self._request.namespace)

    def _renames_accounts(self) -> bool:
        request = self._request
        if request.resolved_values is None:
            return False
        try:
            values = self._records.effective_values(request.release, request.namespace, max(self._before))
        except HelmFailed:
            return False
        return renames_accounts(values, request.resolved_values)

    def _is_due(self, waiting: Sequence[KubeObject], awaited: Sequence[KubeObject]) -> bool:
        """Whether pods, or Jobs, have other images than before, or such a Job has not succeeded."""
        return any(self._has_other_images(one) for one in waiting) or any(map(self._has_to_run, awaited))

    def _has_to_run(self, job: KubeObject) -> bool:
        live = self._live(job)
        if live is None or not (live.get("status") or {}).get("succeeded"):
            return True
        return self._differs_from_records(job) and images_of(live) != images_of(job)

    def _has_other_images(self, workload: KubeObject) -> bool:
        if not self._differs_from_records(workload):
            return False
        live = self._live(workload)
        return live is not None and images_of(live) != images_of(workload)

    def _differs_from_records(self, obj: KubeObject) -> bool:
        """Where others give pods another image than their charts say, that alone is no change."""
        object_ = self._identify(obj)
        known = [
            images_of(one)
            for recorded in self._before.values()
            for one in (*recorded.manifest, *recorded.hooks)
            if one.get("kind") == object_.kind and is_named(one) and self._identify(one) == object_
        ]
        return any(one != images_of(obj) for one in known) or not known

    def _live(self, obj: KubeObject) -> KubeObject | None:
        return self._kube.get(resource_of(obj), str(obj["metadata"]["name"]), self._request.namespace)

    def _replaces_pods(self, workload: KubeObject) -> bool:
        live = self._live(workload)
        return live is None or template_of(self._tried(workload) or {}) != template_of(live)

    def _tried(self, obj: KubeObject) -> KubeObject | None:
        """The object as it would be if it was sent, None where it is refused."""
        request = self._request
        try:
            sent = as_sent(dict(obj), request.release, request.namespace)
            return self._kube.apply(sent, manager=HELM_FIELD_MANAGER, dry_run=True)
        except (ObjectRefused, Forbidden):
            return None

    def _held(self, jobs: Iterable[ObjectId]) -> Mapping[ObjectId, KubeObject]:
        """The present objects of the release in the cluster, except for these Jobs.

        Helm deletes what a revision does not have any more, so all of it is sent again.
        """
        recorded: dict[ObjectId, KubeObject] = {}
        for version in sorted(self._before):
            found = (obj for obj in self._before[version].manifest if is_named(obj))
            recorded.update((self._identify(obj), obj) for obj in found)
        for job in jobs:
            recorded.pop(job, None)
        held = {}
        for object_, obj in recorded.items():
            try:
                live = self._kube.get(resource_of(obj), object_.name, object_.namespace or None)
            except (Forbidden, ObjectMissing):
                held[object_] = obj  # Helm acts with the same rights
                continue
            if live is None or self._is_others(live, obj):
                continue
            held[object_] = self._as_it_is(obj, live) if object_.kind in _WITH_PODS else obj
        return held

    def _as_it_is(self, recorded: KubeObject, live: KubeObject) -> KubeObject:
        after = self._tried(recorded)
        unchanged = after is not None and after.get("spec") == live.get("spec")
        return recorded if unchanged else as_it_is(recorded, live)

    def _is_others(self, live: KubeObject, recorded: KubeObject) -> bool:
        request = self._request
        owner = owner_of(live["metadata"], recorded["metadata"], request.release, request.namespace)
        return owner.ownership == Ownership.OTHERS


def refuse_size(half: HelmRequest, rendered: RenderedRelease) -> None:
    """Before the first revision is sent. Raises ObjectTooLarge where no Secret can hold its record."""
    text = "\n---\n".join(as_text(obj) for obj in (*rendered.manifest, *rendered.hooks))
    if refused := too_large(release_octets({}, {}, half.values, text)):
        raise ObjectTooLarge(f"the revision with the Jobs that come first: {refused}")


def _reference(obj: KubeObject) -> tuple[str, str]:
    return str(obj["kind"]), str(obj["metadata"]["name"])
