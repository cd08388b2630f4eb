"""Helm in memory, with hooks that a test ends: `FakeHelm` implements `HelmClient` and `ReleaseRecords`.

A hook is a Job in the `FakeKube` beside it. An action that comes to one waits until the test says how it
ended (`finish`), or until it is cancelled. Labels go from revision to revision as Helm does it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.failures import failure
from controller.adapters.helm.manifests import parse_manifests
from controller.adapters.helm.records.recorded_revisions import revision
from controller.domain.api.names import HELM_FIELD_MANAGER, HOOK, REMOVAL_LABEL
from controller.domain.api.object_owner import is_marked
from controller.domain.releases.drift.difference import ObjectId
from controller.domain.releases.hooks import AWAITED, EVENTS
from controller.domain.releases.kept_claims import (
    KEEP,
    KEEP_ANNOTATION,
    VOLUME_KINDS,
    VolumeId,
    identify,
    is_kept,
)
from controller.domain.releases.upgrade_jobs.jobs_first import OBJECTS_KEY
from controller.domain.values.chart_values import Values, coalesced, copied
from controller.errors import ControllerError, HelmCancelled, HelmFailed, ReleaseMissing
from controller.ports.helm import (
    Cancellation,
    HelmRequest,
    HookRun,
    RemovalState,
    RenderedRelease,
    Revision,
    RollbackRequest,
    UninstallRequest,
)
from controller.ports.kubernetes import JOB, POD, PVC, STATEFULSET, Resource, resource_of
from controller.reconcile.releases.drift.compare import as_sent
from controller.reconcile.releases.drift.compare import identify as identify_object
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

DEADLINE = 30.0
_ENDS = {"pre-delete", "post-delete"}
# As the Job controller says it.
FAILED = {
    "type": "Failed",
    "status": "True",
    "reason": "BackoffLimitExceeded",
    "message": "Job has reached the specified backoff limit",
}


@dataclass(frozen=True)
class Hook:
    """What the hooks of a release make: a Job, a Pod, a claim, or a StatefulSet, whose spec is `template`.
    `events` and `policy`, of its deletion, as in annotations."""

    name: str
    events: str = "post-install,post-upgrade,post-rollback"
    weight: int = 0
    policy: str = ""
    kind: str = "Job"
    template: Mapping[str, Any] = field(default_factory=dict)

    @property
    def resource(self) -> Resource:
        return next(one for one in (JOB, POD, PVC, STATEFULSET) if one.kind == self.kind)

    def job(self, namespace: str) -> dict[str, Any]:
        annotations = {"helm.sh/hook": self.events, "helm.sh/hook-weight": str(self.weight)}
        annotations |= {"helm.sh/hook-delete-policy": self.policy} if self.policy else {}
        meta = {"name": self.name, "namespace": namespace, "annotations": annotations}
        if self.kind == "Pod":
            return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": []}}
        if self.kind in (PVC.kind, STATEFULSET.kind):
            spec = copied(dict(self.template))
            api = self.resource.api_version
            return {"apiVersion": api, "kind": self.kind, "metadata": meta, "spec": spec}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": meta,
            "spec": {"template": copied(dict(self.template))},
        }


@dataclass
class _Record:
    version: int
    status: str
    labels: dict[str, str]
    values: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    objects: Sequence[Mapping[str, Any]] = ()
    hooks: Sequence[Hook] = ()
    # It was made of objects that it was given.
    given: bool = False
    handed_over: bool = False
    modified: float = 0.0


class FakeHelm:
    """Hooks and objects by release. `calls` are the actions begun, as (action, release)."""

    def __init__(self, kube: FakeKube, clock: FakeClock) -> None:
        self._kube = kube
        self._clock = clock
        self._wake = threading.Condition()
        self._ends: dict[str, str] = {}
        # How Jobs ended, by uid: one that Helm meets has no other end.
        self._ended: dict[str, str] = {}
        self._records: dict[str, list[_Record]] = {}
        self.hooks_of: dict[str, Sequence[Hook]] = {}
        self.objects_of: dict[str, Sequence[Mapping[str, Any]]] = {}
        # The values of charts as Helm records them with a release.
        self.defaults_of: dict[str, Mapping[str, Any]] = {}
        self.fails: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.without_hooks: list[str] = []
        # Of each uninstall, the seconds that it might take.
        self.uninstalls_within: list[int] = []
        # What delays an uninstall, given how many seconds it may.
        self.on_uninstall: Callable[[float], object] = lambda seconds: None

    # -- for tests

    def finish(self, job: str, outcome: str = "Succeeded") -> None:
        """How the Job that some action waits for, or will wait for, ends."""
        with self._wake:
            self._ends[job] = outcome
            self._wake.notify_all()

    def record(self, release: str, version: int, status: str, **labels: str) -> None:
        """Puts a revision there that no one made."""
        self._records.setdefault(release, []).append(
            _Record(version, status, labels, modified=self._clock.now())
        )

    def status(self, release: str) -> str:
        """Of the newest revision, empty where there is none."""
        found = self._records.get(release)
        return found[-1].status if found else ""

    def set_status(self, release: str, status: str) -> None:
        """Another's Helm writes into the newest record."""
        self._records[release][-1].status = status

    def stamp(self, release: str, modified: float) -> None:
        """Another's Helm has written the newest record, by its own clock."""
        self._records[release][-1].modified = modified

    def labels(self, release: str) -> dict[str, str]:
        """Of the newest revision."""
        return dict(self._records[release][-1].labels)

    def hand_over(self, release: str) -> None:
        """Its owner gives it to the bundles here, by an annotation of the newest record."""
        self._records[release][-1].handed_over = True

    def lose_newest(self, release: str) -> None:
        """Someone deletes the newest record by hand."""
        self._records[release].pop()

    def values(self, release: str) -> Mapping[str, Any]:
        return self._records[release][-1].values

    # -- HelmClient

    def new_cancellation(self) -> CancellationToken:
        return CancellationToken()

    def install(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        return self._make("Install", request, cancellation, dict(request.labels))

    def upgrade(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        last = self._records[request.release][-1]
        return self._make("Upgrade", request, cancellation, {**last.labels, **request.labels})

    def rollback(self, request: RollbackRequest, cancellation: Cancellation | None = None) -> None:
        target = self._find(request.release, request.version)
        made = HelmRequest(request.release, request.namespace, "", target.values, timeout=request.timeout)
        self._make("Rollback", made, cancellation, dict(target.labels))

    def uninstall(self, request: UninstallRequest, cancellation: Cancellation | None = None) -> None:
        release, namespace = request.release, request.namespace
        found = self._records.get(release)
        if not found:
            self.calls.append(("Uninstall", release))
            return
        if isinstance(cancellation, CancellationToken) and cancellation.cancelled:
            raise HelmCancelled(f"{release}: cancelled before it began")
        if found[-1].status != "uninstalled":
            self.calls.append(("Uninstall", release))
            self.uninstalls_within.append(request.timeout)
            self.without_hooks += [] if request.hooks else [release]
            found[-1].status = "uninstalling"
            if self._lost_kinds(found[-1]):
                raise failure(f"failed to delete release: {release}")
            if request.hooks:
                self._run_hooks("pre-delete", release, namespace, found[-1], cancellation)
            self.on_uninstall(DEADLINE)
            found[-1].status = "uninstalled"
            try:
                if request.hooks:
                    self._run_hooks("post-delete", release, namespace, found[-1], cancellation)
            finally:
                # As Helm does it: that a hook failed then keeps no record.
                if not request.keep_history:
                    del self._records[release]
        elif not request.keep_history:
            del self._records[release]

    def history(self, release: str, namespace: str) -> tuple[Revision, ...]:
        return self.observe(namespace).get(release, ())

    def hooks(self, release: str, namespace: str) -> tuple[HookRun, ...]:
        found = self._records.get(release)
        phases = found[-1].phases if found else {}
        return tuple(
            HookRun(
                one.name, "Job", tuple(one.events.split(",")), one.weight, phases.get(one.name, "Unknown")
            )
            for one in self._hooks(release)
        )

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        return self._rendered(request.release, request.namespace)

    def _hooks(self, release: str) -> Sequence[Hook]:
        """Of the newest revision."""
        found = self._records.get(release)
        given = bool(found and found[-1].given)
        return found[-1].hooks if found and given else self.hooks_of.get(release, ())

    # -- ReleaseRecords

    def observe(
        self, namespace: str, *, bundle: str = "", releases: Collection[str] = ()
    ) -> Mapping[str, tuple[Revision, ...]]:
        return {
            name: tuple(
                replace(
                    revision(one.version, one.status, one.labels, one.modified),
                    handed_over=one.handed_over,
                )
                for one in found
            )
            for name, found in list(self._records.items())
        }

    def mark_failed(self, release: str, namespace: str, version: int, reason: str) -> bool:
        self._find(release, version).status = "failed"
        return True

    def mark_uninstalling(self, release: str, namespace: str, version: int) -> None:
        record = self._find(release, version)
        failed = {name for name, phase in record.phases.items() if phase == "Failed"}
        hooks = self.hooks_of.get(release, ())
        undone = any("post-delete" in one.events and one.name in failed for one in hooks)
        if record.status != "uninstalled" or undone:
            record.status = "uninstalling"
        record.labels[REMOVAL_LABEL] = str(version)

    def relabel(self, release: str, namespace: str, version: int, labels: Mapping[str, str]) -> None:
        self._find(release, version).labels.update(labels)

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        recorded = self._find(release, version)
        objects = tuple(copied(dict(obj)) for obj in recorded.objects)
        # Of the newest, those that a test has given it since.
        newest = recorded is self._records[release][-1]
        hooks = self._hooks(release) if newest else recorded.hooks
        return RenderedRelease(objects, tuple(one.job(namespace) for one in hooks))

    def given_values(self, release: str, namespace: str, version: int) -> Values:
        return self._find(release, version).values

    def effective_values(self, release: str, namespace: str, version: int) -> Values:
        record = self._find(release, version)
        return coalesced(record.defaults, record.values)

    def required_objects(
        self, release: str, namespace: str, version: int, *, names: Collection[str] | None = None
    ) -> tuple[dict[str, Any], ...]:
        record = self._find(release, version)
        hooks = [one.job(namespace) for one in self.hooks_of.get(release, ())]
        ran = [job for job in hooks if record.phases.get(job["metadata"]["name"]) == "Succeeded"]
        return tuple(
            copied(dict(obj))
            for obj in (*record.objects, *ran)
            if names is None or obj["metadata"]["name"] in names
        )

    def claims(self, release: str, namespace: str) -> tuple[str, ...]:
        return ()

    def removal(self, release: str, namespace: str) -> RemovalState:
        if release not in self._records:
            raise ReleaseMissing(f"there is no release {release}")
        ends = [one for one in self.hooks_of.get(release, ()) if set(one.events.split(",")) & _ENDS]
        return RemovalState(self._records[release][-1].status, runs_hooks=bool(ends))

    def delete_hooks(
        self, release: str, namespace: str, *, of_the_uninstall: bool = False
    ) -> tuple[str, ...]:
        made = self.hook_objects(release, namespace)
        for hook in self.hooks_of.get(release, ()):
            of_this = bool(set(hook.events.split(",")) & _ENDS) == of_the_uninstall
            if of_this and identify_object(hook.job(namespace), namespace) in made:
                self._kube.delete(hook.resource, hook.name, namespace)
        return ()

    def delete_claims(self, release: str, namespace: str) -> tuple[str, ...]:
        self.calls.append(("DeleteClaims", release))
        return ()

    def leave_out(self, release: str, namespace: str, version: int, objects: Collection[ObjectId]) -> None:
        record = self._find(release, version)
        record.objects = [obj for obj in record.objects if identify_object(obj, namespace) not in objects]

    def hook_objects(self, release: str, namespace: str) -> Collection[ObjectId]:
        begun = {name for one in self._records.get(release, ()) for name in one.phases}
        return {
            identify_object(hook.job(namespace), namespace)
            for hook in self.hooks_of.get(release, ())
            if hook.name in begun
        }

    def keep_volumes(self, release: str, namespace: str, version: int, volumes: Collection[VolumeId]) -> None:
        record = self._find(release, version)
        record.objects = [_as_kept(obj, namespace, volumes) for obj in record.objects]

    # -- inside

    def _find(self, release: str, version: int) -> _Record:
        for one in self._records.get(release, []):
            if one.version == version:
                return one
        raise ReleaseMissing(f"release {release} has no revision {version}")

    def _rendered(self, release: str, namespace: str) -> RenderedRelease:
        objects = tuple(copied(dict(obj)) for obj in self.objects_of.get(release, ()))
        return RenderedRelease(objects, tuple(one.job(namespace) for one in self.hooks_of.get(release, ())))

    def _make(
        self,
        action: str,
        request: HelmRequest,
        cancellation: Cancellation | None,
        labels: dict[str, str],
    ) -> Revision:
        self.calls.append((action, request.release))
        self._refuse_foreign(action, request)
        found = self._records.setdefault(request.release, [])
        if lost := [kind for one in found[-1:] for kind in self._lost_kinds(one)]:
            version, kind = lost[0]
            text = (
                "unable to build kubernetes objects from current release manifest: resource mapping not found"
            )
            raise failure(f'{text} for name: no matches for kind "{kind}" in version "{version}"')
        version = found[-1].version + 1 if found else 1
        record = _Record(version, f"pending-{action.lower()}", labels, request.values)
        record.modified = self._clock.now()
        record.objects = self.objects_of.get(request.release, ())
        record.hooks = tuple(self.hooks_of.get(request.release, ()))
        if OBJECTS_KEY in request.values:
            record.objects, record.hooks = _given_objects(request.values)
            record.given = True
        record.defaults = self.defaults_of.get(request.release, {})
        found.append(record)
        for obj in record.objects:
            sent = as_sent(dict(obj), request.release, request.namespace)
            self._kube.apply(sent, manager=HELM_FIELD_MANAGER)
        self._delete_dropped(found[:-1], record, request.namespace)
        try:
            for event in EVENTS[action]:
                self._run_hooks(event, request.release, request.namespace, record, cancellation)
            if request.release in self.fails:
                raise failure(self.fails[request.release])
        except ControllerError:
            record.status = record.status if action == "Rollback" else "failed"
            raise
        for one in found[:-1]:
            one.status = "superseded" if one.status == "deployed" else one.status
        record.status = "deployed"
        del found[: -request.max_history]
        return revision(version, "deployed", labels, self._clock.now())

    def _lost_kinds(self, record: _Record) -> list[tuple[str, str]]:
        """As Helm builds what a revision had, before it writes anything."""
        kinds = [(str(obj["apiVersion"]), str(obj["kind"])) for obj in record.objects]
        return [kind for kind in kinds if kind in self._kube.lost_kinds]

    def _refuse_foreign(self, action: str, request: HelmRequest) -> None:
        """As Helm does it at an install, and at an upgrade for what no revision had."""
        if action == "Rollback":
            return
        space = request.namespace
        known = {
            identify_object(obj, space)
            for one in self._records.get(request.release, ())
            for obj in one.objects
            if action == "Upgrade"
        }
        for obj in self.objects_of.get(request.release, ()):
            object_ = identify_object(obj, space)
            live = self._kube.get(resource_of(obj), object_.name, object_.namespace or None)
            if live is None or object_ in known or is_marked(live["metadata"], request.release, space):
                continue
            text = "exists and cannot be imported into the current release: invalid ownership metadata"
            raise failure(f'Unable to continue with install: {obj["kind"]} "{object_.name}" {text}')

    def _delete_dropped(self, before: Sequence[_Record], record: _Record, namespace: str) -> None:
        """What the revision deployed before had and this one has not goes, unless it says `keep` itself."""
        deployed = [one for one in before if one.status == "deployed"] or list(before)
        names = {(obj["kind"], obj["metadata"]["name"]) for obj in record.objects}
        for obj in deployed[-1].objects if deployed else ():
            kind, name = obj["kind"], obj["metadata"]["name"]
            live = self._kube.get(resource_of(obj), name, namespace)
            if (kind, name) not in names and live is not None and not is_kept(live["metadata"]):
                self._kube.delete(resource_of(obj), name, namespace)

    def _run_hooks(
        self, event: str, release: str, namespace: str, record: _Record, cancellation: Cancellation | None
    ) -> None:
        run = [
            hook
            for hook in sorted(self._hooks(release), key=lambda one: one.weight)
            if event in hook.events.split(",")
        ]
        for hook in run:
            if not hook.policy or "before-hook-creation" in hook.policy:
                self._kube.delete(hook.resource, hook.name, namespace)
            # A server-side apply: what is there is taken for what is to be made.
            job = self._kube.get(hook.resource, hook.name, namespace) or self._kube.create(
                hook.job(namespace)
            )
            record.phases[hook.name] = "Running"
            uid = job["metadata"]["uid"]
            ends_itself = hook.kind in AWAITED
            outcome = self._ended.get(uid) or (
                self._await(hook.name, cancellation) if ends_itself else "Succeeded"
            )
            self._ended[uid] = "Succeeded" if outcome == "Succeeded" else "Failed"
            record.phases[hook.name] = self._ended[uid]
            if outcome == "cancelled":
                cut = cancellation.cut if isinstance(cancellation, CancellationToken) else "cancelled"
                raise HelmCancelled(f"{release}: {cut}: Job {hook.name} failed", cut)
            if outcome == "TimedOut":
                cut = "not done within 1800 s"
                raise HelmCancelled(f"{release}: {cut}: context deadline exceeded", cut)
            if outcome == "Lost":
                raise failure('failed post-install: Get "https://api/apis/batch/v1/jobs?watch=true": EOF')
            self._note_succeeded(hook, namespace, outcome)
            if outcome != "Succeeded":
                self._note_failed(hook, namespace)
                raise HelmFailed(f"failed post-install: Job {hook.name} failed: 1/1")
        for hook in run:
            if "hook-succeeded" in hook.policy:
                self._kube.delete(hook.resource, hook.name, namespace)

    def _note_succeeded(self, hook: Hook, namespace: str, outcome: str) -> None:
        found = self._kube.get(hook.resource, hook.name, namespace)
        if outcome == "Succeeded" and found is not None and hook.resource == JOB:
            status = {**found.get("status", {}), "succeeded": 1}
            self._kube.replace({**found, "status": status}, subresource="status")

    def _note_failed(self, hook: Hook, namespace: str) -> None:
        """As the Job controller notes it, before Helm can tell."""
        found = self._kube.get(hook.resource, hook.name, namespace)
        if found is not None and hook.resource == JOB:
            failed = {"failed": 1, "conditions": [FAILED]}
            self._kube.replace({**found, "status": found.get("status", {}) | failed}, subresource="status")

    def _await(self, job: str, cancellation: Cancellation | None) -> str:
        token = cancellation if isinstance(cancellation, CancellationToken) else CancellationToken()

        def wake() -> None:
            with self._wake:
                self._wake.notify_all()

        token.listen(wake)
        with self._wake:
            done = self._wake.wait_for(lambda: token.cancelled or job in self._ends, DEADLINE)
            assert done, f"no test ever ended Job {job}"
            return "cancelled" if token.cancelled else self._ends.pop(job)


def _given_objects(values: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[Hook]]:
    """What the chart of objects makes of its values, as Helm divides it."""
    objects, hooks = [], []
    for text in values[OBJECTS_KEY]:
        (obj,) = parse_manifests(text)
        meta = obj["metadata"]
        notes = meta.get("annotations") or {}
        if HOOK not in notes:
            objects.append(obj)
        elif obj["kind"] in ("Job", "Pod"):
            template = (obj.get("spec") or {}).get("template") or {}
            policy = notes.get("helm.sh/hook-delete-policy", "")
            weight = int(notes.get("helm.sh/hook-weight", 0))
            hooks.append(Hook(meta["name"], notes[HOOK], weight, policy, obj["kind"], template))
    return objects, hooks


def _as_kept(obj: Mapping[str, Any], namespace: str, volumes: Collection[VolumeId]) -> Mapping[str, Any]:
    if obj["kind"] not in VOLUME_KINDS or identify(obj, namespace) not in volumes:
        return obj
    meta = obj["metadata"]
    return {
        **obj,
        "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), KEEP_ANNOTATION: KEEP}},
    }
