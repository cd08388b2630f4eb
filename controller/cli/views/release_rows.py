"""Rows for the releases of a region, from the HelmBundles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import SERVICE_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.releases.reported_state import ReportedState


class RowState(StrEnum):
    """What a release is doing, as osctl shows it."""

    WAITING = "waiting"
    INSTALLING = "installing"
    UPGRADING = "upgrading"
    INSTALLED = "installed"
    FAILED = "failed"
    REMOVING = "removing"
    SUSPENDED = "suspended"


# Causes that only a person can correct, because the controller's retries meet the same. A release that is
# Failed for one of these ends a wait. A silent repository or a failing Job may recover, so they do not.
FOR_A_PERSON = frozenset(
    map(
        str,
        (
            Reason.OBJECT_NAME_TAKEN,
            Reason.RELEASE_NAME_TAKEN,
            Reason.RELEASE_TOO_LARGE,
            Reason.RIGHT_MISSING,
            Reason.CHART_INVALID,
            Reason.CHART_NOT_FOUND,
            Reason.CHART_UNTRUSTED,
            Reason.REPOSITORY_DENIED,
            Reason.REPOSITORY_UNTRUSTED,
            Reason.SPEC_INVALID,
        ),
    )
)

ACTIVE = frozenset((RowState.INSTALLING, RowState.UPGRADING, RowState.REMOVING))

_PHASES = {
    ReportedState.WAITING: RowState.WAITING,
    ReportedState.INSTALLING: RowState.INSTALLING,
    ReportedState.UPGRADING: RowState.UPGRADING,
    ReportedState.DEPLOYED: RowState.INSTALLED,
    ReportedState.FAILED: RowState.FAILED,
    ReportedState.UNINSTALLING: RowState.REMOVING,
    ReportedState.SUSPENDED: RowState.SUSPENDED,
}


@dataclass(frozen=True)
class ReleaseRow:
    """One release. `seconds` is how long the last attempt took, None if there was none; `failures` in a row.

    `current` is false while the status describes an earlier spec of its bundle. `error` is why the awaited
    Job makes no progress, or empty. `reason` is the word of its status. `for_person`: only a person can solve
    this.
    """

    service: str
    release: str
    phase: RowState
    message: str = ""
    revision: int = 0
    seconds: float | None = None
    failures: int = 0
    current: bool = True
    error: str = ""
    reason: str = ""
    for_person: bool = False


def release_rows(bundles: Iterable[Mapping[str, Any]]) -> tuple[ReleaseRow, ...]:
    """Rows of all releases, desired or to be removed; a release follows its dependencies."""
    rows: list[ReleaseRow] = []
    needs: dict[str, tuple[str, ...]] = {}
    for bundle in sorted(bundles, key=lambda item: str(item["metadata"]["name"])):
        meta, status = bundle["metadata"], bundle.get("status") or {}
        service = str((meta.get("labels") or {}).get(SERVICE_LABEL) or meta["name"])
        current = status.get("observedGeneration") == meta.get("generation")
        entries = {str(entry.get("name")): entry for entry in status.get("releases") or []}
        problem = _problem(status) if current else ""
        for desired in (bundle.get("spec") or {}).get("releases") or []:
            name = str(desired["name"])
            needs[name] = tuple(desired.get("dependsOn") or ())
            rows.append(_row(service, name, entries.pop(name, {}), current, problem))
        rows += [_row(service, name, entry, current, problem) for name, entry in entries.items()]
    return tuple(sorted(rows, key=lambda row: (_depth(row.release, needs), row.service, row.release)))


def _problem(status: Mapping[str, Any]) -> str:
    """Why the bundle as a whole is stuck, empty when it is not."""
    conditions = status.get("conditions") or []
    if find(conditions, "Stalled").get("status") != "True":
        return ""
    return str(find(conditions, "Ready").get("message") or find(conditions, "Stalled").get("message") or "")


def _row(service: str, name: str, entry: Mapping[str, Any], current: bool, problem: str) -> ReleaseRow:
    state = str(entry.get("state") or ReportedState.WAITING)
    phase = _PHASES[ReportedState(state)] if state in ReportedState._value2member_map_ else RowState.WAITING
    attempt = entry.get("lastAttempt") or {}
    running = [str(hook.get("name")) for hook in entry.get("hooks") or [] if hook.get("phase") == "Running"]
    message = str(entry.get("message") or "")
    if phase == RowState.FAILED:
        # Without the time of the next attempt, which would change at every pass.
        message = str(attempt.get("error") or message)
    if running and phase in ACTIVE and not message:
        message = f"hook {', '.join(running)} is running"
    if problem:
        phase, message = RowState.FAILED, problem
    reason = str(entry.get("reason") or "")
    return ReleaseRow(
        service=service,
        release=name,
        phase=phase,
        message=" ".join(message.split()),
        revision=int(entry.get("revision") or 0),
        seconds=_attempt_seconds(str(attempt.get("duration") or "")),
        failures=int(attempt.get("failures") or 0),
        current=current,
        reason=reason,
        for_person=phase == RowState.FAILED and (reason in FOR_A_PERSON or bool(attempt.get("lasting"))),
    )


def _attempt_seconds(text: str) -> float | None:
    """Seconds of a duration such as `3.1s`, or None."""
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        return None


def _depth(name: str, needs: Mapping[str, Sequence[str]], above: frozenset[str] = frozenset()) -> int:
    """The length of the chain of dependencies before this release; a circle ends the count."""
    below = [other for other in needs.get(name, ()) if other in needs and other not in above]
    return 1 + max((_depth(other, needs, above | {name}) for other in below), default=-1)


def parse_time(text: object) -> float | None:
    """Seconds since the epoch of a Kubernetes time, or None."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def short_duration(seconds: float) -> str:
    """`0.4 s`, `38 s`, `1 m 12 s`, `3 h 5 m`, `12 d`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} m {rest} s" if rest else f"{minutes} m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} m" if minutes else f"{hours} h"
    return f"{hours // 24} d"
