"""What one pass finds of one release: its spec with secrets resolved, its history, its last attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.releases.actions import Action, NextAction
from controller.domain.releases.attempt import Attempt, parse_attempt
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.digests import spec_digest, values_digest
from controller.domain.releases.reported_state import ReportedState, resting_state
from controller.domain.releases.requests import marks_in
from controller.domain.releases.situation import Recorded, RevisionRecord
from controller.domain.shared import backoff
from controller.domain.values.option_files import OptionFiles
from controller.domain.values.secret_refs import ResolvedValues, resolve
from controller.errors import ChartInvalid, SecretMissing, SpecInvalid
from controller.ports.charts import ChartSource
from controller.ports.helm import Revision
from controller.reconcile.releases.action_request import ActionOutcome
from controller.reconcile.shared.chart_errors import RETRY_SECONDS, chart_reason, retry_after
from controller.reconcile.shared.secret_values import SecretValues

# A label's value has at most 63 characters; 160 bits are plenty to tell two sets of values apart.
DIGEST_LENGTH = 40


@dataclass(frozen=True)
class ResolvedRelease:
    """A release's spec with everything an action needs; `obstacle` says why it cannot be served yet.

    `digest` is empty as long as that is not known; `spec_digest` is that of what is asked for, where the
    chart comes from a repository on the network.
    """

    spec: ReleaseSpec
    digest: str = ""
    spec_digest: str = ""
    resolved: ResolvedValues | None = None
    obstacle: NextAction | None = None


@dataclass(frozen=True)
class ObservedRelease:
    """One release as a pass finds it: `spec` None when the bundle does not name it, `desired` None when
    it must go. `hook_entries` are the hooks of an attempt that failed."""

    name: str
    spec: ReleaseSpec | None
    desired: ResolvedRelease | None
    revisions: tuple[Revision, ...]
    attempt: Attempt | None
    hook_entries: tuple[Mapping[str, Any], ...] = ()

    @property
    def last_status(self) -> str:
        """Helm's word for its newest revision, empty for none."""
        return self.revisions[-1].status if self.revisions else ""

    @property
    def is_as_desired(self) -> bool:
        """Whether its newest revision was made by us for what is desired now."""
        last = self.revisions[-1] if self.revisions else None
        return bool(last and self.desired and last.digest == self.desired.digest and last.ours)

    def resting_state(self, decision: NextAction) -> ReportedState:
        """Its word in the status while no action on it is under way."""
        return resting_state(decision, self.last_status, as_desired=self.is_as_desired)


def observe_release(
    name: str,
    spec: ReleaseSpec | None,
    *,
    desired: ResolvedRelease | None,
    revisions: tuple[Revision, ...],
    outcome: ActionOutcome | None,
    bundle: Mapping[str, Any],
) -> ObservedRelease:
    """Puts together what is known. The outcome of this process wins over what the status remembers."""
    entry = _status_entry(bundle, name)
    attempt = outcome.attempt if outcome else parse_attempt(entry)
    hooks = [hook.entry() for hook in outcome.hooks] if outcome else entry.get("hooks") or []
    return ObservedRelease(
        name=name,
        spec=spec,
        desired=desired,
        revisions=revisions,
        attempt=attempt,
        hook_entries=tuple(hooks) if attempt and attempt.error else (),
    )


def resolve_release(
    spec: ReleaseSpec,
    secrets: SecretValues,
    charts: ChartSource,
    digest_key: Callable[[], bytes],
    files: OptionFiles,
) -> ResolvedRelease:
    """The release with its secrets resolved and its digest, or what stands in the way."""
    try:
        upstream = bool(spec.chart.repository)
        theirs = files.with_chart(spec.chart.name)
        resolved = resolve(spec.values, secrets.lookup, theirs, release=spec.name, upstream=upstream)
    except SecretMissing as error:
        return ResolvedRelease(spec, obstacle=_obstacle(Reason.SECRET_MISSING, error))
    except SpecInvalid as error:
        return ResolvedRelease(spec, obstacle=_obstacle(Reason.SPEC_INVALID, error))
    key = digest_key()
    asked = _spec_digest(spec, resolved, key)
    try:
        chart = charts.digest(spec.chart)
    except SecretMissing as error:
        obstacle = _obstacle(Reason.SECRET_MISSING, error)
    except ChartInvalid as error:
        obstacle = _obstacle(chart_reason(error), error, retry_after(error))
    else:
        digest = values_digest(chart, spec.chart.version, resolved.values, key)
        return ResolvedRelease(spec, digest[:DIGEST_LENGTH], asked, resolved)
    return ResolvedRelease(spec, spec_digest=asked, resolved=resolved, obstacle=obstacle)


def _spec_digest(spec: ReleaseSpec, resolved: ResolvedValues, key: bytes) -> str:
    """Empty for a chart in a directory, which may be another one tomorrow under the same name."""
    if not spec.chart.repository or spec.chart.repository.startswith("file:"):
        return ""
    return spec_digest(spec.chart, resolved.values, key)[:DIGEST_LENGTH]


def as_recorded(desired: ResolvedRelease, revisions: tuple[Revision, ...]) -> ResolvedRelease:
    """If the chart is not available, the digest of the last revision counts, if that revision was made for
    this spec: a version of a chart does not change in its repository."""
    last = revisions[-1] if revisions else None
    known = last is not None and last.ours and last.spec_digest == desired.spec_digest
    if desired.digest or not desired.spec_digest or last is None or not known:
        return desired
    return replace(desired, digest=last.desired_at_rollback or last.digest)


def is_deployed(revisions: tuple[Revision, ...]) -> bool:
    return any(revision.status == "deployed" for revision in revisions)


def recorded(revisions: tuple[Revision, ...]) -> Recorded | None:
    if not revisions:
        return None
    last, *earlier = reversed(revisions)
    return Recorded(
        **{one.name: getattr(last, one.name) for one in fields(RevisionRecord)},
        usable=frozenset(
            one.version for one in revisions if one.status in ("deployed", "superseded") and not one.jobs_for
        ),
        copied_from=_copied_from(last, earlier),
        forced=marks_in(one.forced for one in revisions),
        asked=marks_in(one.asked for one in revisions),
    )


def _copied_from(last: Revision, earlier: Sequence[Revision]) -> frozenset[int]:
    """Revisions that the newest may be a rollback to. The one that it names may have left the history."""
    if last.ours or not last.origin:
        return frozenset()
    return frozenset({last.origin, *(one.version for one in earlier if one.origin == last.origin)})


def steady_jitter(release: str, attempt: Attempt | None) -> float:
    """A number in [0, 1) that differs between releases and failures, not between passes."""
    return backoff.steady_jitter(f"{release} {attempt.finished if attempt else 0}")


def _obstacle(reason: Reason, error: Exception, again_after: float = RETRY_SECONDS) -> NextAction:
    return NextAction(Action.WAIT, reason, str(error), again_after=again_after)


def _status_entry(obj: Mapping[str, Any], release: str) -> Mapping[str, Any]:
    known = (obj.get("status") or {}).get("releases") or []
    return next((entry for entry in known if entry.get("name") == release), {})
