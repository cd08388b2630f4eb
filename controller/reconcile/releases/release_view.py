"""How one release looks in the status after a pass: its state and its view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.domain.api.reasons import known_reason
from controller.domain.releases.actions import NextAction
from controller.domain.releases.bundle_status import ReleaseView
from controller.domain.releases.hooks import HookView
from controller.domain.releases.reported_state import ReportedState
from controller.reconcile.releases.observe_bundle import ObservedBundle, PassResults
from controller.reconcile.releases.observe_release import ObservedRelease


def release_view(
    observed: ObservedBundle,
    results: PassResults,
    release: ObservedRelease,
    decision: NextAction,
    state: ReportedState,
    *,
    hooks: Sequence[HookView],
) -> ReleaseView:
    """The release as its bundle's status shows it from now on. `hooks` are those of a running action."""
    last = release.revisions[-1] if release.revisions else None
    message = decision.message
    error = release.attempt.error if release.attempt else ""
    if error and state == ReportedState.FAILED:
        message = f"{error} ({message})" if message else error
    return ReleaseView(
        name=release.name,
        namespace=observed.bundle.namespace,
        state=state,
        reason=decision.reason,
        message=message,
        revision=last.version if last else 0,
        chart_version=last.chart_version if last else "",
        digest=last.digest if last else "",
        last_attempt=release.attempt,
        hooks=[hook.entry() for hook in hooks] or release.hook_entries,
        drift=results.drifts[release.name].entries() if release.name in results.drifts else (),
        kept=results.kept.get(release.name, ()),
    )


def as_before(observed: ObservedBundle, view: ReleaseView) -> tuple[ReleaseView, ...]:
    """The view of a release that is put off: its state, reason, message and drift as the status has them.

    What is known besides, such as how its last action ended, is as in `view`. Nothing when the status does
    not have the release yet: whoever takes it up says what becomes of it.
    """
    known = (observed.obj.get("status") or {}).get("releases") or []
    entry = next((one for one in known if one.get("name") == view.name), None)
    if entry is None:
        return ()
    return (
        replace(
            view,
            state=ReportedState(entry["state"]),
            reason=known_reason(str(entry.get("reason")), view.reason),
            message=str(entry.get("message") or ""),
            drift=tuple(entry.get("drift") or ()),
        ),
    )
