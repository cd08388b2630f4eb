"""What running actions wait for: how far the Jobs and pods of their hooks are, and why one does not get on.

Jobs are known from a watch. What an action waits for is read from Helm's own record, once for each that
turns out to have Jobs, or that lasts; pods are listed for a Job that lasts, and every few seconds at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.keys import BundleKey, ReleaseKey
from controller.domain.health.pods import PodFacts, parse_pod
from controller.domain.health.region_health import ComponentHealth
from controller.domain.releases.hooks import (
    EVENTS,
    JOB_NAME,
    HookJob,
    HookPhase,
    HookRef,
    HookView,
    awaited_hooks,
    entrypoint_of,
    judge_hook,
    parse_hook_job,
    reported_hooks,
    unmet_dependencies,
)
from controller.domain.shared.redaction import Redactor, redact_urls
from controller.domain.shared.times import is_ahead
from controller.errors import Forbidden, ReleaseMissing
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import JOB, POD, Kube
from controller.ports.system import Clock
from controller.reconcile.releases.action_request import RunningAction
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.hooks.hook_pods import HookPod, read_hook_pod
from controller.reconcile.releases.recorded_secrets import RecordedSecrets
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.pod_output import PodOutput
from controller.reconcile.shared.secret_values import SecretValues

# Seconds after which a running Job is checked more closely.
LASTS_AFTER = 3.0
PODS_EVERY = 5.0
PODS_SELDOM = 15.0
# Before an action's time is up, and its Jobs with their pods are gone, once more.
BEFORE_THE_END = 3.0
COMPARED_EVERY = 300.0
REPORT_SECONDS = 1.0
# Clocks of the cluster and ours may differ by so much.
CLOCKS_DIFFER = 60.0


@dataclass(frozen=True)
class ObservedHooks:
    """What an action's hooks are at. `waiting`: one of their Jobs or pods has begun and has not ended.

    `message` says what is waited for and why, redacted; `again_after` in seconds.
    """

    hooks: tuple[HookView, ...] = ()
    waiting: bool = False
    message: str = ""
    again_after: float | None = None


NO_HOOKS = ObservedHooks()


@dataclass(frozen=True)
class HookEnd:
    """The state of a hook in the cluster after its action has ended. `why` it failed, redacted, empty if this
    is unknown. `view`: the present view, None if the hook is gone or if we made it fail."""

    why: str = ""
    view: HookView | None = None


@dataclass
class _Action:
    """What is remembered of one running action. `before`: uids of the Jobs that were there at its start."""

    before: frozenset[str]
    expected: tuple[HookRef, ...] | None = None
    pods: dict[str, HookPod] = field(default_factory=dict)
    pods_read: float | None = None  # monotonic
    error: dict[str, str] = field(default_factory=dict)
    observed: float = 0.0  # monotonic
    output: PodOutput | None = None
    redactor: Redactor | None = None


class HookFollower:
    """Follows the hooks of running actions in one namespace.

    Safe from several threads, each action from one at a time. `store` holds the facts of Jobs that
    `parse_hook_job` gives, of resource JOB.
    """

    def __init__(self, kube: Kube, records: ReleaseRecords, clock: Clock, store: ObjectStore) -> None:
        self._kube = kube
        self._records = records
        self._secrets = RecordedSecrets(kube, records)
        self._clock = clock
        self._store = store
        self._lock = threading.Lock()
        self._actions: dict[ReleaseKey, _Action] = {}

    def begin(self, key: ReleaseKey) -> None:
        """An action on the release is about to start."""
        there = frozenset(job.uid for job in self._jobs())
        with self._lock:
            self._actions[key] = _Action(there)

    def end(self, key: ReleaseKey) -> None:
        """The action is over."""
        with self._lock:
            self._actions.pop(key, None)

    def observe(self, key: ReleaseKey, running: RunningAction) -> ObservedHooks:
        """What the running action is at. Raises KubeError."""
        action = self._action(key)
        if action is None or running.request.action not in EVENTS:
            return NO_HOOKS
        made = {job.name: job for job in self._jobs() if _is_of(job, action, running)}
        if made:
            # Forgets what went while the watch was cut off; what is missing comes by itself.
            self._store.is_complete(not_older_than=COMPARED_EVERY)
        age = running.age(self._clock)
        if action.expected is None and (made or age >= LASTS_AFTER):
            action.expected = self._expected(key, running)
        if action.expected is None:
            # No watch reports pods.
            return ObservedHooks(again_after=LASTS_AFTER - age if age < LASTS_AFTER else PODS_EVERY)
        if not action.expected:
            return NO_HOOKS
        awaits_pods = any(hook.kind == POD.kind for hook in action.expected)
        if awaits_pods:
            self._read_pods(key[0], action, running)
        hooks = tuple(_view(hook, made, action.pods) for hook in action.expected)
        begun = [made[one.name] for one in action.expected if one.kind == JOB.kind and one.name in made]
        open_ = [job for job in begun if _is_open(job)]
        if open_:
            return self._waits_for_job(key, running, action, hooks, open_[0])
        pods = [pod for pod in action.pods.values() if pod.open]
        if pods:
            return self._waits_for_pod(key, running, action, hooks, pods[0])
        return ObservedHooks(hooks, again_after=PODS_EVERY if awaits_pods else None)

    def _read_pods(self, namespace: str, action: _Action, running: RunningAction) -> None:
        """Up to the first that has not ended: hooks run one by one."""
        now = self._clock.monotonic()
        if action.pods_read is not None and now - action.pods_read < PODS_EVERY:
            return
        action.pods_read = now
        for hook in action.expected or ():
            known = action.pods.get(hook.name)
            if hook.kind != POD.kind or (known is not None and not known.open):
                continue
            pod = read_hook_pod(self._kube, namespace, hook.name, not_before=running.started - CLOCKS_DIFFER)
            if pod is not None:
                action.pods[hook.name] = pod
            if pod is None or pod.open:
                return

    def _waits_for_pod(
        self,
        key: ReleaseKey,
        running: RunningAction,
        action: _Action,
        hooks: tuple[HookView, ...],
        pod: HookPod,
    ) -> ObservedHooks:
        message = f"waits for its hook, Pod {pod.view.name}"
        if pod.cause:
            action.redactor = action.redactor or self._wide(key, running)
            cause = _without_passwords(action.redactor)(pod.cause)
            message = f"waits for its hook: Pod {pod.view.name}: {' '.join(cause.split())}"
        return ObservedHooks(hooks, True, message, PODS_EVERY)

    def _waits_for_job(
        self,
        key: ReleaseKey,
        running: RunningAction,
        action: _Action,
        hooks: tuple[HookView, ...],
        first: HookJob,
    ) -> ObservedHooks:
        now = self._clock.now()
        age = running.age(self._clock) if is_ahead(first.created, now) else now - first.created
        message = f"waits for its hook, Job {first.name}"
        if age < LASTS_AFTER:
            return ObservedHooks(hooks, True, message, LASTS_AFTER - age)
        pause = min(max(PODS_EVERY, age / 4), PODS_SELDOM)
        remaining = running.timeout - running.age(self._clock) - BEFORE_THE_END
        stale = self._clock.monotonic() - action.observed >= PODS_EVERY
        # From then on the Job fails because we have it fail, and its pods go.
        being_ended = remaining <= -BEFORE_THE_END or running.cancellation.cancelled
        if (stale or remaining <= 0 or first.name not in action.error) and not being_ended:
            if action.redactor is None:
                action.redactor = self._wide(key, running)
            action.error[first.name] = self._error(key[0], first, action, action.redactor)
            action.observed = self._clock.monotonic()
        again = min(pause, remaining) if remaining > 0 else pause
        error = action.error.get(first.name)
        return ObservedHooks(hooks, True, f"waits for its hook: {error}" if error else message, again)

    def why_failed(self, key: ReleaseKey, job: str, redactor: Redactor, *, cut: bool) -> HookEnd:
        """How a hook's Job is, and why it failed if it did.

        Of an action that was `cut`, the Job was failed by us and its pods are gone: what was last seen
        counts. `redactor` knows what is secret of the release. Raises KubeError.
        """
        action = self._action(key) or _Action(frozenset())
        known = action.error.get(job, "")
        if cut and known:
            return HookEnd(known)
        obj = self._kube.get(JOB, job, key[0])
        hook = parse_hook_job(obj) if obj else None
        if hook is None:
            return HookEnd(known)
        if not cut and hook.phase != HookPhase.FAILED:
            # It has not: Helm has lost sight of it.
            return HookEnd(view=hook.view)
        pods = self._pods(key[0], job)
        if not known or any(pod.cause for pod in pods):
            known = self._report(key[0], hook, pods, action, self._with_generated(key[0], redactor))
        return HookEnd(known, None if cut else hook.view)

    def why_pod_failed(self, key: ReleaseKey, pod: str, redactor: Redactor, *, cut: bool) -> HookEnd:
        """The same of a hook that is a pod by itself."""
        action = self._action(key) or _Action(frozenset())
        known = action.pods.get(pod)
        if not cut or known is None:
            known = read_hook_pod(self._kube, key[0], pod) or known
        if known is None:
            return HookEnd()
        view = None if cut else known.view
        if not known.cause or (view is not None and view.phase != HookPhase.FAILED):
            return HookEnd(view=view)
        redact = _without_passwords(self._with_generated(key[0], redactor))
        return HookEnd(f"Pod {pod}: {' '.join(redact(known.cause).split())}", view)

    def _action(self, key: ReleaseKey) -> _Action | None:
        with self._lock:
            return self._actions.get(key)

    def _jobs(self) -> list[HookJob]:
        """Newest last, so that one that was replaced does not stand for its successor."""
        return sorted(self._store.facts(JOB), key=lambda job: (job.created, job.uid))

    def _expected(self, key: ReleaseKey, running: RunningAction) -> tuple[HookRef, ...] | None:
        namespace, release = key
        try:
            rendered = self._records.manifest(release, namespace, running.request.version)
        except ReleaseMissing:
            # Helm has not written it yet: the Job was another release's.
            return None
        return awaited_hooks(rendered.hooks, running.request.action)

    def _error(self, namespace: str, hook: HookJob, action: _Action, redactor: Redactor) -> str:
        return self._report(namespace, hook, self._pods(namespace, hook.name), action, redactor)

    def _pods(self, namespace: str, job: str) -> list[PodFacts]:
        try:
            found = self._kube.list(POD, namespace, labels=f"{JOB_NAME}={job}")
        except Forbidden:
            # An installation may withhold that right: the Job is reported without its pods.
            return []
        return [pod for one in found if (pod := parse_pod(one)) is not None]

    def _report(
        self, namespace: str, hook: HookJob, pods: list[PodFacts], action: _Action, redactor: Redactor
    ) -> str:
        verdict = judge_hook(hook, pods, self._jobs(), self._clock.now())
        if action.output is None:
            action.output = PodOutput(self._kube, self._clock, namespace)
        verdict = action.output.added({hook.name: ComponentHealth(verdict, 0)})[hook.name].verdict
        waiting = entrypoint_of(pods)
        unmet = ""
        if waiting is not None:
            pod, container = waiting
            unmet = unmet_dependencies(self._kube.pod_log(pod, namespace, container=container, tail_lines=50))
        return reported_hooks(hook.name, verdict, _without_passwords(redactor), unmet)

    def _wide(self, key: ReleaseKey, running: RunningAction) -> Redactor:
        """What knows the secrets that a pod of the action's hooks may say."""
        return self._with_generated(key[0], self._secrets.redactor(running.request))

    def _with_generated(self, namespace: str, redactor: Redactor) -> Redactor:
        # A pod may say more than the values of its release: whatever was generated is kept out too.
        return redactor.including(SecretValues(self._kube, namespace).generated())


class HookEventFilter:
    """What the watch of Jobs tells: fills the store, and has the bundles of running actions looked at.

    `reconcile_after(bundle, seconds)` does the latter. However many Jobs move on, a bundle is reconciled
    for it once a second at most: progress is for people.
    """

    def __init__(
        self, store: ObjectStore, slots: ActionSlots, reconcile_after: Callable[[BundleKey, float], None]
    ) -> None:
        self._store = store
        self._slots = slots
        self._reconcile_after = reconcile_after

    def seen(self, event: str | None, obj: Mapping[str, Any]) -> None:
        """One event of the watch."""
        if self._store.feed(JOB, event, obj):
            for bundle in self._slots.bundles():
                self._reconcile_after(bundle, REPORT_SECONDS)


def _without_passwords(redactor: Redactor) -> Callable[[str], str]:
    return lambda text: redact_urls(redactor.redact(text))


def _is_of(job: HookJob, action: _Action, running: RunningAction) -> bool:
    """Whether the Job was made since the action began: one of an earlier action is replaced by Helm."""
    return job.uid not in action.before and job.created >= running.started - CLOCKS_DIFFER


def _view(hook: HookRef, jobs: Mapping[str, HookJob], pods: Mapping[str, HookPod]) -> HookView:
    found = (pods if hook.kind == POD.kind else jobs).get(hook.name)
    return found.view if found is not None else HookView(hook.name, HookPhase.PENDING)


def _is_open(job: HookJob) -> bool:
    return job.phase in (HookPhase.PENDING, HookPhase.RUNNING)
