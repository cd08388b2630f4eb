"""Why a Helm action failed, in the words that a person needs: the Job, its pod, what it said last.

Helm itself says that a hook failed, or that time is up; what the hook suffered from is known of its pods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.names import SKIP_HOOKS_RELEASE_PREFIX
from controller.domain.api.shortened_text import shorten
from controller.domain.releases.actions import MAKING, Action
from controller.domain.releases.hooks import AWAITED, EVENTS, HookPhase, HookView
from controller.domain.shared.redaction import Redactor
from controller.errors import (
    ApiUnavailable,
    ControllerError,
    FieldsFixed,
    HelmCancelled,
    HelmFailed,
    KindMissing,
    KubeError,
    ObjectsTaken,
    ReleaseMissing,
    RightMissing,
)
from controller.ports.helm import HookRun
from controller.ports.kubernetes import JOB, POD
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.helm_request import newest_revision
from controller.reconcile.releases.hooks.progress import HookEnd, HookFollower
from controller.reconcile.releases.parts import ReleasePorts
from controller.reconcile.releases.recorded_secrets import RecordedSecrets

# A status is for people and shares 1.5 MB with 500 releases.
ERROR_LIMIT = 1000

_STILL_SERVING = (
    "; the old pods keep serving, and none is replaced until this Job has succeeded: correct the "
    "cause in its message, or its image"
)

_PHASES = {
    "Succeeded": HookPhase.SUCCEEDED,
    "Failed": HookPhase.FAILED,
    # After an action has ended, nothing runs, except for hooks that Helm lost contact with.
    "Running": HookPhase.FAILED,
}


@dataclass(frozen=True)
class ActionError:
    """Why an action failed, and how far its hooks were. `interrupted`: the way to the API server, or that
    one itself, is to blame, and not the release. `lacks_right`: the controller may not do what it takes.
    `taken`: objects of its names belong to others. `lasting`: no other try ends better until a person
    changes the spec, what is there, or what the cluster defines."""

    text: str
    hooks: tuple[HookView, ...] = ()
    interrupted: bool = False
    lacks_right: bool = False
    taken: bool = False
    lasting: bool = False


class ActionErrors:
    """Asks Helm for the hook that failed, and the cluster for what that one suffered from."""

    def __init__(self, ports: ReleasePorts, hooks: HookFollower, own: ReleaseKey | None) -> None:
        """`own`: the release that the controller itself was installed as, None where that is not known."""
        self._own = own
        self._helm = ports.helm
        self._records = ports.records
        self._hooks = hooks
        self._secrets = RecordedSecrets(ports.kube, ports.records)

    def explain(self, request: ActionRequest, failure: ControllerError, *, superseded: bool) -> ActionError:
        """Why it failed, redacted and no longer than a status can hold."""
        if superseded:
            return ActionError("ended early, because its spec is no longer desired")
        lost = isinstance(failure, ApiUnavailable) or (
            isinstance(failure, HelmFailed) and failure.interrupted
        )
        try:
            redactor = self._secrets.redactor(request)
        except KubeError as error:
            text = (
                f"{request.action} failed; the cause is not shown, because its secrets cannot be read: "
                f"{error}"
            )
            return ActionError(text, interrupted=lost)
        cause = ActionError(str(failure), interrupted=lost, taken=isinstance(failure, ObjectsTaken))
        unreadable = self._unreadable(request) if isinstance(failure, ReleaseMissing) else ""
        if unreadable:
            cause = ActionError(
                f"Helm cannot read its record; delete the Secret {unreadable}, so that Helm uses the "
                "remaining ones"
            )
        elif isinstance(failure, RightMissing):
            cause = ActionError(f"{failure}; {_way_to_grant(request.namespace, self._own)}", lacks_right=True)
        elif isinstance(failure, HelmFailed):
            cause = self._of_hook(request.key, str(request.action), failure, redactor)
        text = shorten(" ".join(redactor.redact(cause.text).split()), ERROR_LIMIT)
        if request.action == Action.UPGRADE and cause.hooks and self._is_half(request):
            text = shorten(text, ERROR_LIMIT - len(_STILL_SERVING)) + _STILL_SERVING
        of_hooks = bool(cause.hooks) or cause.taken or isinstance(failure, FieldsFixed)
        if of_hooks and request.action == Action.UNINSTALL and not cause.interrupted:
            way_out = (
                f"kubectl annotate hb {request.bundle} {SKIP_HOOKS_RELEASE_PREFIX}/{request.release}=true"
            )
            text = f"{text}; to remove it without its hooks: {way_out}"
        return replace(cause, text=text, lasting=isinstance(failure, FieldsFixed | KindMissing))

    def _is_half(self, request: ActionRequest) -> bool:
        """Whether it was the first half of an upgrade, which leaves all pods as they are."""
        try:
            newest = newest_revision(self._records, request)
        except ControllerError:
            return False
        return newest is not None and bool(newest.jobs_for)

    def _unreadable(self, request: ActionRequest) -> str:
        """The record of a revision that Helm does not find although it is there."""
        try:
            newest = newest_revision(self._records, request)
        except ControllerError:
            return ""
        # Any other one is what counts since a person has deleted that of the request.
        its = request.version - 1 if request.action in MAKING else request.version
        if newest is None or newest.version not in (its, request.version):
            return ""
        return f"sh.helm.release.v1.{request.release}.v{newest.version}"

    def _of_hook(self, key: ReleaseKey, action: str, failure: HelmFailed, redactor: Redactor) -> ActionError:
        """The cause of an action's failure; Helm's own words where no hook is to blame."""
        cut = failure.cut if isinstance(failure, HelmCancelled) else ""
        namespace, release = key
        events = set(EVENTS.get(action, ()))
        unexplained = ActionError(str(failure), interrupted=failure.interrupted)
        if not events:
            return unexplained
        try:
            every = self._helm.hooks(release, namespace)
        except ControllerError:
            return unexplained
        runs = [run for run in every if set(run.events) & events]
        views = tuple(HookView(run.name, _phase(run)) for run in runs if run.kind in AWAITED)
        culprit = next((run for run in runs if _phase(run) == HookPhase.FAILED), None)
        if culprit is None:
            return replace(unexplained, hooks=views)
        end, unread = HookEnd(), ""
        asked = {JOB.kind: self._hooks.why_failed, POD.kind: self._hooks.why_pod_failed}.get(culprit.kind)
        if asked is not None:
            try:
                end = asked(key, culprit.name, redactor, cut=bool(cut))
            except ControllerError as error:
                unread = f"{culprit.kind} {culprit.name} (its state cannot be read: {error})"
        why = end.why or unread
        now = end.view
        if now is None and unread and failure.interrupted:
            now = HookView(culprit.name, HookPhase.RUNNING)
        if now is not None:
            views = tuple(now if view.name == culprit.name else view for view in views)
        # By Helm's record it failed; but Helm takes a hook for failed that it cannot see any more.
        seen_to_fail = end.view is not None and end.view.phase == HookPhase.FAILED
        if failure.interrupted and not seen_to_fail:
            of_hook = f"; its hook: {why}" if why else f" (hook {culprit.kind} {culprit.name})"
            return ActionError(f"{failure}{of_hook}", views, interrupted=True)
        if not why:
            return ActionError(f"{failure} (hook {culprit.kind} {culprit.name})", views)
        beginning = f"{cut}: its hook" if cut else "a hook failed"
        return ActionError(f"{beginning}: {why}", views)


def _way_to_grant(namespace: str, own: ReleaseKey | None) -> str:
    """The command; from which chart the controller was installed is not known here."""
    rights = f"kubectl -n {namespace} get osdpl -o yaml | osctl rbac -"
    there, release = own or ("NAMESPACE", "RELEASE")
    upgrade = f"helm -n {there} upgrade {release} CHART --reuse-values -f -"
    return f"to grant what the region needs: {rights} | {upgrade}"


def _phase(run: HookRun) -> HookPhase:
    return _PHASES.get(run.phase, HookPhase.PENDING)
