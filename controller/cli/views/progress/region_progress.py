"""The progress of a region: changes between two observations, and the durations of phases. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from controller.cli.views.hook_jobs import RunningJob, with_jobs
from controller.cli.views.readiness import RegionOutcome, RegionReadiness, judge
from controller.cli.views.release_rows import ACTIVE, ReleaseRow, RowState, release_rows
from controller.cli.views.upgrade.status import upgrade_headline
from controller.domain.api.reasons import Reason

# Seconds without progress, apart from problems for a person, before a wait gives up: the controller looks
# again every half minute, and another release may release the object.
PERSON_AFTER = 45.0

NO_ERRORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class TimedRow:
    """A release, and the seconds of its phase or of its last attempt; None if unknown."""

    row: ReleaseRow
    seconds: float | None


@dataclass(frozen=True)
class RegionRows:
    """One observation of a region. `waited` is in seconds; `changed` are the changed rows.

    `needs_person`: releases have failed for a cause that only a person can correct, and nothing else makes
    progress. `upgrade`: how far an upgrade to another version is, if that has changed.
    """

    name: str
    namespace: str
    readiness: RegionReadiness
    rows: tuple[TimedRow, ...]
    changed: tuple[TimedRow, ...]
    readiness_changed: bool
    waited: float
    needs_person: bool = False
    upgrade: str = ""

    @property
    def done(self) -> int:
        """Releases that are installed as described."""
        return sum(1 for timed in self.rows if is_done(timed.row))

    @property
    def failing(self) -> tuple[ReleaseRow, ...]:
        """Releases whose last attempt failed."""
        return tuple(timed.row for timed in self.rows if timed.row.phase == RowState.FAILED)


def is_done(row: ReleaseRow) -> bool:
    """Whether the release matches its present spec."""
    return row.current and row.phase == RowState.INSTALLED


class ProgressTracker:
    """Remembers the start of each release's phase. Times are of a monotonic clock, in seconds."""

    def __init__(self, name: str, namespace: str, generation: int, started: float) -> None:
        self._name, self._namespace = name, namespace
        self._generation = generation
        self._started = started
        self._rows: dict[str, ReleaseRow] = {}
        self._since: dict[str, float] = {}
        self._readiness: RegionReadiness | None = None
        self._first = True
        self._blocked: frozenset[str] = frozenset()
        self._blocked_since: float | None = None
        self._upgrade = ""

    def observe(
        self,
        osdpl: Mapping[str, Any] | None,
        bundles: Iterable[Mapping[str, Any]],
        now: float,
        *,
        jobs: Sequence[RunningJob] = (),
        errors: Mapping[str, str] = NO_ERRORS,
    ) -> RegionRows:
        """The result of this observation, compared with the previous one. `errors` are those of Jobs, by
        name."""
        readiness = judge(osdpl, self._generation)
        known = with_jobs(release_rows(bundles), jobs, errors)
        rows = [self._settled(row, readiness) for row in known]
        timed, changed = [], []
        for row in rows:
            before = self._rows.get(row.release)
            moved = before is None or before.phase != row.phase
            if moved:
                self._since[row.release] = now
            entry = TimedRow(row, self._seconds(row, now, fresh=before is None))
            timed.append(entry)
            if moved or (before is not None and _reads_differently(before, row)):
                changed.append(entry)
        readiness_changed = self._readiness is None or self._outcome(self._readiness) != self._outcome(
            readiness
        )
        self._rows = {row.release: row for row in rows}
        self._readiness, self._first = readiness, False
        upgrade, self._upgrade = self._upgrade, upgrade_headline(osdpl or {})
        return RegionRows(
            name=self._name,
            namespace=self._namespace,
            readiness=readiness,
            rows=tuple(timed),
            changed=tuple(changed),
            readiness_changed=readiness_changed,
            waited=now - self._started,
            needs_person=self._needs_person(rows, readiness, now),
            upgrade=self._upgrade if self._upgrade != upgrade else "",
        )

    def _needs_person(self, rows: Sequence[ReleaseRow], readiness: RegionReadiness, now: float) -> bool:
        """Whether nothing has gone on for a while beside releases that only a person can help. A further try
        of one of them is no progress."""
        blocked = {row.release for row in rows if row.for_person}
        retried = {row.release for row in rows if row.phase in ACTIVE} & self._blocked
        rests = all(_rests(row) for row in rows if row.release not in retried)
        known = readiness.outcome == RegionOutcome.PENDING and readiness.reason != Reason.INITIALIZING
        if not (known and rests and (blocked or retried)):
            self._blocked, self._blocked_since = frozenset(), None
            return False
        self._blocked |= blocked
        if self._blocked_since is None:
            self._blocked_since = now
        return not retried and now - self._blocked_since >= PERSON_AFTER

    def _settled(self, row: ReleaseRow, readiness: RegionReadiness) -> ReleaseRow:
        """A row whose status describes an earlier spec waits for its turn, unless an action runs."""
        if row.current or row.phase in ACTIVE or readiness.outcome == RegionOutcome.READY:
            return row
        return replace(
            row, phase=RowState.WAITING, message="processes the new spec", reason="", for_person=False
        )

    def _seconds(self, row: ReleaseRow, now: float, *, fresh: bool) -> float | None:
        if row.phase in (RowState.INSTALLED, RowState.FAILED):
            # The duration of an attempt before this wait does not matter.
            return None if fresh and self._first else row.seconds
        return now - self._since[row.release]

    @staticmethod
    def _outcome(readiness: RegionReadiness) -> tuple[RegionOutcome, str]:
        return readiness.outcome, readiness.reason


def _rests(row: ReleaseRow) -> bool:
    """Whether nothing goes on with the release until another one is deployed, or a person acts."""
    if row.phase == RowState.WAITING:
        return row.reason == Reason.WAITING_FOR_DEPENDENCY
    return is_done(row) or row.phase == RowState.SUSPENDED or row.for_person


def _reads_differently(before: ReleaseRow, row: ReleaseRow) -> bool:
    """Whether the same phase has a change: another revision, one more failure, another error."""
    if row.error and row.error != before.error:
        return True
    if row.phase == RowState.INSTALLED:
        return before.revision != row.revision
    return row.phase == RowState.FAILED and before.failures != row.failures
