"""Brings the releases of one HelmBundle to what its spec says, one step at a look."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.bundle import BundleSpec, VolumePolicy
from controller.domain.bundle_object import Bundle, parse_bundle
from controller.domain.bundle_status import ReleaseState, ReleaseView
from controller.domain.names import FORCE_ANNOTATION
from controller.domain.object_meta import parse_meta
from controller.domain.reasons import Reason
from controller.domain.redaction import Redactor
from controller.domain.release_state import Action, Attempt, Decision, Situation, decide
from controller.errors import SpecInvalid
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
from controller.reconcile.action_slots import ActionSlots, Outcome, ReleaseKey, Running
from controller.reconcile.bundle_report import BundleReport
from controller.reconcile.observed_release import (
    ObservedRelease,
    Wanted,
    is_deployed,
    observe_release,
    recorded,
    steady_jitter,
    want_release,
)
from controller.reconcile.release_actions import Job, ReleaseActions
from controller.reconcile.secret_values import SecretValues

log = logging.getLogger(__name__)

BundleKey = tuple[str, str]  # namespace, name
Histories = Mapping[str, tuple[Revision, ...]]

_BEGUN = {
    Action.INSTALL: (ReleaseState.INSTALLING, Reason.INSTALLING),
    Action.UPGRADE: (ReleaseState.UPGRADING, Reason.UPGRADING),
    Action.UNLOCK: (ReleaseState.UPGRADING, Reason.UNLOCKING),
    Action.UNINSTALL: (ReleaseState.UNINSTALLING, Reason.UNINSTALLING),
}


@dataclass
class _Pass:
    """What one look at one bundle has read."""

    bundle: Bundle
    obj: Mapping[str, Any]
    histories: Histories
    busy: Mapping[ReleaseKey, Running]
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
    `learn(texts)` tells the log which secrets must not be in it. `abandon()` ends the process when a
    Helm action outlived its end and cannot be told what it may still write.
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
        learn: Callable[[Iterable[str]], None],
        abandon: Callable[[], None],
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
        self._learn = learn
        self._abandon = abandon
        self._resync = resync
        self._report = BundleReport(kube, clock)
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
            if not obj["metadata"].get("deletionTimestamp"):
                self._report.write_invalid(obj, error, generation)
                return self._resync
            # What cannot be read can still go: its releases are known by their records.
            volumes: VolumePolicy = "Delete" if _asks_to_delete_volumes(obj) else "Retain"
            bundle = Bundle(**vars(parse_meta(obj)), spec=BundleSpec((), volumes=volumes))
        if not bundle.deleting:
            self._report.hold(obj)
        # Taken before the records are read: an action that ends in between would make them look as if
        # its writer had died. Its end has this bundle looked at once more.
        busy = self._slots.busy()
        histories = self._records.observe(namespace)
        look = _Pass(bundle, obj, histories, busy, SecretValues(self._kube, namespace))
        for release in self._names(look):
            self._look_at(look, release)
        if bundle.deleting and not look.left:
            self._report.let_go(obj)
            self._known.discard(key)
            return None
        self._report.write(obj, bundle, look.views)
        return min([*look.again, self._resync])

    def _names(self, look: _Pass) -> list[str]:
        """Wanted releases in the spec's order, then installed ones of ours that it no longer names."""
        wanted = [release.name for release in look.bundle.spec.releases]
        mine = look.bundle.name
        rest = [
            name for name, revisions in look.histories.items() if revisions and revisions[-1].bundle == mine
        ]
        # An install that has no record yet is known by its slot alone.
        rest += [key[1] for key, running in look.busy.items() if _is_ours(look, key, running)]
        return wanted + sorted(set(rest) - set(wanted))

    def _look_at(self, look: _Pass, name: str) -> None:
        """Decides on one release, acts, and adds its view."""
        release = self._observe(look, name)
        key = (look.bundle.namespace, name)
        running = look.busy.get(key)
        if running is not None and running.bundle != look.bundle.name:
            decision = _taken_by(running.bundle)
            state = _resting_state(decision, release)
            if release.wanted is None:
                return
        elif running is not None:
            _supersede(running, release.wanted)
            state, reason = _BEGUN[Action(running.action)]
            decision = Decision(Action(running.action), reason)
        else:
            decision = self._decide(look, release)
            state = self._act(look, release, decision)
        if decision.reason == Reason.GONE:
            self._slots.forget(key)
            return
        ours = running is not None and running.bundle == look.bundle.name
        look.left = look.left or bool(release.revisions) or ours
        if decision.again_after is not None:
            look.again.append(decision.again_after)
        look.views.append(_view(look, release, decision, state))

    def _observe(self, look: _Pass, name: str) -> ObservedRelease:
        spec = next((item for item in look.bundle.spec.releases if item.name == name), None)
        wanted = None
        if spec is not None and not look.bundle.deleting:
            wanted = want_release(spec, look.secrets, self._charts, self._digest_key)
        revisions = look.histories.get(name, ())
        if wanted is None and revisions and revisions[-1].bundle != look.bundle.name:
            # It belongs to another bundle, or to nobody: not ours to take away.
            revisions = ()
        return observe_release(
            name,
            spec,
            wanted=wanted,
            revisions=revisions,
            outcome=self._slots.outcome((look.bundle.namespace, name)),
            bundle=look.obj,
        )

    def _decide(self, look: _Pass, release: ObservedRelease) -> Decision:
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
            unmet = tuple(name for name in spec.depends_on if not is_deployed(look.histories.get(name, ())))
        dependents: tuple[str, ...] = ()
        if wanted is None and release.revisions:
            dependents = self._dependents(look, release.name)
        return decide(
            Situation(
                wanted=wanted.digest if wanted else None,
                recorded=recorded(release.revisions),
                attempt=release.attempt,
                now=self._clock.now(),
                jitter=steady_jitter(release.name, release.attempt),
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
        return None if other is None else _taken_by(owner)

    def _dependents(self, look: _Pass, release: str) -> tuple[str, ...]:
        """Installed releases of the namespace, of any bundle, whose spec depends on this one.

        Those that this one itself depends on do not count: in a circle nothing could ever go.
        """
        needs: dict[str, set[str]] = {}
        for obj in self._kube.list(HELMBUNDLE, look.bundle.namespace):
            for other in (obj.get("spec") or {}).get("releases") or []:
                needs.setdefault(str(other.get("name")), set()).update(other.get("dependsOn") or [])
        below = _reachable(needs, release)
        found = (name for name, needed in needs.items() if release in needed and look.histories.get(name))
        return tuple(sorted(set(found) - below))

    def _act(self, look: _Pass, release: ObservedRelease, decision: Decision) -> ReleaseState:
        """Starts what was decided; the state the release is in from now on."""
        if decision.action not in _BEGUN:
            return _resting_state(decision, release)
        resolved = release.wanted.resolved if release.wanted else None
        # What is taken away has no values any more; its errors may quote any secret of ours.
        secrets = resolved.secrets if resolved else look.secrets.generated()
        self._learn(secrets)
        job = _job(look, release, decision, secrets)
        cancellation = self._helm.new_cancellation()
        started = self._slots.start(
            (job.namespace, job.release),
            Running(job.bundle, str(job.action), job.digest, self._clock.now(), cancellation),
            lambda: self._actions.perform(job, cancellation),
            crashed=lambda error: _crash(job, error, self._clock.now()),
            finished=lambda: self._ended(look, job),
        )
        if not started:
            # All slots are taken; whoever frees one has every bundle of the namespace looked at.
            return _resting_state(Decision(Action.WAIT, decision.reason), release)
        return _BEGUN[decision.action][0]

    def _ended(self, look: _Pass, job: Job) -> None:
        if self._helm.detached:
            log.error("an action of Helm does not end: this container ends, and the next one goes on")
            self._abandon()
        # First the work that others wait for, then the news of it.
        for key in list(self._known):
            if key[0] == job.namespace:
                self._requeue(key)
        outcome = self._slots.outcome((job.namespace, job.release))
        if outcome and job.action == Action.UNLOCK and not outcome.error:
            text = f"release {job.release}: revision {job.version} was cut off and is marked failed"
            self._events.emit(look.obj, type_="Warning", reason=Reason.UNLOCKED, message=text)
        elif outcome and job.action != Action.UNLOCK:
            word = f"{job.action}{'Failed' if outcome.error else 'Succeeded'}"
            ending = f"failed: {outcome.error}" if outcome.error else "succeeded"
            text = f"{job.action} of release {job.release} {ending}"
            kind = "Warning" if outcome.error else "Normal"
            self._events.emit(look.obj, type_=kind, reason=Reason(word), message=text)


def _asks_to_delete_volumes(obj: Mapping[str, Any]) -> bool:
    spec = obj.get("spec")
    return isinstance(spec, Mapping) and spec.get("volumes") == "Delete"


def _is_ours(look: _Pass, key: ReleaseKey, running: Running) -> bool:
    return key[0] == look.bundle.namespace and running.bundle == look.bundle.name


def _taken_by(owner: str) -> Decision:
    text = f'the release belongs to HelmBundle "{owner}"; rename it here or remove it there'
    return Decision(Action.WAIT, Reason.RELEASE_NAME_TAKEN, text, again_after=30.0)


def _reachable(needs: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that `start` depends on, directly or not."""
    found: set[str] = set()
    open_ = [start]
    while open_:
        for name in needs.get(open_.pop(), set()) - found:
            found.add(name)
            open_.append(name)
    return found


def _supersede(running: Running, wanted: Wanted | None) -> None:
    """Ends an action that serves a spec which is no longer there."""
    if running.action not in (Action.INSTALL, Action.UPGRADE) or running.cancellation.cancelled:
        return
    if wanted is None or (wanted.digest and wanted.digest != running.digest):
        running.cancellation.cancel()


def _job(look: _Pass, release: ObservedRelease, decision: Decision, secrets: Iterable[str]) -> Job:
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
        redactor=Redactor(secrets),
        failures=attempt.failures if attempt and attempt.digest == digest else 0,
        force=look.force,
        volumes=look.bundle.spec.volumes,
    )


def _resting_state(decision: Decision, release: ObservedRelease) -> ReleaseState:
    """The state of a release that nothing is being done to."""
    revisions = release.revisions
    if decision.reason == Reason.SUSPENDED:
        # Suspended as it should be is deployed all the same; otherwise nobody knows what it lacks.
        last = revisions[-1] if revisions else None
        as_wanted = last and release.wanted and last.digest == release.wanted.digest and last.ours
        whole = as_wanted and last and last.status == "deployed"
        return ReleaseState.DEPLOYED if whole else ReleaseState.SUSPENDED
    if decision.action == Action.NOTHING:
        return ReleaseState.DEPLOYED
    failing = (Reason.BACKING_OFF, Reason.CHART_NOT_FOUND, Reason.RELEASE_NAME_TAKEN, Reason.SPEC_INVALID)
    if decision.reason in failing or (revisions and revisions[-1].status == "failed"):
        return ReleaseState.FAILED
    return ReleaseState.WAITING


def _crash(job: Job, error: Exception, now: float) -> Outcome:
    attempt = Attempt(str(job.action), job.digest, float(int(now)), job.failures + 1, job.force)
    return Outcome(
        attempt, now, 0.0, f"internal error ({type(error).__name__}); the container's log has the stack"
    )


def _view(look: _Pass, release: ObservedRelease, decision: Decision, state: ReleaseState) -> ReleaseView:
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
