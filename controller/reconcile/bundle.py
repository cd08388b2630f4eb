"""Brings the releases of one HelmBundle to what its spec says, one step at a look."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.bundle import ReleaseSpec
from controller.domain.bundle_object import Bundle, parse_bundle
from controller.domain.bundle_status import ReleaseState, ReleaseView, attempt_entry, bundle_conditions
from controller.domain.conditions import Condition, entries
from controller.domain.digests import values_digest
from controller.domain.names import API_VERSION, FORCE_ANNOTATION, field_manager, finalizer
from controller.domain.reasons import Reason
from controller.domain.redaction import Redactor
from controller.domain.release_state import Action, Attempt, Decision, Recorded, Situation, decide
from controller.domain.secret_refs import ResolvedValues, resolve
from controller.errors import ChartInvalid, SecretMissing, SpecInvalid
from controller.ports import (
    HELMBUNDLE,
    ChartSource,
    Clock,
    Events,
    HelmClient,
    Kube,
    ReleaseRecords,
    Revision,
)
from controller.reconcile.action_slots import ActionSlots, Outcome, Running
from controller.reconcile.attempts import last_attempt
from controller.reconcile.release_actions import Job, ReleaseActions
from controller.reconcile.secret_values import SecretValues

log = logging.getLogger(__name__)

MANAGER = field_manager("helmbundle")
FINALIZER = finalizer("helmbundle")
# A Secret or a chart that is missing is looked for again after this many seconds: nothing tells us
# when it comes.
LOOK_AGAIN = 3.0
# A label's value has at most 63 characters; 160 bits are plenty to tell two sets of values apart.
DIGEST_LENGTH = 40

BundleKey = tuple[str, str]  # namespace, name
Histories = Mapping[str, tuple[Revision, ...]]

_BEGUN = {
    Action.INSTALL: (ReleaseState.INSTALLING, Reason.INSTALLING),
    Action.UPGRADE: (ReleaseState.UPGRADING, Reason.UPGRADING),
    Action.UNLOCK: (ReleaseState.UPGRADING, Reason.UNLOCKING),
    Action.UNINSTALL: (ReleaseState.UNINSTALLING, Reason.UNINSTALLING),
}


@dataclass(frozen=True)
class _Wanted:
    """A release's spec with everything an action needs; `obstacle` says why it cannot be served yet."""

    spec: ReleaseSpec
    digest: str = ""
    resolved: ResolvedValues | None = None
    obstacle: Decision | None = None


@dataclass(frozen=True)
class _Release:
    """One release as a look finds it: `spec` None when the bundle does not name it, `wanted` None when
    it must go. `attempt_entry` is `lastAttempt` as it stands in the status."""

    name: str
    spec: ReleaseSpec | None
    wanted: _Wanted | None
    revisions: tuple[Revision, ...]
    attempt: Attempt | None
    attempt_entry: Mapping[str, Any]


@dataclass
class _Pass:
    """What one look at one bundle has read."""

    bundle: Bundle
    obj: Mapping[str, Any]
    histories: Histories
    secrets: SecretValues
    views: list[ReleaseView] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    left: bool = False  # something of the bundle is still installed or being worked on

    @property
    def force(self) -> str:
        """The operator's request for an upgrade now, empty when there is none."""
        return str((self.obj["metadata"].get("annotations") or {}).get(FORCE_ANNOTATION) or "")


class BundleReconciler:
    """Level-triggered: every look reads the bundle, Helm's records and the Secrets it refers to.

    `requeue(key)` has another bundle looked at: an ended action may be what others wait for.
    `digest_key` gives the installation's key for published digests.
    """

    def __init__(
        self,
        *,
        kube: Kube,
        helm: HelmClient,
        records: ReleaseRecords,
        charts: ChartSource,
        clock: Clock,
        events: Events,
        slots: ActionSlots,
        digest_key: Callable[[], bytes],
        requeue: Callable[[BundleKey], None],
        resync: float,
    ) -> None:
        self._kube = kube
        self._helm = helm
        self._records = records
        self._charts = charts
        self._clock = clock
        self._events = events
        self._slots = slots
        self._digest_key = digest_key
        self._requeue = requeue
        self._resync = resync
        self._actions = ReleaseActions(kube=kube, helm=helm, records=records, charts=charts, clock=clock)
        self._known: set[BundleKey] = set()

    def reconcile(self, key: BundleKey) -> float | None:
        """One look; the seconds until the next that nothing will announce, None when the bundle is gone."""
        namespace, name = key
        obj = self._kube.get(HELMBUNDLE, name, namespace)
        if obj is None:
            self._known.discard(key)
            return None
        self._known.add(key)
        generation = int(obj["metadata"].get("generation") or 0)
        try:
            bundle = parse_bundle(obj)
        except SpecInvalid as error:
            self._write_invalid(obj, error, generation)
            return self._resync
        if not bundle.deleting and FINALIZER not in (obj["metadata"].get("finalizers") or []):
            self._set_finalizers(obj, [FINALIZER])
        look = _Pass(bundle, obj, self._records.observe(namespace), SecretValues(self._kube, namespace))
        for release in self._names(look):
            self._look_at(look, release)
        if bundle.deleting and not look.left:
            self._set_finalizers(obj, [])
            self._known.discard(key)
            return None
        self._write_status(look)
        return min([*look.again, self._resync])

    def _names(self, look: _Pass) -> list[str]:
        """Wanted releases in the spec's order, then installed ones of ours that it no longer names."""
        wanted = [release.name for release in look.bundle.spec.releases]
        mine = look.bundle.name
        rest = [
            name for name, revisions in look.histories.items() if revisions and revisions[-1].bundle == mine
        ]
        return wanted + sorted(set(rest) - set(wanted))

    def _look_at(self, look: _Pass, name: str) -> None:
        """Decides on one release, acts, and adds its view."""
        release = self._read(look, name)
        key = (look.bundle.namespace, name)
        running = self._slots.running(key)
        if running is not None:
            _supersede(running, release.wanted)
            state, reason = _BEGUN[Action(running.action)]
            decision = Decision(Action(running.action), reason)
        else:
            decision = self._decide(look, release)
            state = self._act(look, release, decision)
        if decision.reason == Reason.GONE:
            self._slots.forget(key)
            return
        look.left = look.left or bool(release.revisions) or running is not None
        if decision.again_after is not None:
            look.again.append(decision.again_after)
        look.views.append(_view(look, release, decision, state))

    def _read(self, look: _Pass, name: str) -> _Release:
        spec = next((item for item in look.bundle.spec.releases if item.name == name), None)
        outcome = self._slots.outcome((look.bundle.namespace, name))
        entry = _status_entry(look.obj, name)
        return _Release(
            name=name,
            spec=spec,
            wanted=self._want(look, spec) if spec is not None and not look.bundle.deleting else None,
            revisions=look.histories.get(name, ()),
            attempt=outcome.attempt if outcome else last_attempt(entry),
            attempt_entry=_attempt_of(outcome) if outcome else entry.get("lastAttempt") or {},
        )

    def _want(self, look: _Pass, spec: ReleaseSpec) -> _Wanted:
        """The release with its secrets resolved and its digest, or what stands in the way."""
        try:
            resolved = resolve(spec.values, look.secrets.lookup, release=spec.name)
            chart = self._charts.digest(spec.chart)
        except SecretMissing as error:
            return _Wanted(spec, obstacle=_obstacle(Reason.SECRET_MISSING, error))
        except ChartInvalid as error:
            return _Wanted(spec, obstacle=_obstacle(Reason.CHART_NOT_FOUND, error))
        except SpecInvalid as error:
            return _Wanted(spec, obstacle=_obstacle(Reason.SPEC_INVALID, error))
        digest = values_digest(chart, spec.chart.version, resolved.values, self._digest_key())
        return _Wanted(spec, digest[:DIGEST_LENGTH], resolved)

    def _decide(self, look: _Pass, release: _Release) -> Decision:
        bundle, wanted, spec = look.bundle, release.wanted, release.spec
        if bundle.spec.mode != "Apply" and not bundle.deleting:
            return Decision(Action.NOTHING, Reason.SUSPENDED, f"the bundle's mode is {bundle.spec.mode}")
        obstacle = None
        if wanted is not None:
            obstacle = self._taken(look, release.revisions) or wanted.obstacle
        if obstacle is not None:
            return obstacle
        unmet: tuple[str, ...] = ()
        if spec is not None and wanted is not None:
            unmet = tuple(name for name in spec.depends_on if not _deployed(look.histories.get(name, ())))
        dependents: tuple[str, ...] = ()
        if wanted is None and release.revisions:
            dependents = self._dependents(look, release.name)
        return decide(
            Situation(
                wanted=wanted.digest if wanted else None,
                recorded=_recorded(release.revisions),
                attempt=release.attempt,
                now=self._clock.now(),
                jitter=_steady_jitter(release.name, release.attempt),
                suspended=bool(spec and spec.suspend and wanted),
                unmet=unmet,
                dependents=dependents,
                force=look.force,
                foreign_grace=float(spec.timeout) if spec else 1800.0,
            )
        )

    def _taken(self, look: _Pass, revisions: tuple[Revision, ...]) -> Decision | None:
        """A release of that name which another living bundle asks for is not ours to touch."""
        owner = revisions[-1].bundle if revisions else ""
        if owner in ("", look.bundle.name):
            return None
        other = self._kube.get(HELMBUNDLE, owner, look.bundle.namespace)
        if other is None:
            return None
        text = f'the release belongs to HelmBundle "{owner}"; rename it here or remove it there'
        return Decision(Action.WAIT, Reason.RELEASE_NAME_TAKEN, text, again_after=30.0)

    def _dependents(self, look: _Pass, release: str) -> tuple[str, ...]:
        """Installed releases of the namespace, of any bundle, whose spec depends on this one."""
        found = []
        for obj in self._kube.list(HELMBUNDLE, look.bundle.namespace):
            for other in (obj.get("spec") or {}).get("releases") or []:
                name = str(other.get("name"))
                if release in (other.get("dependsOn") or []) and look.histories.get(name):
                    found.append(name)
        return tuple(sorted(set(found)))

    def _act(self, look: _Pass, release: _Release, decision: Decision) -> ReleaseState:
        """Starts what was decided; the state the release is in from now on."""
        if decision.action not in _BEGUN:
            return _resting_state(decision, release.revisions)
        job = _job(look, release, decision)
        cancellation = self._helm.new_cancellation()
        started = self._slots.start(
            (job.namespace, job.release),
            Running(str(job.action), job.digest, self._clock.now(), cancellation),
            lambda: self._actions.perform(job, cancellation),
            crashed=lambda error: _crash(job, error, self._clock.now()),
            finished=lambda: self._ended(look, job),
        )
        if not started:
            # All slots are taken; whoever frees one has every bundle of the namespace looked at.
            return _resting_state(Decision(Action.WAIT, decision.reason), release.revisions)
        if decision.action == Action.UNLOCK:
            self._events.emit(look.obj, type_="Warning", reason=Reason.UNLOCKED, message=decision.message)
        return _BEGUN[decision.action][0]

    def _ended(self, look: _Pass, job: Job) -> None:
        outcome = self._slots.outcome((job.namespace, job.release))
        if outcome and job.action != Action.UNLOCK:
            word = f"{job.action}{'Failed' if outcome.error else 'Succeeded'}"
            ending = f"failed: {outcome.error}" if outcome.error else "succeeded"
            text = f"{job.action} of release {job.release} {ending}"
            kind = "Warning" if outcome.error else "Normal"
            self._events.emit(look.obj, type_=kind, reason=Reason(word), message=text)
        for key in list(self._known):
            if key[0] == job.namespace:
                self._requeue(key)

    def _set_finalizers(self, obj: Mapping[str, Any], wanted: list[str]) -> None:
        meta = {"name": obj["metadata"]["name"], "namespace": obj["metadata"]["namespace"]}
        body = {
            "apiVersion": API_VERSION,
            "kind": HELMBUNDLE.kind,
            "metadata": {**meta, "finalizers": wanted},
        }
        self._kube.apply(body, manager=MANAGER)

    def _write_invalid(self, obj: Mapping[str, Any], error: SpecInvalid, generation: int) -> None:
        """Reports what is wrong; the releases keep the entries they have, as nothing touches them."""
        text = str(error)
        wanted = [
            Condition("Ready", "False", Reason.SPEC_INVALID, text, generation),
            Condition("Stalled", "True", Reason.SPEC_INVALID, "edit the spec as Ready says", generation),
        ]
        self._apply_status(obj, wanted, list((obj.get("status") or {}).get("releases") or []), generation)

    def _write_status(self, look: _Pass) -> None:
        bundle = look.bundle
        conditions = bundle_conditions(look.views, bundle.generation, deleting=bundle.deleting)
        self._apply_status(look.obj, conditions, [view.entry() for view in look.views], bundle.generation)

    def _apply_status(
        self,
        obj: Mapping[str, Any],
        conditions: list[Condition],
        releases: list[dict[str, Any]],
        generation: int,
    ) -> None:
        before = obj.get("status") or {}
        status = {
            "observedGeneration": generation,
            "conditions": entries(conditions, before.get("conditions") or [], self._clock.now()),
            "releases": releases,
        }
        if {key: before.get(key) for key in status} == status:
            return
        meta = {"name": obj["metadata"]["name"], "namespace": obj["metadata"]["namespace"]}
        body = {"apiVersion": API_VERSION, "kind": HELMBUNDLE.kind, "metadata": meta, "status": status}
        self._kube.apply(body, manager=MANAGER, subresource="status")


def _supersede(running: Running, wanted: _Wanted | None) -> None:
    """Ends an action that serves a spec which is no longer there."""
    if running.action not in (Action.INSTALL, Action.UPGRADE) or running.cancellation.cancelled:
        return
    if wanted is None or (wanted.digest and wanted.digest != running.digest):
        running.cancellation.cancel()


def _job(look: _Pass, release: _Release, decision: Decision) -> Job:
    wanted, attempt = release.wanted, release.attempt
    current = release.revisions[-1].version if release.revisions else 0
    making = decision.action in (Action.INSTALL, Action.UPGRADE)
    digest = wanted.digest if wanted and making else ""
    return Job(
        action=decision.action,
        bundle=look.bundle.name,
        release=release.name,
        namespace=look.bundle.namespace,
        version=current + 1 if making else current,
        digest=digest,
        spec=release.spec,
        values=wanted.resolved.values if wanted and wanted.resolved else None,
        redactor=Redactor(wanted.resolved.secrets if wanted and wanted.resolved else ()),
        failures=attempt.failures if attempt and attempt.digest == digest else 0,
        force=look.force,
        volumes=look.bundle.spec.volumes,
    )


def _obstacle(reason: Reason, error: Exception) -> Decision:
    return Decision(Action.WAIT, reason, str(error), again_after=LOOK_AGAIN)


def _deployed(revisions: tuple[Revision, ...]) -> bool:
    return any(revision.status == "deployed" for revision in revisions)


def _recorded(revisions: tuple[Revision, ...]) -> Recorded | None:
    if not revisions:
        return None
    last = revisions[-1]
    return Recorded(last.version, last.status, last.digest, last.ours, last.modified, _deployed(revisions))


def _steady_jitter(release: str, attempt: Attempt | None) -> float:
    """A number in [0, 1) that differs between releases and failures, not between looks."""
    seed = f"{release} {attempt.finished if attempt else 0}".encode()
    return int.from_bytes(hashlib.sha256(seed).digest()[:4], "big") / 2**32


def _status_entry(obj: Mapping[str, Any], release: str) -> Mapping[str, Any]:
    known = (obj.get("status") or {}).get("releases") or []
    return next((entry for entry in known if entry.get("name") == release), {})


def _resting_state(decision: Decision, revisions: tuple[Revision, ...]) -> ReleaseState:
    """The state of a release that nothing is being done to."""
    if decision.reason == Reason.SUSPENDED:
        return ReleaseState.SUSPENDED
    if decision.action == Action.NOTHING:
        return ReleaseState.DEPLOYED
    failing = (Reason.BACKING_OFF, Reason.CHART_NOT_FOUND, Reason.RELEASE_NAME_TAKEN, Reason.SPEC_INVALID)
    if decision.reason in failing or (revisions and revisions[-1].status == "failed"):
        return ReleaseState.FAILED
    return ReleaseState.WAITING


def _attempt_of(outcome: Outcome) -> dict[str, Any]:
    attempt = outcome.attempt
    return attempt_entry(
        action=attempt.action,
        digest=attempt.digest,
        started=outcome.started,
        duration=outcome.duration,
        finished=attempt.finished,
        failures=attempt.failures,
        error=outcome.error,
        force=attempt.force,
    )


def _crash(job: Job, error: Exception, now: float) -> Outcome:
    attempt = Attempt(str(job.action), job.digest, now, job.failures + 1, job.force)
    return Outcome(
        attempt, now, 0.0, f"internal error ({type(error).__name__}); the container's log has the stack"
    )


def _view(look: _Pass, release: _Release, decision: Decision, state: ReleaseState) -> ReleaseView:
    last = release.revisions[-1] if release.revisions else None
    message = decision.message
    error = str(release.attempt_entry.get("error") or "")
    if error and state == ReleaseState.FAILED:
        message = f"{error} ({message})" if message else error
    return ReleaseView(
        name=release.name,
        namespace=look.bundle.namespace,
        state=state,
        reason=decision.reason,
        message=message,
        revision=last.version if last else 0,
        chart_version=last.chart_version if last else "",
        digest=last.digest if last else "",
        last_attempt=release.attempt_entry,
    )
